#include "tcp/resolver.hpp"

#include <netdb.h>
#include <pthread.h>
#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace cobre::tcp {

namespace {

// Throws std::runtime_error with the resolver's words. Nothing if only an address was allowed and it is none.
std::vector<Endpoint> ask(const char* host, int port, int flags) {
    addrinfo hints = {};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | flags;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(host, std::to_string(port).c_str(), &hints, &found);
    if (error == EAI_NONAME && (flags & AI_NUMERICHOST) != 0) return {};
    if (error != 0) throw std::runtime_error(error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
    std::vector<Endpoint> endpoints;
    for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
        Endpoint endpoint;
        endpoint.length = entry->ai_addrlen;
        std::memcpy(&endpoint.address, entry->ai_addr, entry->ai_addrlen);
        if (std::find(endpoints.begin(), endpoints.end(), endpoint) == endpoints.end())
            endpoints.push_back(endpoint);
    }
    return endpoints;
}

// Shared by who asks and the thread that waits for the answer, so that either may go first.
struct Question {
    std::mutex guard;
    std::condition_variable answered;
    bool is_answered = false;
    std::vector<Endpoint> endpoints;
    std::exception_ptr trouble;

    void answer(const std::string& host, int port, int flags) noexcept {
        std::vector<Endpoint> found;
        std::exception_ptr error;
        try {
            found = ask(host.c_str(), port, flags);
        } catch (...) {
            error = std::current_exception();
        }
        const std::lock_guard lock(guard);
        endpoints = std::move(found);
        trouble = error;
        is_answered = true;
        answered.notify_all();
    }
};

// The thread cannot be stopped; left alone, it ends when the resolver gives up, and touches nothing but the
// question.
void ask_in_a_thread(std::shared_ptr<Question> question, std::string host, int port, int flags) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for threads that look after them
    std::exception_ptr error;
    try {
        std::thread([=, question = std::move(question), host = std::move(host)] {
            question->answer(host, port, flags);
        }).detach();
    } catch (...) {
        error = std::current_exception();
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error) std::rethrow_exception(error);
}

}  // namespace

std::vector<Endpoint> look_up(const std::string& host, int port, bool to_listen,
                              std::chrono::steady_clock::time_point until, Caller& caller) {
    using std::chrono::steady_clock;
    if (host.empty()) return ask(nullptr, port, AI_PASSIVE);
    if (::strcasecmp(host.c_str(), "localhost") == 0) return ask(nullptr, port, 0);
    const int flags = to_listen ? AI_PASSIVE : 0;
    std::vector<Endpoint> numeric = ask(host.c_str(), port, flags | AI_NUMERICHOST);
    if (!numeric.empty()) return numeric;
    const auto question = std::make_shared<Question>();
    ask_in_a_thread(question, host, port, flags);
    std::unique_lock lock(question->guard);
    while (!question->is_answered) {
        if (steady_clock::now() >= until) throw std::runtime_error("the resolver does not answer");
        question->answered.wait_until(
            lock, std::min(until, steady_clock::now() + std::chrono::milliseconds(longest_sleep_ms)));
        lock.unlock();
        if (caller.is_interrupted()) throw Interrupted{};
        lock.lock();
    }
    if (question->trouble) std::rethrow_exception(question->trouble);
    return std::move(question->endpoints);
}

}  // namespace cobre::tcp

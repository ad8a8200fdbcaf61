#include "tcp/resolver.hpp"

#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "comm/deadline.hpp"
#include "tcp/wake_event.hpp"

namespace cobre::tcp {

namespace {

// Throws std::runtime_error with the resolver's message. Nothing if only an address was allowed and it is none.
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

}  // namespace

// Shared by who asks and the thread that waits for the answer, so that either may go first.
struct Lookup::Question {
    mutable std::mutex guard;
    WakeEvent answered;
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
        answered.signal();
    }
};

namespace {

// The thread cannot be stopped; left alone, it ends when the resolver gives up, and touches nothing but what
// `answer` shares with it.
template <class Answer>
void run_in_a_thread(Answer answer) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for threads that look after them
    std::exception_ptr error;
    try {
        std::thread(std::move(answer)).detach();
    } catch (...) {
        error = std::current_exception();
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error) std::rethrow_exception(error);
}

// Without the resolver; nothing if that is needed.
std::vector<Endpoint> known_of(const std::string& host, int port, int flags) {
    if (host.empty()) return ask(nullptr, port, AI_PASSIVE);
    if (::strcasecmp(host.c_str(), "localhost") == 0) return ask(nullptr, port, 0);
    return ask(host.c_str(), port, flags | AI_NUMERICHOST);
}

}  // namespace

Lookup::Lookup(const std::string& host, int port, bool to_listen) : question_(std::make_shared<Question>()) {
    const int flags = to_listen ? AI_PASSIVE : 0;
    question_->endpoints = known_of(host, port, flags);
    question_->is_answered = !question_->endpoints.empty();
    if (question_->is_answered) return;
    question_->answered.open();
    run_in_a_thread([=, question = question_] { question->answer(host, port, flags); });
}

bool Lookup::is_answered() const {
    const std::lock_guard lock(question_->guard);
    return question_->is_answered;
}

int Lookup::fd() const noexcept { return question_->answered.get(); }

std::vector<Endpoint> Lookup::take() {
    const std::lock_guard lock(question_->guard);
    if (question_->trouble) std::rethrow_exception(question_->trouble);
    return std::move(question_->endpoints);
}

std::vector<Endpoint> look_up(const std::string& host, int port, bool to_listen,
                              std::chrono::steady_clock::time_point until, comm::Caller& caller) {
    Lookup lookup(host, port, to_listen);
    while (!lookup.is_answered()) {
        if (std::chrono::steady_clock::now() >= until) throw std::runtime_error("the resolver does not answer");
        pollfd polled{lookup.fd(), POLLIN, 0};
        ::poll(&polled, 1, comm::poll_ms_until(until));
        if (caller.is_interrupted()) throw comm::Interrupted{};
    }
    return lookup.take();
}

}  // namespace cobre::tcp

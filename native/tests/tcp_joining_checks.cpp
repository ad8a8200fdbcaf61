#include "tcp_joining_checks.hpp"

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "comm/error.hpp"
#include "tcp/joining.hpp"
#include "tcp/meeting.hpp"
#include "tcp/resolver.hpp"

namespace cobre::tests {

namespace {

using namespace cobre::tcp;

constexpr double long_s = 30.0;

class Listener final : public cobre::comm::Caller {
public:
    void log(cobre::comm::Level level, const std::string& text) override {
        const std::lock_guard lock(guard_);
        if (level == cobre::comm::Level::warning) warnings_.push_back(text);
    }
    std::vector<std::string> warnings() const {
        const std::lock_guard lock(guard_);
        return warnings_;
    }

private:
    mutable std::mutex guard_;
    std::vector<std::string> warnings_;
};

MeetingConfig config_of(int rank, const std::string& host, int port, const std::string& secret = "secret",
                        double timeout_s = long_s) {
    return {{rank, 2}, {host, port}, secret, timeout_s, 10};
}

// Empty when it joined, else why it did not.
std::string join(int port, const std::string& secret = "secret") {
    Listener caller;
    const MeetingConfig config = config_of(1, "localhost", port, secret);
    try {
        const MeetingResult met = Joining(config, caller).run();
        return met.links.size() == 1 ? "" : "no link";
    } catch (const comm::Error& error) {
        return error.message();
    }
}

// Rank 0 in a thread of its own.
class Hub {
public:
    explicit Hub(const std::string& host, double timeout_s = long_s)
        : meeting_(config_of(0, host, 0, "secret", timeout_s), caller_),
          port_(meeting_.listen()),
          thread_([this] { gather(); }) {}
    ~Hub() { end(); }
    Hub(const Hub&) = delete;
    Hub& operator=(const Hub&) = delete;

    int port() const { return port_; }
    // Why the group is not complete; empty if it is.
    const std::string& end() {
        if (thread_.joinable()) thread_.join();
        return error_;
    }
    std::vector<std::string> warnings() const { return caller_.warnings(); }

private:
    void gather() {
        try {
            met_ = meeting_.gather();
        } catch (const comm::Error& error) {
            error_ = error.message();
        }
    }

    Listener caller_;
    Meeting meeting_;
    int port_;
    std::optional<MeetingResult> met_;
    std::string error_;
    std::thread thread_;
};

// At the other loopback address, and says nothing; none where the machine has only one.
cobre::comm::Descriptor silent_listener(int port) {
    Endpoint other;
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&other.address);
    v6->sin6_family = AF_INET6;
    v6->sin6_addr = in6addr_loopback;
    other.length = sizeof *v6;
    other.set_port(port);
    try {
        return listen_at(other, true);
    } catch (const std::system_error&) {
        return {};
    }
}

void check_both_addresses(Report& report) {
    Hub hub("localhost");
    report.expect(join(hub.port()).empty(), "a worker joins a rank 0 at two addresses of its name");
    report.expect(hub.end().empty() && hub.warnings().empty(), "which counts it once and logs no warning");
}

void check_silent_address(Report& report) {
    Hub hub("127.0.0.1");
    const cobre::comm::Descriptor silent = silent_listener(hub.port());
    report.expect(join(hub.port()).empty(), "a worker joins at one address while the other is silent");
    report.expect(hub.end().empty(), "and the group is complete");
    Endpoint peer;
    const cobre::comm::Descriptor tried = silent ? accept_from(silent, peer, 10) : cobre::comm::Descriptor();
    if (!tried) return;
    std::array<char, 64> words;
    const ssize_t count = ::recv(tried.get(), words.data(), words.size(), 0);
    report.expect(
        std::string(words.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))) == goodbye_frame(),
        "the silent one is told that it is not needed");
}

void check_refusals(Report& report) {
    Hub hub("127.0.0.1", 3.0);
    const std::string said = join(hub.port(), "guess");
    report.expect(said.find("its secret is not rank 0's") != std::string::npos,
                  "a wrong secret is the reason given");
    report.expect(said.find(" within ") == std::string::npos, "before the deadline");
    const std::string& error = hub.end();
    report.expect(error.find("rank 0 waited 3 s for rank 1 in vain; it refused ") != std::string::npos &&
                      error.find("(its secret is not rank 0's)") != std::string::npos,
                  "rank 0 names the connections that it refused");
    report.expect(!hub.warnings().empty(), "and has warned of it before");
}

}  // namespace

void check_joining(Report& report) {
    check_both_addresses(report);
    check_silent_address(report);
    check_refusals(report);
}

}  // namespace cobre::tests

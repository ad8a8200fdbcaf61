// Exercises the tcp backend without Python, ranks as threads over loopback, so that sanitizers see all of it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "comm/error.hpp"
#include "report.hpp"
#include "tcp/admission.hpp"
#include "tcp/communicator.hpp"
#include "tcp/digest.hpp"
#include "tcp/handshake.hpp"
#include "tcp/joining.hpp"
#include "tcp/meeting.hpp"
#include "tcp_joining_checks.hpp"

namespace {

using namespace cobre::tcp;
using namespace cobre::comm;
using cobre::tests::Report;
using Body = std::function<void(Communicator&, Caller&)>;

constexpr DType float64{Kind::floating, false, 8, 0};

class Patient final : public Caller {};

std::span<const std::byte> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string hex(const Digest& digest) {
    std::string text;
    for (const std::byte byte : digest) {
        text += "0123456789abcdef"[std::to_integer<int>(byte) >> 4];
        text += "0123456789abcdef"[std::to_integer<int>(byte) & 15];
    }
    return text;
}

void check_digests(Report& report) {
    const auto sha = [](std::string_view text) {
        Sha256 hash;
        hash.add(bytes_of(text));
        return hex(hash.finish());
    };
    report.expect(sha("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                  "SHA-256 of nothing");
    report.expect(sha("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                  "SHA-256 of abc");
    report.expect(sha("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
                      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
                  "SHA-256 of two blocks");
    report.expect(
        sha(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
        "SHA-256 of a million letters");
    const auto mac = [](const std::string& key, std::string_view text) {
        return hex(Hmac(bytes_of(key)).add(bytes_of(text)).finish());
    };
    // RFC 4231, test cases 1, 2, 3 and 6.
    report.expect(mac(std::string(20, '\x0b'), "Hi There") ==
                      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
                  "HMAC with a short key");
    report.expect(mac("Jefe", "what do ya want for nothing?") ==
                      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                  "HMAC with a word as key");
    report.expect(mac(std::string(20, '\xaa'), std::string(50, '\xdd')) ==
                      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
                  "HMAC of fifty bytes");
    report.expect(mac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
                      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
                  "HMAC with a key longer than a block");
}

void give(std::span<std::byte> room, const std::string& text) {
    std::copy_n(bytes_of(text).begin(), text.size(), room.begin());
}

// Both sides of a handshake in memory.
struct Introduced {
    WorkerHandshake::State worker;
    HubHandshake::State hub;
    std::string words;
};

Introduced introduce(const std::string& hub_secret, const std::string& worker_secret) {
    const Secret ours(hub_secret), theirs(worker_secret);
    HubHandshake hub_side(ours);
    WorkerHandshake worker_side(theirs, {1, 2});
    const auto deliver = [](auto& listener, std::string words, const auto&... examine) {
        std::string answer;
        while (!words.empty()) {
            const std::size_t taken = std::min(listener.room().size(), words.size());
            if (taken == 0) break;
            give(listener.room(), words.substr(0, taken));
            listener.received(taken);
            words.erase(0, taken);
            answer += listener.proceed(examine...);
        }
        return answer;
    };
    const auto accept_all = [](const Introduction&) { return std::nullopt; };
    std::string said = deliver(worker_side, hub_side.challenge());
    const std::string handshake = deliver(worker_side, deliver(hub_side, said, accept_all));
    deliver(hub_side, handshake, accept_all);
    if (hub_side.state() == HubHandshake::State::accepted) deliver(worker_side, ack_frame(2, 1));
    return {worker_side.state(), hub_side.state(), said.append(handshake)};
}

// Which places are ever evicted.
std::set<std::size_t> evicted_of(const std::vector<Connection>& waiting) {
    std::minstd_rand chance(1);
    std::set<std::size_t> places;
    for (int i = 0; i < 200; ++i) places.insert(choose_eviction(waiting, chance));
    return places;
}

void check_admission(Report& report) {
    using Places = std::set<std::size_t>;
    report.expect(evicted_of({{7}, {9}, {5}, {9}}) == Places{1, 3},
                  "evict from the source with most unauthenticated connections");
    report.expect(evicted_of({{7}, {9}, {5}}) == Places{0, 1, 2}, "with equal sources, evict any");
    report.expect(evicted_of({{7, true}, {7, true}, {7}, {5}}) == Places{2, 3}, "whoever has proved itself stays");
    report.expect(evicted_of({{7, true}, {5, true}, {7, true}}) == Places{0, 2}, "unless there are no others");
}

void check_handshake(Report& report) {
    const Introduced same_secret = introduce("between us", "between us");
    report.expect(
        same_secret.worker == WorkerHandshake::State::joined && same_secret.hub == HubHandshake::State::accepted,
        "two who share the secret accept each other");
    report.expect(same_secret.words.find("between us") == std::string::npos, "the secret never crosses the wire");
    const Introduced other_secret = introduce("between us", "guess");
    report.expect(
        other_secret.worker == WorkerHandshake::State::refused && other_secret.hub == HubHandshake::State::refused,
        "a wrong secret is refused");
    report.expect(introduce("", "").worker == WorkerHandshake::State::joined, "on loopback no secret is needed");
    report.expect(introduce("x", "x").words != introduce("x", "x").words, "no two handshakes are alike");
}

void check_calls(Report& report) {
    std::vector<double> three(3);
    const Buffer buffer{reinterpret_cast<std::byte*>(three.data()), 3, float64, false};
    for (WireCall call :
         {Call::of(Verb::barrier), Call::allreduce(buffer, ReduceOp::max), Call::broadcast(buffer, 2),
          Call::create_region(9, float64), Call::allgatherv(buffer, std::vector<std::int64_t>{3, 4})}) {
        call.sequence = 77;
        std::array<std::byte, WireCall::wire_bytes> bytes;
        call.encode(bytes.data());
        const auto copy = WireCall::decode(bytes);
        report.expect(copy && copy->agrees_with(call) && copy->describe() == call.describe(),
                      "a call survives the wire");
    }
    report.expect(!WireCall(Call::allgatherv(buffer, std::vector<std::int64_t>{3, 4}))
                       .agrees_with(Call::allgatherv(buffer, std::vector<std::int64_t>{4, 3})),
                  "lists of counts in another order disagree");
}

// Runs `body` on every rank of a fresh group, one thread each.
void run_group(int size, Limits limits, double timeout_s, const Body& body) {
    Patient caller;
    Meeting hub({{0, size}, {"127.0.0.1", 0}, "secret", 30.0, limits.keepalive_s}, caller);
    const int port = size > 1 ? hub.listen() : 0;
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < size; ++rank)
        ranks.emplace_back([&, rank] {
            Patient mine;
            Communicator comm({rank, size}, timeout_s, limits);
            if (size > 1 && rank == 0) comm.start(hub.gather());
            if (rank > 0) {
                const MeetingConfig config({rank, size}, {"127.0.0.1", port}, "secret", 30.0, limits.keepalive_s);
                comm.start(Joining(config, mine).run());
            }
            body(comm, mine);
            comm.close();
        });
    for (std::thread& rank : ranks) rank.join();
}

template <class T>
Buffer buffer_of(std::vector<T>& values, bool readonly = false) {
    return {reinterpret_cast<std::byte*>(values.data()), static_cast<std::int64_t>(values.size()), float64,
            readonly};
}

void check_collectives(Report& report, int size, Limits limits, std::size_t count) {
    std::atomic<int> wrong = 0;
    run_group(size, limits, 20.0, [&](Communicator& comm, Caller& caller) {
        const int me = comm.group().rank;
        std::vector<double> mine(count), sum(count), all(count * static_cast<std::size_t>(size));
        for (std::size_t i = 0; i < count; ++i) mine[i] = static_cast<double>(i % 97) + me;
        std::vector<std::int64_t> counts(static_cast<std::size_t>(size), static_cast<std::int64_t>(count)),
            displs(counts);
        for (std::size_t r = 0; r < displs.size(); ++r)
            displs[r] = static_cast<std::int64_t>((displs.size() - 1 - r) * count);
        std::atomic<bool> is_over = false;
        std::thread observer([&] {
            while (!is_over) wrong += comm.statistics().entries()[0].calls.get() > 3;
        });
        for (int round = 0; round < 3; ++round) {
            comm.allgatherv(buffer_of(mine), buffer_of(all), {counts, displs}, caller);
            comm.allreduce(buffer_of(mine), buffer_of(sum), ReduceOp::sum, caller);
            for (std::size_t i = 0; i < count; ++i) {
                wrong += sum[i] != size * static_cast<double>(i % 97) + size * (size - 1) / 2;
                for (int r = 0; r < size; ++r)
                    wrong +=
                        all[static_cast<std::size_t>(size - 1 - r) * count + i] != static_cast<double>(i % 97) + r;
            }
            std::vector<double> in_place = mine;
            comm.allreduce(buffer_of(in_place), buffer_of(in_place), ReduceOp::sum, caller);
            wrong += in_place != sum;
            std::vector<double> word(count, me == size - 1 ? 7.0 : 0.0);
            comm.broadcast(buffer_of(word), size - 1, caller);
            comm.barrier(caller);
            wrong += word != std::vector<double>(count, 7.0);
            wrong += comm.agree_on_region(5, float64, me != size - 1, caller) != size - 1;
            comm.split_local(caller);
        }
        is_over = true;
        observer.join();
        wrong += comm.statistics().entries()[0].calls.get() != 3;
    });
    report.expect(wrong == 0, "collectives deliver the right numbers");
}

// Every rank in turn gives many small broadcasts, alone and in front of other calls, while another is slow.
void check_small_broadcasts(Report& report, int size, Limits limits) {
    std::atomic<int> wrong = 0;
    run_group(size, limits, 20.0, [&](Communicator& comm, Caller& caller) {
        const int me = comm.group().rank;
        for (int round = 0; round < 4 * size; ++round) {
            if (me == (round + 1) % size) std::this_thread::sleep_for(std::chrono::milliseconds(2));
            for (int i = 1; i < 80; ++i) {
                std::vector<double> word(static_cast<std::size_t>(i % 7 == 0 ? 8000 : i),
                                         me == round % size ? i : 0);
                comm.broadcast(buffer_of(word), round % size, caller);
                wrong += word != std::vector<double>(word.size(), i);
            }
            std::vector<double> much(30'000, 1.0), sum(much);
            if (round % 3 == 1) comm.allreduce(buffer_of(much), buffer_of(sum), ReduceOp::sum, caller);
            if (round % 3 == 2) comm.barrier(caller);
            wrong += round % 3 == 1 && sum != std::vector<double>(sum.size(), size);
        }
    });
    report.expect(wrong == 0, "small broadcasts arrive in order, however far their root is ahead");
}

bool fails(const std::function<void()>& call, const std::string& words) {
    try {
        call();
    } catch (const Error& error) {
        const bool told = error.message().find(words) != std::string::npos;
        if (!told) std::printf("said instead: %s\n", error.message().c_str());
        return error.error_class() == ErrorClass::collective_failed && told;
    }
    return false;
}

void check_failures(Report& report, int size) {
    std::atomic<int> right = 0;
    run_group(size, {}, 30.0, [&](Communicator& comm, Caller& caller) {
        std::vector<double> one(1), out(1);
        if (comm.group().rank == 1) right += fails([&] { comm.barrier(caller); }, "the ranks disagree");
        else
            right += fails([&] { comm.allreduce(buffer_of(one), buffer_of(out), ReduceOp::sum, caller); },
                           "the ranks disagree");
        right += fails([&] { comm.barrier(caller); }, "the ranks disagree");
    });
    report.expect(right == 2 * size, "a disagreement is reported on every rank, and again");

    right = 0;
    run_group(size, {}, 30.0, [&](Communicator& comm, Caller& caller) {
        std::vector<double> word(comm.group().rank == 1 ? 2 : 1);
        try {
            comm.broadcast(buffer_of(word), 0, caller);
        } catch (const Error&) {
            right += comm.group().rank == 1 ? 0 : 100;
        }
        right += fails([&] { comm.barrier(caller); }, "the ranks disagree");
    });
    report.expect(right == size, "a disagreement about a small broadcast is reported by the next call");

    right = 0;
    run_group(size, {}, 30.0, [&](Communicator& comm, Caller& caller) {
        comm.barrier(caller);
        if (comm.group().rank == size - 1) return;
        right += fails([&] { comm.barrier(caller); }, "rank " + std::to_string(size - 1));
    });
    report.expect(right == size - 1, "a rank that closes early is named on every other rank");

    right = 0;
    run_group(size, {}, 0.2, [&](Communicator& comm, Caller& caller) {
        if (comm.group().rank == size - 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        else right += fails([&] { comm.barrier(caller); }, "rank " + std::to_string(size - 1));
    });
    report.expect(right == size - 1, "a rank that does not come is named after the timeout");

    right = 0;
    std::atomic<bool> has_ended = false;
    run_group(size, {}, 30.0, [&](Communicator& comm, Caller& caller) {
        if (comm.group().rank == 0) {
            std::thread closer([&] {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                comm.close();
            });
            try {
                comm.barrier(caller);
            } catch (const Error& error) {
                right += error.error_class() == ErrorClass::invalid_communicator;
            }
            has_ended = true;
            closer.join();
        } else {
            while (!has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            try {
                comm.barrier(caller);
                comm.barrier(caller);
            } catch (const Error&) {
                ++right;
            }
        }
    });
    report.expect(right == size, "closing from another thread ends a call that waits");
}

void check_fork(Report& report) {
    std::atomic<int> right = 0;
    run_group(2, {}, 30.0, [&](Communicator& comm, Caller& caller) {
        comm.barrier(caller);
        if (comm.group().rank == 0) {
            const pid_t child = fork();
            if (child == 0) {
                bool refused = false;
                try {
                    comm.barrier(caller);
                } catch (const Error& error) {
                    refused = error.error_class() == ErrorClass::invalid_communicator;
                }
                _exit(refused ? 0 : 1);
            }
            int status = 1;
            waitpid(child, &status, 0);
            right += WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        comm.barrier(caller);
    });
    report.expect(right == 1, "a forked child is refused, and its parent goes on");
}

}  // namespace

int main() {
    Report report;
    check_digests(report);
    check_handshake(report);
    check_admission(report);
    check_calls(report);
    cobre::tests::check_joining(report);
    for (const int size : {1, 2, 3, 5}) {
        check_collectives(report, size, {}, 1);
        check_collectives(report, size, {}, 60'000);
        check_collectives(report, size, {13, 29}, 501);
    }
    for (const int size : {2, 3, 5}) check_small_broadcasts(report, size, {});
    check_small_broadcasts(report, 3, {13, 29});
    for (const int size : {2, 3, 4}) check_failures(report, size);
    check_fork(report);
    return report.finish();
}

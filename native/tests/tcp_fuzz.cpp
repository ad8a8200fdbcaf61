// Feeds the parsers of the tcp backend garbage and damaged real traffic: tcp_fuzz [inputs] [seed].
//
// A crash, a sanitizer's complaint or an input that takes no end is a failure. Memory is bounded by construction:
// the parsers own fixed buffers.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tcp/handshake.hpp"
#include "tcp/inbox.hpp"
#include "tcp/link.hpp"

namespace {

using namespace cobre::tcp;
using cobre::comm::Buffer;
using cobre::comm::DType;
using cobre::comm::Kind;
using cobre::comm::ReduceOp;
using Random = std::mt19937_64;

constexpr std::size_t payload_bytes = 300;

std::size_t below(Random& random, std::size_t limit) { return static_cast<std::size_t>(random() % limit); }

std::string call_frame(const Call& call) {
    std::string payload(Call::wire_bytes, '\0');
    call.encode(reinterpret_cast<std::byte*>(payload.data()));
    return frame(Tag::call, payload);
}

// What a well-behaved peer sends in a step, cut into frames at random, with news in between.
std::string honest_step(Random& random, Tag tag) {
    std::array<double, payload_bytes / 8> numbers = {};
    const Buffer buffer{
        reinterpret_cast<std::byte*>(numbers.data()), payload_bytes / 8, {Kind::floating, false, 8, 0}, false};
    std::string stream = call_frame(Call::allreduce(buffer, ReduceOp::sum));
    std::size_t left = payload_bytes;
    for (bool is_first = true; is_first || left > 0; is_first = false) {
        const std::size_t bytes = std::min(left, 1 + below(random, payload_bytes));
        const std::string prefix = is_first && tag == Tag::allreduce_send ? std::string(1, '\0') : "";
        stream += frame(is_first ? tag : Tag::continuation, prefix + std::string(bytes, 'x'));
        left -= bytes;
        if (below(random, 8) == 0) stream += frame(Tag::overdue);
    }
    switch (below(random, 4)) {
        case 0: stream += frame(Tag::shutdown); break;
        case 1: stream += failure_frame({"rank 2 has died", "start again"}); break;
        case 2: stream += call_frame(Call::of(Verb::barrier)); break;
        default: break;
    }
    return stream;
}

void damage(Random& random, std::string& stream) {
    for (std::size_t i = below(random, 5); i > 0 && !stream.empty(); --i) {
        const std::size_t place = below(random, stream.size());
        switch (below(random, 4)) {
            case 0: stream[place] = static_cast<char>(random()); break;
            case 1: stream.erase(place, 1 + below(random, 20)); break;
            case 2: stream.insert(place, std::string(1 + below(random, 20), static_cast<char>(random()))); break;
            default: stream.resize(place); break;
        }
    }
}

std::string garbage(Random& random) {
    std::string bytes(below(random, 200), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

// Whether the inbox ended each look at the stream after a bounded number of steps.
bool feed_inbox(Random& random, std::string stream) {
    const Tag tag = below(random, 2) == 0 ? Tag::allreduce_send : Tag::allgatherv_recv;
    if (stream.empty()) stream = honest_step(random, tag);
    damage(random, stream);
    std::vector<std::byte> memory(payload_bytes), ring(64);
    Inbox inbox;
    for (int step = 0; step < 2; ++step) {
        inbox.expect(tag);
        const bool uses_ring = below(random, 2) == 0;
        if (uses_ring) inbox.flow().use_ring(ring, payload_bytes);
        else inbox.flow().add(memory.data(), 100), inbox.flow().add(memory.data() + 100, payload_bytes - 100);
        for (int look = 0; look < 2000; ++look) {
            int steps = 0;
            News news = News::none;
            do news = inbox.interpret();
            while ((news == News::call || news == News::overdue) && ++steps < 1000);
            if (steps >= 1000) return false;
            if (news == News::garbage || news == News::failure || news == News::shutdown) return true;
            if (news == News::done) break;
            if (uses_ring) inbox.flow().release(inbox.flow().oldest().size());
            std::array<iovec, 2> vectors;
            const std::size_t used = inbox.targets(vectors, 1 + below(random, 200));
            if (used == 0) {
                if (inbox.is_ahead()) break;
                continue;
            }
            std::size_t asked = vectors[0].iov_len + (used == 2 ? vectors[1].iov_len : 0);
            const std::size_t count = std::min({asked, stream.size(), 1 + below(random, 400)});
            if (count == 0) return true;
            const std::size_t first = std::min(count, vectors[0].iov_len);
            std::memcpy(vectors[0].iov_base, stream.data(), first);
            if (count > first) std::memcpy(vectors[1].iov_base, stream.data() + first, count - first);
            stream.erase(0, count);
            inbox.received(count);
        }
    }
    return true;
}

// What a rank that went has left behind. Undamaged, it must be recognised for what it is.
bool feed_farewell(Random& random, bool is_honest) {
    std::string stream =
        below(random, 4) == 0 && !is_honest ? garbage(random) : honest_step(random, Tag::allreduce_send);
    const bool has_failure = stream.find("has died") != std::string::npos;
    if (!is_honest) damage(random, stream);
    const auto bytes = std::as_bytes(std::span(stream));
    const Link::Farewell farewell = Link::farewell_in(bytes, 1);
    // A stream that ends within the step is no contribution, wherever it ends.
    const std::size_t torn = below(random, payload_bytes);
    const bool torn_counts = is_honest && Link::farewell_in(bytes.first(torn), 1).has_contributed;
    return !is_honest || (farewell.has_contributed == !has_failure && !torn_counts);
}

void feed_doorkeeper(Random& random, const Secret& secret) {
    Doorkeeper door(secret);
    Applicant applicant(secret, {1, 2});
    // The genuine answer to this very challenge, then damaged: the deepest a stranger could get.
    std::string words = door.challenge();
    std::string answer;
    while (!words.empty()) {
        const std::span<std::byte> room = applicant.room();
        const std::size_t taken = std::min(room.size(), words.size());
        std::memcpy(room.data(), words.data(), taken);
        applicant.received(taken);
        words.erase(0, taken);
        answer += applicant.proceed();
    }
    if (below(random, 3) == 0) answer = garbage(random);
    damage(random, answer);
    while (!answer.empty() &&
           (door.state() == Doorkeeper::State::proving || door.state() == Doorkeeper::State::introducing)) {
        const std::span<std::byte> room = door.room();
        const std::size_t count = std::min({room.size(), answer.size(), 1 + below(random, 120)});
        if (count == 0) break;
        std::memcpy(room.data(), answer.data(), count);
        door.received(count);
        answer.erase(0, count);
        door.proceed([](const Introduction& who) -> std::optional<std::string> {
            if (who.rank != 1 || who.size != 2) return "no";
            return std::nullopt;
        });
    }
}

void feed_applicant(Random& random, const Secret& secret) {
    Applicant applicant(secret, {1, 2});
    std::string words =
        frame(Tag::challenge, std::string(32, 'n')) + frame(Tag::proof, std::string(32, 'p')) + ack_frame(2, 1);
    if (below(random, 3) == 0) words = frame(Tag::refusal, std::string(1 + below(random, 900), 'r'));
    if (below(random, 4) == 0) words = garbage(random);
    damage(random, words);
    while (!words.empty() && applicant.state() == Applicant::State::waiting) {
        const std::span<std::byte> room = applicant.room();
        const std::size_t count = std::min({room.size(), words.size(), 1 + below(random, 60)});
        if (count == 0) break;
        std::memcpy(room.data(), words.data(), count);
        applicant.received(count);
        words.erase(0, count);
        applicant.proceed();
    }
    if (applicant.state() == Applicant::State::joined) std::abort();  // nobody here knows the secret
}

}  // namespace

int main(int argc, char** argv) {
    const long inputs = argc > 1 ? std::atol(argv[1]) : 100'000;
    Random random(argc > 2 ? static_cast<std::uint64_t>(std::atol(argv[2])) : 1);
    const Secret secret("fuzz");
    for (long input = 0; input < inputs; ++input) {
        switch (below(random, 9)) {
            case 0: feed_doorkeeper(random, secret); break;
            case 1: feed_applicant(random, secret); break;
            case 2:
                if (feed_farewell(random, input % 2 == 0)) break;
                std::printf("input %ld: a farewell was misread\n", input);
                return 1;
            default:
                if (feed_inbox(random, below(random, 4) == 0 ? garbage(random) : "")) break;
                std::printf("input %ld takes no end\n", input);
                return 1;
        }
    }
    std::printf("%ld inputs, no complaint\n", inputs);
    return 0;
}

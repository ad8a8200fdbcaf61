// Feeds the parsers of the tcp backend garbage, damaged and undamaged real traffic: tcp_fuzz [inputs] [seed].
//
// A crash, a sanitizer's notice, an input that takes no end, and one that is misread are failures. Memory is
// bounded by construction: the parsers own fixed buffers.
#include "tcp_fuzz.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "tcp/inbox.hpp"
#include "tcp/link.hpp"

namespace {

using namespace cobre::tcp;
using namespace cobre::tcp::fuzz;
using namespace cobre::comm;

constexpr std::size_t payload_bytes = 300;
constexpr std::size_t ring_bytes = 64;
// Far more than any stream here needs, each of which moves a byte at least.
constexpr int most_looks = 4000;
constexpr int most_news_in_a_row = 1000;

std::string call_frame(const WireCall& call) {
    std::string payload(WireCall::wire_bytes, '\0');
    call.encode(reinterpret_cast<std::byte*>(payload.data()));
    return frame(Tag::call, payload);
}

// What a well-behaved peer sends in a step, cut into frames at random, with news in between.
std::string honest_step(Random& random, Tag tag, const std::string& contents) {
    std::array<double, payload_bytes / 8> numbers = {};
    const Buffer buffer{
        reinterpret_cast<std::byte*>(numbers.data()), payload_bytes / 8, {Kind::floating, false, 8, 0}, false};
    const bool is_from_rank_0 = tag == Tag::allgatherv_recv;
    std::string stream = is_from_rank_0 && below(random, 8) == 0 ? frame(Tag::proceed) : "";
    stream += call_frame(Call::allreduce(buffer, ReduceOp::sum));
    for (std::size_t sent = 0; sent < contents.size();) {
        const std::size_t bytes = std::min(contents.size() - sent, 1 + below(random, payload_bytes));
        const std::string prefix = sent == 0 && tag == Tag::allreduce_send ? std::string(1, '\0') : "";
        stream += frame(sent == 0 ? tag : Tag::continuation, prefix + contents.substr(sent, bytes));
        sent += bytes;
        if (below(random, 8) == 0) stream += frame(Tag::overdue);
    }
    return stream;
}

WireCall small_broadcast(std::uint32_t sequence) {
    double number = 0;
    WireCall call =
        Call::broadcast({reinterpret_cast<std::byte*>(&number), 1, {Kind::floating, false, 8, 0}, false}, 0);
    call.sequence = sequence;
    return call;
}

// What the other side says of so many broadcasts, the last steps before the first honest one, that it was given.
std::string confirmations(Random& random, Tag tag, std::uint32_t count) {
    std::string stream;
    for (std::uint32_t i = count; i > 0; --i) {
        if (below(random, 8) == 0) stream += frame(tag == Tag::allgatherv_recv ? Tag::proceed : Tag::overdue);
        stream += call_frame(small_broadcast(0 - i)) + frame(Tag::broadcast);
    }
    return stream;
}

// What may follow a step, and what an inbox must make of it.
struct Ending {
    std::string words;
    News news = News::none;
    bool is_ahead = false;
};

Ending ending(Random& random) {
    switch (below(random, 4)) {
        case 0: return {frame(Tag::shutdown), News::shutdown, false};
        case 1: return {failure_frame({"rank 2 has died", "start again"}), News::failure, false};
        case 2: return {call_frame(Call::of(Verb::barrier)), News::none, true};
        default: return {};
    }
}

enum class Outcome : std::uint8_t { done, told, ahead, starved, stuck };

// An inbox, and the stream that it is fed from in pieces of any size.
class Reading {
public:
    Reading(Random& random, std::string stream) : random_(random), stream_(std::move(stream)) {}

    void give(std::uint32_t count) {
        for (std::uint32_t i = count; i > 0; --i) {
            inbox_.expect(0 - i, Tag::broadcast);
            inbox_.confirm_later(small_broadcast(0 - i));
        }
    }

    void expect(Tag tag) {
        inbox_.expect(0, tag);
        emptied_.clear();
        uses_ring_ = below(random_, 2) == 0;
        if (uses_ring_) inbox_.flow().use_ring(ring_, payload_bytes);
        else inbox_.flow().add(memory_.data(), 100), inbox_.flow().add(memory_.data() + 100, payload_bytes - 100);
    }

    // Until something is worth knowing, or there is nothing more to read. `stuck` must never be.
    Outcome read() {
        for (int look = 0; look < most_looks; ++look) {
            const std::size_t before = left();
            if (!interpret()) return Outcome::stuck;
            if (news_ == News::done) return Outcome::done;
            if (news_ != News::none) return Outcome::told;
            if (uses_ring_) empty_ring();
            std::array<iovec, 2> vectors;
            const std::size_t used = inbox_.targets(vectors, 1 + below(random_, 200));
            if (used > 0 && stream_.empty()) return Outcome::starved;
            if (used > 0) receive(std::span(vectors).first(used));
            else if (inbox_.is_ahead()) return Outcome::ahead;
            if (left() == before) return Outcome::stuck;
        }
        return Outcome::stuck;
    }

    News news() const { return news_; }
    const Failure& failure() const { return inbox_.failure(); }

    // The payload of this step, wherever it was put.
    std::string contents() {
        if (!uses_ring_) return {reinterpret_cast<const char*>(memory_.data()), memory_.size()};
        while (!inbox_.flow().oldest().empty()) empty_ring();
        return emptied_;
    }

private:
    // What falls whenever anything moves: bytes to be fed, to be understood and to be taken out of the ring.
    std::size_t left() const {
        return 3 * stream_.size() + 2 * inbox_.unread().size() + inbox_.flow().remaining() + payload_bytes -
               emptied_.size();
    }

    // False if there is no end of news.
    bool interpret() {
        int count = 0;
        do news_ = inbox_.interpret();
        while ((news_ == News::call || news_ == News::overdue) && ++count < most_news_in_a_row);
        return count < most_news_in_a_row;
    }

    void empty_ring() {
        const std::span<const std::byte> oldest = inbox_.flow().oldest();
        const std::size_t taken = std::min(oldest.size(), 1 + below(random_, ring_bytes));
        emptied_.append(reinterpret_cast<const char*>(oldest.data()), taken);
        inbox_.flow().release(taken);
    }

    void receive(std::span<const iovec> vectors) {
        std::size_t most = std::min(stream_.size(), 1 + below(random_, 400)), count = 0;
        for (const iovec& vector : vectors) {
            const std::size_t bytes = std::min(vector.iov_len, most - count);
            std::memcpy(vector.iov_base, stream_.data() + count, bytes);
            count += bytes;
        }
        stream_.erase(0, count);
        inbox_.received(count);
    }

    Random& random_;
    std::string stream_;
    Inbox inbox_;
    News news_ = News::none;
    std::vector<std::byte> memory_ = std::vector<std::byte>(payload_bytes);
    std::vector<std::byte> ring_ = std::vector<std::byte>(ring_bytes);
    bool uses_ring_ = false;
    std::string emptied_;
};

OverdueNotice feed_damaged(Random& random, Tag tag, std::uint32_t given, std::string stream) {
    damage(random, stream);
    Reading reading(random, std::move(stream));
    reading.give(given);
    for (int step = 0; step < 2; ++step) {
        reading.expect(tag);
        const Outcome outcome = reading.read();
        if (outcome == Outcome::stuck) return "a damaged stream takes no end";
        if (outcome != Outcome::done) return nullptr;
    }
    return nullptr;
}

bool is_as_told(Reading& reading, const Ending& last) {
    const Outcome outcome = reading.read();
    if (last.is_ahead) return outcome == Outcome::ahead;
    if (last.news == News::none) return outcome == Outcome::starved;
    const bool has_text = last.news != News::failure || reading.failure().text == "rank 2 has died";
    return outcome == Outcome::told && reading.news() == last.news && has_text;
}

OverdueNotice feed_honest(Random& random, Tag tag, std::uint32_t given, const std::array<std::string, 2>& contents,
                          std::string stream) {
    const Ending last = ending(random);
    Reading reading(random, stream + last.words);
    reading.give(given);
    for (const std::string& each : contents) {
        reading.expect(tag);
        if (reading.read() != Outcome::done) return "an honest step was not completed";
        if (reading.contents() != each) return "bytes are not in their places";
    }
    return is_as_told(reading, last) ? nullptr : "what follows a step was misread";
}

OverdueNotice feed_inbox(Random& random) {
    const Tag tag = below(random, 2) == 0 ? Tag::allreduce_send : Tag::allgatherv_recv;
    const std::uint32_t given = below(random, 2) == 0 ? 0 : 1 + static_cast<std::uint32_t>(below(random, 9));
    if (below(random, 4) == 0) return feed_damaged(random, tag, given, garbage(random));
    const std::array contents{random_bytes(random, payload_bytes), random_bytes(random, payload_bytes)};
    const std::string stream = confirmations(random, tag, given) + honest_step(random, tag, contents[0]) +
                               honest_step(random, tag, contents[1]);
    if (below(random, 4) == 0) return feed_honest(random, tag, given, contents, stream);
    return feed_damaged(random, tag, given, stream + ending(random).words);
}

// What a rank that went has left behind. Undamaged, it must be recognised for what it is.
OverdueNotice feed_farewell(Random& random) {
    const bool is_honest = below(random, 2) == 0;
    const Ending last = ending(random);
    std::string stream = confirmations(random, Tag::allreduce_send, static_cast<std::uint32_t>(below(random, 4))) +
                         honest_step(random, Tag::allreduce_send, random_bytes(random, payload_bytes)) +
                         last.words;
    if (!is_honest && below(random, 4) == 0) stream = garbage(random);
    if (!is_honest) damage(random, stream);
    const auto bytes = std::as_bytes(std::span(stream));
    const Link::LastMessage last_message = Link::last_message_in(bytes, 1, 0);
    if (!is_honest) return nullptr;
    // A stream that ends within the step is no contribution, wherever it ends.
    const std::size_t torn = below(random, payload_bytes);
    const bool is_right = last_message.has_contributed == (last.news != News::failure) &&
                          !Link::last_message_in(bytes.first(torn), 1, 0).has_contributed;
    return is_right ? nullptr : "a last_message was misread";
}

OverdueNotice feed_any(Random& random) {
    switch (below(random, 9)) {
        case 0: return feed_doorkeeper(random);
        case 1: return feed_worker_side(random);
        case 2: return feed_farewell(random);
        default: return feed_inbox(random);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const long inputs = argc > 1 ? std::atol(argv[1]) : 100'000;
    Random random(argc > 2 ? static_cast<std::uint64_t>(std::atol(argv[2])) : 1);
    for (long input = 0; input < inputs; ++input) {
        if (const OverdueNotice notice = feed_any(random)) {
            std::printf("input %ld: %s\n", input, notice);
            return 1;
        }
    }
    std::printf("%ld inputs, no notice\n", inputs);
    return 0;
}

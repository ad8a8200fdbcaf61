// Half of the inputs have the secret: only they pass the first check, behind which the rest of the parsers is.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "tcp/handshake.hpp"
#include "tcp_fuzz.hpp"

namespace cobre::tcp::fuzz {

namespace {

// Behind the handshake the first step begins, and the handshake must not touch it.
constexpr const char* work = "and now to work";

const Secret& secret() {
    static const Secret shared("fuzz");
    return shared;
}

bool listens(const HubHandshake& hub_side) {
    return hub_side.state() == HubHandshake::State::proving ||
           hub_side.state() == HubHandshake::State::introducing;
}

bool listens(const WorkerHandshake& worker_side) {
    return worker_side.state() == WorkerHandshake::State::waiting ||
           worker_side.state() == WorkerHandshake::State::proved;
}

struct Talk {
    std::string answer;
    std::string unread;
    bool is_stuck = false;
};

// Says `words` in pieces until the handshake has ended.
template <class Listener, class... Examiner>
Talk deliver(Random& random, Listener& listener, std::string words, const Examiner&... examine) {
    Talk talk;
    while (!words.empty() && listens(listener) && !talk.is_stuck) {
        const std::span<std::byte> room = listener.room();
        const std::size_t count = std::min({room.size(), words.size(), 1 + below(random, 120)});
        std::memcpy(room.data(), words.data(), count);
        listener.received(count);
        words.erase(0, count);
        talk.answer += listener.proceed(examine...);
        talk.is_stuck = count == 0;
    }
    talk.unread = words;
    return talk;
}

std::optional<std::string> refuse_all_but_rank_1(const Introduction& who) {
    if (who.rank != 1 || who.size != 2) return "no";
    return std::nullopt;
}

// What rank 0 says behind its proof, and what a worker must make of it.
struct Ending {
    std::string words;
    WorkerHandshake::State state;
    std::string text;
};

Ending ending(Random& random) {
    switch (below(random, 3)) {
        case 0: return {ack_frame(2, 7), WorkerHandshake::State::joined, ""};
        case 1:
            return {failure_frame({"rank 2 has died", "again"}), WorkerHandshake::State::refused,
                    "rank 2 has died"};
        default: {
            const std::string text(1 + below(random, 900), 'r');
            return {frame(Tag::refusal, "\2" + text), WorkerHandshake::State::refused, text};
        }
    }
}

bool is_understood(const WorkerHandshake& worker_side, const Ending& ending, const Talk& talk) {
    return worker_side.state() == ending.state && worker_side.failure().text == ending.text &&
           worker_side.local_ranks() == (ending.state == WorkerHandshake::State::joined ? 7u : 1u) &&
           talk.unread == work;
}

// A worker that has found rank 0 elsewhere says so before or behind its proof.
OverdueNotice feed_withdrawal(Random& random, HubHandshake& hub_side, const std::string& proof) {
    const std::string words = (below(random, 2) == 0 ? proof : std::string()) + goodbye_frame();
    const Talk talk = deliver(random, hub_side, words, refuse_all_but_rank_1);
    return hub_side.state() == HubHandshake::State::withdrawn && talk.unread.empty()
               ? nullptr
               : "rank 0 missed a withdrawal";
}

}  // namespace

OverdueNotice feed_doorkeeper(Random& random) {
    HubHandshake hub_side(secret());
    const auto rank = static_cast<std::uint32_t>(below(random, 3));
    const Introduction introduction{rank, 2};
    WorkerHandshake worker_side(secret(), introduction);
    // The genuine answer to this very challenge, then damaged: the deepest a stranger could get.
    const std::string proof = deliver(random, worker_side, hub_side.challenge()).answer;
    std::string answer = proof + frame(Tag::handshake, introduction.encode()) + work;
    if (below(random, 8) == 0) return feed_withdrawal(random, hub_side, proof);
    const bool is_honest = below(random, 3) == 0;
    if (!is_honest && below(random, 3) == 0) answer = garbage(random);
    if (!is_honest) damage(random, answer);
    const Talk talk = deliver(random, hub_side, answer, refuse_all_but_rank_1);
    if (talk.is_stuck) return "rank 0 listens and takes nothing";
    const bool has_entered =
        hub_side.state() == HubHandshake::State::introducing || hub_side.state() == HubHandshake::State::accepted;
    // Its own proof is for those only who gave theirs.
    const bool has_proved = !talk.answer.empty() && talk.answer[4] == static_cast<char>(Tag::proof);
    if ((has_entered || has_proved) && !answer.starts_with(proof))
        return "rank 0 admitted a worker without a proof";
    if (!is_honest) return nullptr;
    if (rank != 1)
        return hub_side.state() == HubHandshake::State::refused ? nullptr : "rank 0 took a rank it refuses";
    if (hub_side.state() != HubHandshake::State::accepted || hub_side.introduction().rank != 1)
        return "rank 0 did not admit a worker";
    return talk.unread == work ? nullptr : "rank 0 read what follows a Handshake";
}

OverdueNotice feed_worker_side(Random& random) {
    WorkerHandshake worker_side(secret(), {1, 2});
    Nonce nonce;
    std::memcpy(nonce.data(), random_bytes(random, nonce.size()).data(), nonce.size());
    const bool is_honest = below(random, 3) == 0, knows_secret = is_honest || below(random, 2) == 0;
    std::string challenge = frame(Tag::challenge, {reinterpret_cast<const char*>(nonce.data()), nonce.size()});
    if (!is_honest && below(random, 8) == 0) damage(random, challenge);
    const std::string answer = deliver(random, worker_side, challenge).answer;
    Nonce theirs = {};
    if (!answer.empty()) std::memcpy(theirs.data(), answer.data() + header_bytes, theirs.size());
    const Digest digest = secret().hub_proof(nonce, theirs);
    const std::string proof = frame(Tag::proof, {reinterpret_cast<const char*>(digest.data()), digest.size()});
    const Ending due = ending(random);
    std::string words = (knows_secret ? proof : frame(Tag::proof, std::string(32, 'p'))) + due.words + work;
    if (!is_honest && below(random, 6) == 0) words = due.words;
    if (!is_honest && below(random, 6) == 0) words = garbage(random);
    if (!is_honest) damage(random, words);
    const Talk talk = deliver(random, worker_side, words);
    if (talk.is_stuck) return "a worker listens and takes nothing";
    const bool has_introduced = talk.answer.ends_with(frame(Tag::handshake, Introduction{1, 2}.encode()));
    if (has_introduced != worker_side.is_with_rank_0())
        return "a worker introduced itself without a proof of rank 0, or did not after one";
    const bool has_joined = worker_side.is_with_rank_0() || worker_side.state() == WorkerHandshake::State::joined;
    if (has_joined && !words.starts_with(proof)) return "a worker joined without a proof of rank 0";
    return !is_honest || is_understood(worker_side, due, talk) ? nullptr : "a worker misread its rank 0";
}

}  // namespace cobre::tcp::fuzz

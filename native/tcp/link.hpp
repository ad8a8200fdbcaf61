// One connection at work: frames out of and into the caller's memory, never blocking.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "comm/descriptor.hpp"
#include "tcp/inbox.hpp"

namespace cobre::tcp {

class Link {
public:
    Link(comm::Descriptor socket, int rank, std::string address)
        : rank_(rank), address_(std::move(address)), socket_(std::move(socket)) {}

    // From now on sends no more of a step than the other side's machine takes by itself before the other side has
    // come to that step, too. So our last message and the end of our stream get through, whenever that is.
    void hold_back() noexcept { is_held_back_ = true; }

    // Starts the step `call`: what we send goes under `out`, what we get comes under `in`. Fill `inflow()` and
    // `outflow()` next.
    void begin(const WireCall& call, Tag out, Tag in);
    // Behind `begin`: this rank gives a broadcast, and need not hear the other side's call in this step.
    void confirm_later(const WireCall& call) { inbox_.confirm_later(call); }
    // Behind `begin`: this rank only receives. What it says, its call and an empty payload, waits for what it
    // sends next, or for `send_answers`, unless it is about so many bytes or calls that the root may wait for it.
    void answer_later(const WireCall& call) noexcept;
    // Whether there was something that waits.
    bool send_answers() noexcept;
    Inflow& inflow() noexcept { return inbox_.flow(); }
    Outflow& outflow() noexcept { return outflow_; }
    const Outflow& outflow() const noexcept { return outflow_; }
    const Inbox& inbox() const noexcept { return inbox_; }

    enum class Outcome : std::uint8_t { blocked, moved, lost };

    // Sends one frame of at most `piece` bytes of payload, as far as the kernel takes it, once that much is ready.
    Outcome send(std::size_t piece);
    // Receives one piece. `lost` is the end of the stream or an error of the connection.
    Outcome receive(std::size_t piece);
    News interpret() { return inbox_.interpret(); }

    // Puts a small frame behind the frame that is on its way; `flush` sends what the kernel takes of both.
    void post(std::string frame) { posted_ += frame; }
    Outcome flush();
    // Notifies the other side, once in a step and unless our call does, that this rank has reached it.
    void invite();
    bool has_posted() const noexcept { return !posted_.empty(); }

    // Nothing more will be sent; what `outflow()` still holds was not taken.
    bool is_sent() const noexcept {
        return is_lost_ || (is_over_ && frame_left_ == 0 && (head_begin_ == head_end_ || answers_ > 0));
    }
    // What was sent has left this machine, or has no way to go: this rank may exit, whatever arrives here then.
    bool has_left_machine() const noexcept;
    // A frame could be sent if the kernel took it.
    bool wants_to_send(std::size_t piece) const noexcept;
    bool wants_to_receive() noexcept;

    // The other side reads nothing any more, but there may be something left to read here.
    void stop_sending() noexcept;
    // The connection is of no use any more; it counts as served.
    void lose(bool has_said_goodbye) noexcept {
        is_lost_ = true;
        has_said_goodbye_ = has_said_goodbye;
    }
    // The kernel repeats what we sent, without an answer: if that lasts, the machine is gone.
    bool is_unanswered() const noexcept;
    void give_up() noexcept;
    bool is_lost() const noexcept { return is_lost_; }
    // That it is lost, how, and what to do; `where` is the place of that in the caller's life.
    comm::Failure departure(const std::string& where) const;

    // Non-waiting goodbye: says Shutdown if a frame may begin here, closes our half, takes what is unread so that
    // the kernel does not answer it with a reset, and gives the descriptor back.
    void leave() noexcept;
    // Notifies the other side that nothing more will come.
    void end_sending() noexcept;

    // What the other side has left in the stream that it has ended, without taking it.
    struct LastMessage {
        bool has_contributed = false;  // to the step that comes next, all that it needs
        News news = News::none;        // shutdown, failure, or none if it just stopped
        comm::Failure failure;
    };
    LastMessage examine();
    // The same of `bytes` that `rank` sent last, before the step with this number begins here.
    static LastMessage last_message_in(std::span<const std::byte> bytes, int rank, std::uint32_t next_sequence);

    int fd() const noexcept { return socket_.get(); }
    int rank() const noexcept { return rank_; }
    const std::string& address() const noexcept { return address_; }

    // Hints: whether trying may succeed. Cleared by a try that did not, set again by the wait.
    bool may_read = true;
    bool may_write = true;

private:
    std::size_t next_frame(std::size_t piece) const noexcept;
    void start_frame(std::size_t piece) noexcept;
    bool has_frame_under_way() const noexcept { return frame_left_ > 0 || head_begin_ < head_end_; }
    Outcome push(std::size_t limit);
    Outcome stopped() noexcept;

    int rank_;
    bool is_lost_ = false;
    bool has_said_goodbye_ = false;
    int trouble_ = 0;  // the first error of the connection; the kernel tells it only once
    bool is_first_frame_ = true;
    bool is_over_ = true;  // the last frame of this step has begun
    bool is_held_back_ = false;
    bool is_invited_ = false;
    std::size_t most_ahead_ = always_fits;
    Tag tag_ = Tag::barrier_go;
    std::uint8_t op_ = 0;
    std::uint32_t sequence_ = 0;
    std::size_t frame_left_ = 0;
    std::size_t head_begin_ = 0;
    std::size_t head_end_ = 0;
    static constexpr std::size_t answer_bytes = 2 * header_bytes + WireCall::wire_bytes;
    static constexpr std::size_t most_answers = Unconfirmed::most_calls / 2;
    std::size_t answers_ = 0;         // that wait in the head
    std::size_t answered_bytes_ = 0;  // of the payloads that they answer
    // Answers, the call, the header, the operation: what goes before the payload.
    std::array<std::byte, most_answers * answer_bytes + 64> head_;
    Outflow outflow_;
    std::string posted_;
    std::string address_;
    comm::Descriptor socket_;
    Inbox inbox_;
};

}  // namespace cobre::tcp

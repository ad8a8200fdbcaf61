#include "tcp/attempt.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

namespace cobre::tcp {

namespace {

// Not ETIMEDOUT: a slow rank 0 may still answer.
bool means_nobody_listens(int error) noexcept {
    return error == ECONNREFUSED || error == ENETUNREACH || error == EHOSTUNREACH || error == EADDRNOTAVAIL ||
           error == EAFNOSUPPORT;
}

}  // namespace

Attempt::Attempt(const Endpoint& endpoint, int keepalive_s, const Secret& secret, const Introduction& introduction)
    : handshake_(secret, introduction) {
    try {
        socket_ = begin_connecting(endpoint, keepalive_s);
    } catch (const std::system_error& error) {
        end(means_nobody_listens(error.code().value()) ? State::vacant : State::failed, error.code().message());
    }
}

pollfd Attempt::wanted() const noexcept {
    return {socket_.get(), static_cast<short>(state_ == State::connecting ? POLLOUT : POLLIN), 0};
}

void Attempt::proceed() {
    if (state_ == State::connecting) return finish_connecting();
    const std::span<std::byte> room = handshake_.room();
    const ssize_t count = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0)
        return end(State::failed, std::string("it closed the connection during the handshake") +
                                      (count == 0 ? "" : std::string(": ") + std::strerror(errno)));
    handshake_.received(static_cast<std::size_t>(count));
    const std::string answer = handshake_.proceed();
    switch (handshake_.state()) {
        case WorkerHandshake::State::waiting: return send_small(socket_, answer);
        case WorkerHandshake::State::proved:
            if (state_ == State::unproved) introduction_ = answer;
            state_ = State::proved;
            return;
        case WorkerHandshake::State::joined: state_ = State::joined; return;
        case WorkerHandshake::State::refused:
            return end(State::refused, handshake_.failure().text, handshake_.failure().fix);
        case WorkerHandshake::State::wrong_peer:
            return end(State::foreign, handshake_.failure().text, handshake_.failure().fix);
    }
}

void Attempt::finish_connecting() {
    const int error = connect_error(socket_);
    if (error != 0) return end(means_nobody_listens(error) ? State::vacant : State::failed, std::strerror(error));
    if (is_connected_to_itself(socket_)) return end(State::vacant, "nothing listens there");
    state_ = State::unproved;
}

void Attempt::introduce() {
    send_small(socket_, introduction_);
    introduction_.clear();
}

void Attempt::expire() { end(State::failed, std::strerror(ETIMEDOUT)); }

void Attempt::withdraw() noexcept {
    if (state_ == State::unproved || state_ == State::proved) {
        send_small(socket_, goodbye_frame());
        close_without_reset(socket_);
    }
    socket_.reset();
}

void Attempt::end(State state, std::string reason, std::string fix) {
    state_ = state;
    failure_ = {std::move(reason), std::move(fix)};
    socket_.reset();
}

}  // namespace cobre::tcp

// Sockets as this backend uses them: non-blocking, without delay, with keepalive, dropped by forked children.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "comm/descriptor.hpp"

namespace cobre::tcp {

struct Endpoint {
    sockaddr_storage address = {};
    socklen_t length = 0;

    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }
    // "127.0.0.1:29500", "[::1]:29500"
    std::string text() const;
    int port() const noexcept;
    void set_port(int port) noexcept;
    // The source of the address for counting: an IPv4 address, or the first half of an IPv6 one,
    // since the other half is everybody's own choice.
    std::uint64_t source() const noexcept;
    bool operator==(const Endpoint& other) const noexcept;
};

// Throws std::system_error when the kernel refuses. `one_family`: at `::` take no IPv4 connections.
comm::Descriptor listen_at(const Endpoint& endpoint, bool one_family);
// A connection under way: writable once it stands or has failed. Throws std::system_error when it fails at once.
// After `keepalive_s` seconds of silence the kernel begins to ask whether the other machine is still there, and
// gives it up after as many more without an answer (5 at least).
comm::Descriptor begin_connecting(const Endpoint& endpoint, int keepalive_s);
// The next connection to accept, and its address; empty with errno set when there is none.
comm::Descriptor accept_from(const comm::Descriptor& listener, Endpoint& peer, int keepalive_s) noexcept;

// For a fresh connection, which takes a few hundred bytes at once; one that does not is gone or hostile.
void send_small(const comm::Descriptor& socket, const std::string& bytes) noexcept;

// Ends the stream, takes what is unread so that the kernel does not answer it with a reset, which would destroy
// what we sent last, and closes.
void close_without_reset(comm::Descriptor& socket) noexcept;

// 0, or why `begin_connecting` did not succeed.
int connect_error(const comm::Descriptor& socket) noexcept;
// Whether the kernel connected this socket with itself, which happens with a port without a listener.
bool is_connected_to_itself(const comm::Descriptor& socket) noexcept;

Endpoint local_endpoint(const comm::Descriptor& socket);
Endpoint peer_endpoint(const comm::Descriptor& socket);

}  // namespace cobre::tcp

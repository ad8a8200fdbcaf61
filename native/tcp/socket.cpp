#include "tcp/socket.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

namespace cobre::tcp {

namespace {

// Large enough that a piece never waits for the other side to be scheduled; the kernel may grant less.
constexpr int buffer_bytes = 4 * 1024 * 1024;

constexpr int keepalive_count = 5;

void set_option(const comm::Descriptor& socket, int level, int name, int value) noexcept {
    // Refused options cost speed or promptness, never correctness.
    static_cast<void>(::setsockopt(socket.get(), level, name, &value, sizeof value));
}

void prepare(const comm::Descriptor& socket, int keepalive_s) noexcept {
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, keepalive_s);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, keepalive_s / keepalive_count));
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, keepalive_count);
}

// Before connecting or listening: the window scale is agreed on in the first packet.
void enlarge_buffers(const comm::Descriptor& socket) noexcept {
    set_option(socket, SOL_SOCKET, SO_SNDBUF, buffer_bytes);
    set_option(socket, SOL_SOCKET, SO_RCVBUF, buffer_bytes);
}

bool have_same_address(const Endpoint& a, const Endpoint& b) noexcept {
    if (a.address.ss_family != b.address.ss_family) return false;
    if (a.address.ss_family == AF_INET6) {
        const in6_addr& one = reinterpret_cast<const sockaddr_in6*>(&a.address)->sin6_addr;
        const in6_addr& other = reinterpret_cast<const sockaddr_in6*>(&b.address)->sin6_addr;
        return std::memcmp(&one, &other, sizeof one) == 0;
    }
    return reinterpret_cast<const sockaddr_in*>(&a.address)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(&b.address)->sin_addr.s_addr;
}

// Within a machine nothing is lost and nothing is to be shared fairly, but a default like BBR, which measures and
// paces, takes up to twice as long there. Between machines the choice is the administrator's.
void hurry_within_machine(const comm::Descriptor& socket, const Endpoint& peer) noexcept {
    constexpr std::string_view plainest = "reno";  // every kernel has it and lets everybody choose it
    if (have_same_address(local_endpoint(socket), peer))
        static_cast<void>(
            ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, plainest.data(), plainest.size()));
}

comm::Descriptor make_socket(int family) {
    comm::Descriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) throw std::system_error(errno, std::generic_category(), "socket");
    enlarge_buffers(socket);
    return socket;
}

Endpoint endpoint_by(int (*ask)(int, sockaddr*, socklen_t*), const comm::Descriptor& socket) {
    Endpoint endpoint;
    endpoint.length = sizeof endpoint.address;
    static_cast<void>(ask(socket.get(), reinterpret_cast<sockaddr*>(&endpoint.address), &endpoint.length));
    return endpoint;
}

}  // namespace

std::string Endpoint::text() const {
    std::array<char, NI_MAXHOST> host;
    std::array<char, NI_MAXSERV> service;
    if (::getnameinfo(get(), length, host.data(), host.size(), service.data(), service.size(),
                      NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "an unknown address";
    std::string name(host.data());
    if (address.ss_family == AF_INET6) {
        name.insert(name.begin(), '[');
        name.push_back(']');
    }
    return name.append(":").append(service.data());
}

int Endpoint::port() const noexcept {
    if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

void Endpoint::set_port(int port) noexcept {
    const auto number = htons(static_cast<std::uint16_t>(port));
    if (address.ss_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(&address)->sin6_port = number;
    else reinterpret_cast<sockaddr_in*>(&address)->sin_port = number;
}

std::uint64_t Endpoint::source() const noexcept {
    if (address.ss_family != AF_INET6) return reinterpret_cast<const sockaddr_in*>(&address)->sin_addr.s_addr;
    const in6_addr& whole = reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr;
    std::uint32_t v4 = 0;
    std::memcpy(&v4, &whole.s6_addr[12], sizeof v4);
    if (IN6_IS_ADDR_V4MAPPED(&whole)) return v4;
    std::uint64_t network = 0;
    std::memcpy(&network, &whole.s6_addr[0], sizeof network);
    return network;
}

bool Endpoint::operator==(const Endpoint& other) const noexcept {
    return length == other.length && std::memcmp(&address, &other.address, length) == 0;
}

comm::Descriptor listen_at(const Endpoint& endpoint, bool one_family) {
    comm::Descriptor socket = make_socket(endpoint.address.ss_family);
    set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);  // a restart must not wait for old connections to expire
    if (endpoint.address.ss_family == AF_INET6 && one_family) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (::bind(socket.get(), endpoint.get(), endpoint.length) != 0)
        throw std::system_error(errno, std::generic_category(), "bind");
    if (::listen(socket.get(), SOMAXCONN) != 0) throw std::system_error(errno, std::generic_category(), "listen");
    return socket;
}

comm::Descriptor begin_connecting(const Endpoint& endpoint, int keepalive_s) {
    comm::Descriptor socket = make_socket(endpoint.address.ss_family);
    prepare(socket, keepalive_s);
    if (::connect(socket.get(), endpoint.get(), endpoint.length) != 0 && errno != EINPROGRESS)
        throw std::system_error(errno, std::generic_category(), "connect");
    hurry_within_machine(socket, endpoint);
    return socket;
}

comm::Descriptor accept_from(const comm::Descriptor& listener, Endpoint& peer, int keepalive_s) noexcept {
    peer.length = sizeof peer.address;
    const int fd = ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&peer.address), &peer.length,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return {};
    comm::Descriptor socket(fd);
    prepare(socket, keepalive_s);
    hurry_within_machine(socket, peer);
    return socket;
}

void send_small(const comm::Descriptor& socket, const std::string& bytes) noexcept {
    if (!bytes.empty())
        static_cast<void>(!::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

void close_without_reset(comm::Descriptor& socket) noexcept {
    ::shutdown(socket.get(), SHUT_WR);
    std::array<std::byte, 4096> unread;
    for (int i = 0; i < 64 && ::recv(socket.get(), unread.data(), unread.size(), MSG_DONTWAIT) > 0; ++i) {
    }
    socket.reset();
}

int connect_error(const comm::Descriptor& socket) noexcept {
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
    return error;
}

Endpoint local_endpoint(const comm::Descriptor& socket) { return endpoint_by(::getsockname, socket); }

Endpoint peer_endpoint(const comm::Descriptor& socket) { return endpoint_by(::getpeername, socket); }

bool is_connected_to_itself(const comm::Descriptor& socket) noexcept {
    return local_endpoint(socket) == peer_endpoint(socket);
}

}  // namespace cobre::tcp

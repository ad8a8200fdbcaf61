// What loopback itself needs for the bytes of a collective, without any library: every rank's bytes straight to
// every rank that needs them, over plain sockets that never block, nothing checked. Loaded by tcp_limits.py.
//
//   c++ -O3 -std=c++20 -shared -fPIC tcp_limits.cpp -o libtcp_limits.so
#include <sched.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

struct Flow {
    int fd;
    const char* out;
    char* in;
    std::size_t to_send;
    std::size_t to_receive;
};

namespace {

// Without news, before the processor is offered to whoever else wants it: the other rank may sit on the same one.
constexpr int most_looks = 40;

// Moves all that `flows` ask for, at most `piece` bytes at once.
void move_once(std::vector<Flow> flows, std::size_t piece, bool yields) {
    constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    int looks = yields ? most_looks : 0;
    for (bool is_over = false; !is_over;) {
        is_over = true;
        bool has_moved = false;
        for (Flow& flow : flows) {
            if (flow.to_send > 0) {
                const ssize_t sent = ::send(flow.fd, flow.out, std::min(piece, flow.to_send), flags);
                if (sent > 0) {
                    flow.out += sent;
                    flow.to_send -= static_cast<std::size_t>(sent);
                    has_moved = true;
                }
            }
            if (flow.to_receive > 0) {
                const ssize_t got = ::recv(flow.fd, flow.in, std::min(piece, flow.to_receive), flags);
                if (got == 0) return;
                if (got > 0) {
                    flow.in += got;
                    flow.to_receive -= static_cast<std::size_t>(got);
                    has_moved = true;
                }
            }
            is_over = is_over && flow.to_send == 0 && flow.to_receive == 0;
        }
        if (has_moved) looks = yields ? most_looks : 0;
        else if (++looks > most_looks) ::sched_yield();
    }
}

// Rank 0 of a star: receives `bytes` from each of its connections and passes them on to all others as they come,
// its own first. `result` has a part for every rank, its own filled in.
void relay_once(const int* fds, std::size_t count, char* result, std::size_t bytes, std::size_t piece) {
    constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    std::vector<std::size_t> got(count + 1, 0);
    std::vector<std::size_t> sent(count, 0);
    got[0] = bytes;
    int looks = most_looks;
    for (bool is_over = false; !is_over;) {
        is_over = true;
        bool has_moved = false;
        for (std::size_t i = 0; i < count; ++i) {
            if (sent[i] < count * bytes) {
                const std::size_t nth = sent[i] / bytes;
                const std::size_t part = nth <= i ? nth : nth + 1;  // nobody is sent its own
                const std::size_t offset = sent[i] % bytes;
                const std::size_t wanted = std::min(piece, bytes - offset);
                const ssize_t moved = got[part] - offset < wanted
                                          ? 0
                                          : ::send(fds[i], result + part * bytes + offset, wanted, flags);
                if (moved > 0) {
                    sent[i] += static_cast<std::size_t>(moved);
                    has_moved = true;
                }
            }
            std::size_t& here = got[i + 1];
            if (here < bytes) {
                const ssize_t moved =
                    ::recv(fds[i], result + (i + 1) * bytes + here, std::min(piece, bytes - here), flags);
                if (moved == 0) return;
                if (moved > 0) {
                    here += static_cast<std::size_t>(moved);
                    has_moved = true;
                }
            }
            is_over = is_over && here == bytes && sent[i] == count * bytes;
        }
        if (has_moved) looks = 0;
        else if (++looks > most_looks) ::sched_yield();
    }
}

}  // namespace

extern "C" void relay_all(const int* fds, int count, char* result, const char* own, std::size_t bytes,
                          std::size_t piece, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        std::memcpy(result, own, bytes);
        relay_once(fds, static_cast<std::size_t>(count), result, bytes, piece);
    }
}

// `rounds` times the same, and one copy of this rank's own bytes, where the result wants them, too. `yields`:
// offers the processor as soon as nothing moves.
extern "C" void move_all(const Flow* flows, int count, std::size_t piece, int yields, char* own_to,
                         const char* own_from, std::size_t own_bytes, int rounds) {
    constexpr std::size_t bite =
        1024;  // longer ones fall to string instructions, slow where the alignments differ
    const std::vector<Flow> plan(flows, flows + count);
    for (int round = 0; round < rounds; ++round) {
        move_once(plan, piece, yields != 0);
        for (std::size_t done = 0; done < own_bytes; done += bite)
            std::memcpy(own_to + done, own_from + done, std::min(bite, own_bytes - done));
    }
}

extern "C" void ping_pong(int fd, int is_first, int yields, int rounds) {
    char byte = 0;
    const Flow out{fd, &byte, nullptr, 1, 0};
    const Flow in{fd, nullptr, &byte, 0, 1};
    for (int round = 0; round < rounds; ++round) {
        move_once({is_first != 0 ? out : in}, 1, yields != 0);
        move_once({is_first != 0 ? in : out}, 1, yields != 0);
    }
}

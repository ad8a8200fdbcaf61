#include "tcp/digest.hpp"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace cobre::tcp {

namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t word_at(const std::byte* bytes) noexcept {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i) word = word << 8 | std::to_integer<std::uint32_t>(bytes[i]);
    return word;
}

}  // namespace

void Sha256::add(std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
        const std::size_t used = length_ % block_.size();
        const std::size_t taken = std::min(block_.size() - used, bytes.size());
        std::copy_n(bytes.begin(), taken, block_.begin() + static_cast<std::ptrdiff_t>(used));
        length_ += taken;
        bytes = bytes.subspan(taken);
        if (used + taken == block_.size()) compress(block_.data());
    }
}

Digest Sha256::finish() noexcept {
    const std::uint64_t bits = 8 * length_;
    const std::byte one{0x80};
    const std::byte zero{0};
    add({&one, 1});
    while (length_ % block_.size() != 56) add({&zero, 1});
    std::array<std::byte, 8> tail;
    for (std::size_t i = 0; i < 8; ++i) tail[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
    add(tail);
    Digest digest;
    for (std::size_t i = 0; i < digest.size(); ++i)
        digest[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

void Sha256::compress(const std::byte* block) noexcept {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i) w[i] = word_at(block + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
        const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
        const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> mixed = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < mixed.size(); ++i) state_[i] += mixed[i];
}

Hmac::Hmac(std::span<const std::byte> key) noexcept {
    std::array<std::byte, 64> padded = {};
    if (key.size() > padded.size()) {
        Sha256 shortened;
        shortened.add(key);
        const Digest digest = shortened.finish();
        std::copy(digest.begin(), digest.end(), padded.begin());
    } else {
        std::copy(key.begin(), key.end(), padded.begin());
    }
    std::array<std::byte, 64> inner_pad;
    for (std::size_t i = 0; i < padded.size(); ++i) {
        inner_pad[i] = padded[i] ^ std::byte{0x36};
        outer_pad_[i] = padded[i] ^ std::byte{0x5c};
    }
    inner_.add(inner_pad);
}

Hmac& Hmac::add(std::span<const std::byte> bytes) noexcept {
    inner_.add(bytes);
    return *this;
}

Digest Hmac::finish() noexcept {
    Sha256 outer;
    outer.add(outer_pad_);
    outer.add(inner_.finish());
    return outer.finish();
}

bool are_equal(const Digest& a, const Digest& b) noexcept {
    std::byte difference{0};
    for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
    return difference == std::byte{0};
}

Nonce fresh_nonce() {
    Nonce nonce;
    std::size_t filled = 0;
    while (filled < nonce.size()) {
        const ssize_t count = ::getrandom(nonce.data() + filled, nonce.size() - filled, 0);
        if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
        if (count > 0) filled += static_cast<std::size_t>(count);
    }
    return nonce;
}

}  // namespace cobre::tcp

// SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104), and what a challenge needs besides.
//
// Written here because the core depends on no cryptographic library, and a start-up hashes a few hundred bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cobre::tcp {

using Digest = std::array<std::byte, 32>;
using Nonce = std::array<std::byte, 32>;

class Sha256 {
public:
    void add(std::span<const std::byte> bytes) noexcept;
    Digest finish() noexcept;

private:
    void compress(const std::byte* block) noexcept;

    std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::byte, 64> block_ = {};
    std::uint64_t length_ = 0;
};

class Hmac {
public:
    explicit Hmac(std::span<const std::byte> key) noexcept;
    Hmac& add(std::span<const std::byte> bytes) noexcept;
    Digest finish() noexcept;

private:
    std::array<std::byte, 64> outer_pad_ = {};
    Sha256 inner_;
};

// Takes the same time wherever the first difference is, so that a refusal reveals nothing about the secret.
bool are_equal(const Digest& a, const Digest& b) noexcept;

// From the kernel's generator; throws std::system_error if it has none.
Nonce fresh_nonce();

}  // namespace cobre::tcp

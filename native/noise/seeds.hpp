// Where every random stream starts: a hash of indices, never a stream that a process carries along.
//
// SipHash-1-3 with keys 0/0 over the little-endian bytes of the arguments in the order given. The layouts
// differ in length (16, 12, 20, 21 and 9 bytes and a name) or first byte, and the length is part of the hash, so
// that one kind of seed never meets another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cobre::noise {

std::uint64_t siphash13(std::span<const std::byte> message) noexcept;

// One opening of one stage of the tree.
std::uint64_t opening_seed(std::uint64_t base, std::uint32_t opening, std::uint32_t stage_id) noexcept;
// All openings of one stage together, for methods that spread them.
std::uint64_t stage_seed(std::uint64_t base, std::uint32_t stage_id) noexcept;
// Which opening a trajectory meets at a stage.
std::uint64_t forward_seed(std::uint64_t base, std::uint32_t iteration, std::uint32_t scenario,
                           std::uint32_t stage) noexcept;
// Fresh noise of a trajectory for all stages of a noise group. Its message begins with the byte 1.
std::uint64_t grouped_forward_seed(std::uint64_t base, std::uint32_t iteration, std::uint32_t scenario,
                                   std::uint32_t group) noexcept;
// The seed of one class of entities, so that classes drawn alike do not get the same noise. The message is the
// byte 2, the seed, and the name, of at most 8 letters.
std::uint64_t class_seed(std::uint64_t base, std::string_view name) noexcept;

}  // namespace cobre::noise

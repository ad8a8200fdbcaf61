// Our own copy loops: glibc's memcpy uses "rep movsb" for large blocks, which on recent AMD processors is an order
// of magnitude slower when the two addresses differ by 16 bytes modulo a page, as large NumPy arrays do.
#pragma once

#include <cstddef>

namespace cobre::shm {

// The result is wanted in the cache: somebody reads it next.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

// The result is larger than any cache: written around it, without first reading what is overwritten.
void copy_bytes_around_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace cobre::shm

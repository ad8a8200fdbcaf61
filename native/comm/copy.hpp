// Our own copy loops: glibc's memcpy uses "rep movsb" for large blocks, which on recent AMD processors is an order
// of magnitude slower when the two addresses differ by 16 bytes modulo a page, as large NumPy arrays do.
#pragma once

#include <cstddef>

namespace cobre::comm {

// Without `around_cache` the copy stays in the cache of this core, where it is read next. Around it nothing
// is read before it is overwritten, which pays for what is larger than the cache and for a reader that has
// another.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes, bool around_cache = false) noexcept;

// The same bytes to two places, read once.
void copy_to_both(std::byte* to, std::byte* also_to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace cobre::comm

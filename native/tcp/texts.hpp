// Text for the messages of this backend.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cobre::tcp {

// Of one text on the wire, in bytes.
constexpr std::size_t longest_text = 2000;

// Text from another program: shortened, made valid UTF-8, and without control characters.
std::string printable(std::string_view text);

// "rank 1, rank 4", each followed by `remark`; "ranks 1-4, 7-20" if there are many. In ascending order.
std::string names_of(std::span<const int> ranks, std::string_view remark = {});

}  // namespace cobre::tcp

// What the messages of this backend are made of.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cobre::tcp {

// Of one text on the wire, in bytes.
constexpr std::size_t longest_text = 2000;

// Somebody else's words: shortened, UTF-8 whatever they were, and nothing in them that a terminal would obey.
std::string printable(std::string_view text);

std::string seconds_text(double seconds);

// "rank 1, rank 4", each followed by `remark`; "ranks 1-4, 7-20" if there are many. In ascending order.
std::string names_of(std::span<const int> ranks, std::string_view remark = {});

}  // namespace cobre::tcp

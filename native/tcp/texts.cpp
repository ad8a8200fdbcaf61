#include "tcp/texts.hpp"

namespace cobre::tcp {

namespace {

// With more than these a list becomes hard to read, and with hundreds too long for a frame.
constexpr std::size_t most_named_singly = 8;

// How many bytes the character at the front has; 0 if they are no UTF-8, as Python understands it.
std::size_t character_bytes(std::string_view text) noexcept {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = at(0);
    if (first < 0x80) return 1;
    const std::size_t bytes = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (bytes == 0 || bytes > text.size()) return 0;
    for (std::size_t i = 1; i < bytes; ++i)
        if ((at(i) & 0xC0) != 0x80) return 0;
    const bool is_overlong = (first == 0xE0 && at(1) < 0xA0) || (first == 0xF0 && at(1) < 0x90);
    const bool is_no_character = (first == 0xED && at(1) >= 0xA0) || (first == 0xF4 && at(1) >= 0x90);
    return is_overlong || is_no_character ? 0 : bytes;
}

bool is_control(std::string_view character) noexcept {
    const auto first = static_cast<unsigned char>(character[0]);
    return first < 0x20 || first == 0x7F || (first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0);
}

}  // namespace

std::string printable(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        const std::size_t bytes = character_bytes(text);
        const std::string_view character = bytes == 0 ? "?" : text.substr(0, bytes);
        if (shown.size() + character.size() > longest_text) break;
        shown += is_control(character) ? " " : character;
        text.remove_prefix(bytes == 0 ? 1 : bytes);
    }
    return shown;
}

std::string names_of(std::span<const int> ranks, std::string_view remark) {
    std::string list;
    if (ranks.size() <= most_named_singly) {
        for (const int rank : ranks)
            (list += list.empty() ? "rank " : ", rank ").append(std::to_string(rank)).append(remark);
        return list;
    }
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        list.append(list.empty() ? "ranks " : ", ").append(std::to_string(ranks[i]));
        if (last > i) list.append("-").append(std::to_string(ranks[last]));
        i = last + 1;
    }
    return list.append(remark);
}

}  // namespace cobre::tcp

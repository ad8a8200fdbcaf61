#include "noise/seeds.hpp"

#include <array>
#include <bit>

namespace cobre::noise {

namespace {

struct SipState {
    std::uint64_t v0 = 0x736f6d6570736575;
    std::uint64_t v1 = 0x646f72616e646f6d;
    std::uint64_t v2 = 0x6c7967656e657261;
    std::uint64_t v3 = 0x7465646279746573;

    void round() noexcept {
        v0 += v1;
        v2 += v3;
        v1 = std::rotl(v1, 13) ^ v0;
        v3 = std::rotl(v3, 16) ^ v2;
        v0 = std::rotl(v0, 32);
        v2 += v1;
        v0 += v3;
        v1 = std::rotl(v1, 17) ^ v2;
        v3 = std::rotl(v3, 21) ^ v0;
        v2 = std::rotl(v2, 32);
    }

    void take(std::uint64_t word) noexcept {
        v3 ^= word;
        round();
        v0 ^= word;
    }
};

std::uint64_t read_word(std::span<const std::byte> bytes) noexcept {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) word |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    return word;
}

// The bytes of a message, put together without depending on how this machine orders them.
class Message {
public:
    template <class Word>
    void append(Word word) noexcept {
        for (std::size_t i = 0; i < sizeof word; ++i) {
            bytes_[size_++] = static_cast<std::byte>(static_cast<std::uint64_t>(word) >> (8 * i));
        }
    }
    std::uint64_t hash() const noexcept { return siphash13({bytes_.data(), size_}); }

private:
    std::array<std::byte, 24> bytes_{};
    std::size_t size_ = 0;
};

template <class... Words>
std::uint64_t hash_of(Words... words) noexcept {
    Message message;
    (message.append(words), ...);
    return message.hash();
}

}  // namespace

std::uint64_t siphash13(std::span<const std::byte> message) noexcept {
    SipState state;
    const std::size_t whole = message.size() / 8 * 8;
    for (std::size_t at = 0; at < whole; at += 8) state.take(read_word(message.subspan(at, 8)));
    state.take(read_word(message.subspan(whole)) | static_cast<std::uint64_t>(message.size()) << 56);
    state.v2 ^= 0xff;
    for (int i = 0; i < 3; ++i) state.round();
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

std::uint64_t opening_seed(std::uint64_t base, std::uint32_t opening, std::uint32_t stage_id) noexcept {
    return hash_of(base, opening, stage_id);
}

std::uint64_t stage_seed(std::uint64_t base, std::uint32_t stage_id) noexcept { return hash_of(base, stage_id); }

std::uint64_t forward_seed(std::uint64_t base, std::uint32_t iteration, std::uint32_t scenario,
                           std::uint32_t stage) noexcept {
    return hash_of(base, iteration, scenario, stage);
}

std::uint64_t grouped_forward_seed(std::uint64_t base, std::uint32_t iteration, std::uint32_t scenario,
                                   std::uint32_t group) noexcept {
    return hash_of(std::uint8_t{1}, base, iteration, scenario, group);
}

std::uint64_t class_seed(std::uint64_t base, std::string_view name) noexcept {
    Message message;
    message.append(std::uint8_t{2});
    message.append(base);
    for (const char letter : name) message.append(static_cast<std::uint8_t>(letter));
    return message.hash();
}

}  // namespace cobre::noise

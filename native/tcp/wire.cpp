#include "tcp/wire.hpp"

#include <algorithm>

#include "tcp/texts.hpp"

namespace cobre::tcp {

std::string frame(Tag tag, std::string_view payload) {
    std::string bytes(header_bytes, '\0');
    put_header(reinterpret_cast<std::byte*>(bytes.data()), tag, payload.size());
    return bytes.append(payload);
}

std::string failure_frame(const comm::Failure& failure) {
    return frame(Tag::failure, printable(failure.text) + '\0' + printable(failure.fix));
}

comm::Failure failure_from(std::span<const std::byte> payload) {
    const std::string_view all(reinterpret_cast<const char*>(payload.data()), payload.size());
    const std::size_t end = std::min(all.find('\0'), all.size());
    return {printable(all.substr(0, end)), printable(all.substr(std::min(end + 1, all.size())))};
}

}  // namespace cobre::tcp

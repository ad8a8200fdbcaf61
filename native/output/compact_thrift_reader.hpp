// Reads what compact_thrift.hpp writes, field by field as it was written, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cobre::output {

// Thrown where bytes are not what the writer writes.
struct Foreign {};

inline void require(bool is_met) {
    if (!is_met) throw Foreign();
}

// Bytes that are taken from the front; it never looks behind their end.
class Bytes {
public:
    explicit Bytes(std::string_view bytes) : rest_(bytes) {}

    std::string_view take(std::size_t n) {
        require(n <= rest_.size());
        const std::string_view found = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return found;
    }
    std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 63; shift += 7) {
            const std::uint64_t next = byte();
            value |= (next & 0x7F) << shift;
            if ((next & 0x80) == 0) return value;
        }
        throw Foreign();
    }
    std::size_t size() { return static_cast<std::size_t>(varint()); }
    std::string_view text() { return take(size()); }
    std::int64_t integer() {
        const std::uint64_t value = varint();
        return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
    }
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
};

// A struct whose fields are known beforehand, with their ids and types: the counterpart of `ThriftStruct`.
class Fields {
public:
    explicit Fields(Bytes& bytes) : bytes_(bytes) {}

    std::int64_t i32(int id) { return field(id, 5), bytes_.integer(); }
    std::int64_t i64(int id) { return field(id, 6), bytes_.integer(); }
    void i32(int id, std::int64_t expected) { require(i32(id) == expected); }
    void i64(int id, std::size_t expected) { require(i64(id) == static_cast<std::int64_t>(expected)); }
    std::size_t count(int id) {
        const std::int64_t value = i64(id);
        require(value >= 0);
        return static_cast<std::size_t>(value);
    }
    std::string_view text(int id) { return field(id, 8), bytes_.text(); }
    Fields record(int id) { return field(id, 12), Fields(bytes_); }
    std::size_t list(int id, std::uint8_t type) {
        field(id, 9);
        const std::uint8_t head = bytes_.byte();
        require((head & 0x0F) == type);
        return head >> 4 == 15 ? bytes_.size() : head >> 4;
    }
    void end() { require(bytes_.byte() == 0); }

private:
    void field(int id, int type) {
        require(bytes_.byte() == ((id - last_) << 4 | type));
        last_ = id;
    }

    Bytes& bytes_;
    int last_ = 0;
};

}  // namespace cobre::output

// Thrift's compact protocol, as much of it as the metadata of a Parquet file needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cobre::output {

inline void append_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
}

// A struct that is appended field by field, in the order of their ids; `end` closes it.
class ThriftStruct {
public:
    enum class Element : std::uint8_t { i32 = 5, binary = 8, record = 12 };

    explicit ThriftStruct(std::string& out) : out_(out) {}

    void i32(int id, std::int64_t value) { integer(id, 5, value); }
    void i64(int id, std::int64_t value) { integer(id, 6, value); }
    void text(int id, std::string_view value) {
        field(id, 8);
        append_text(value);
    }
    // Its fields follow, up to its own `end`.
    ThriftStruct record(int id) {
        field(id, 12);
        return ThriftStruct(out_);
    }
    // Its elements follow, each by one of the next three.
    void list(int id, Element element, std::size_t size) {
        field(id, 9);
        const auto type = static_cast<std::uint8_t>(element);
        if (size < 15) {
            out_.push_back(static_cast<char>(size << 4 | type));
        } else {
            out_.push_back(static_cast<char>(0xF0 | type));
            append_varint(out_, size);
        }
    }
    void append_i32(std::int64_t value) { append_varint(out_, zigzag(value)); }
    void append_text(std::string_view value) {
        append_varint(out_, value.size());
        out_.append(value);
    }
    ThriftStruct append_record() { return ThriftStruct(out_); }

    void end() { out_.push_back('\0'); }

private:
    static std::uint64_t zigzag(std::int64_t value) {
        return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
    }
    void field(int id, int type) {
        out_.push_back(static_cast<char>((id - last_) << 4 | type));  // ids here are never 16 apart
        last_ = id;
    }
    void integer(int id, int type, std::int64_t value) {
        field(id, type);
        append_varint(out_, zigzag(value));
    }

    std::string& out_;
    int last_ = 0;
};

}  // namespace cobre::output

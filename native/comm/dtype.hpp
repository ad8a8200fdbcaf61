// Element types as the core sees them: no Python, no NumPy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cobre::comm {

enum class Kind : std::uint8_t { boolean, signed_int, unsigned_int, floating, complex, record };

// Two buffers have the same type exactly when their DTypes compare equal.
struct DType {
    Kind kind = Kind::unsigned_int;
    bool swapped = false;  // byte order differs from this machine's
    std::uint32_t itemsize = 1;
    std::uint64_t layout = 0;  // records: hash of field names, offsets and types; 0 otherwise

    friend bool operator==(const DType&, const DType&) = default;
};

// What a person calls it: "float64", "byte-swapped int32", "record of 24 bytes".
std::string name_of(const DType& dtype);

// Whether `allreduce` can fold it with SUM; complex numbers have no order, so not with MIN or MAX.
bool is_summable(const DType& dtype) noexcept;

}  // namespace cobre::comm

#include "comm/dtype.hpp"

#include <algorithm>
#include <initializer_list>

namespace cobre::comm {

namespace {

const char* word_for(Kind kind) noexcept {
    switch (kind) {
        case Kind::boolean: return "bool";
        case Kind::signed_int: return "int";
        case Kind::unsigned_int: return "uint";
        case Kind::floating: return "float";
        case Kind::complex: return "complex";
        case Kind::record: break;
    }
    return "record";
}

bool is_one_of(std::uint32_t width, std::initializer_list<std::uint32_t> widths) noexcept {
    return std::find(widths.begin(), widths.end(), width) != widths.end();
}

}  // namespace

std::string name_of(const DType& dtype) {
    if (dtype.kind == Kind::boolean) return "bool";
    if (dtype.kind == Kind::record) return "record of " + std::to_string(dtype.itemsize) + " bytes";
    const std::string order = dtype.swapped ? "byte-swapped " : "";
    return order + word_for(dtype.kind) + std::to_string(8 * dtype.itemsize);
}

bool is_summable(const DType& dtype) noexcept {
    if (dtype.swapped) return false;
    switch (dtype.kind) {
        case Kind::boolean: return true;
        case Kind::signed_int:
        case Kind::unsigned_int: return is_one_of(dtype.itemsize, {1, 2, 4, 8});
        case Kind::floating: return is_one_of(dtype.itemsize, {2, 4, 8});
        case Kind::complex: return is_one_of(dtype.itemsize, {8, 16});
        case Kind::record: return false;
    }
    return false;
}

}  // namespace cobre::comm

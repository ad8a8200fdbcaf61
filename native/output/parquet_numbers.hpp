// Numbers of the Parquet format: physical types, encodings, kinds of pages, types of converted values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cobre::output {

enum : std::int64_t { BOOLEAN = 0, INT32 = 1, DOUBLE = 5 };
enum : std::int64_t { PLAIN = 0, RLE = 3, RLE_DICTIONARY = 8 };
enum : std::int64_t { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };

// The last fields of a page header: `Record` writes them, or reads and compares them.
template <class Record>
void page_encodings(Record& detail, std::int64_t kind, std::int64_t encoding) {
    detail.i32(2, encoding);
    if (kind == DATA_PAGE) {
        detail.i32(3, RLE);
        detail.i32(4, RLE);
    }
    detail.end();
}
enum : std::int64_t { DATE = 6, INT_8 = 15, INT_32 = 17 };
enum : std::int64_t { REQUIRED = 0, OPTIONAL = 1 };
enum : std::int64_t { UNCOMPRESSED = 0 };

inline constexpr std::size_t largest_dictionary = 4096;

}  // namespace cobre::output

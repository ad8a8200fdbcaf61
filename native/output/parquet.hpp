// Parquet files of one row group with flat columns of numbers, for tables that are written many times a second.
//
// Arrow's writer takes 0.3 to 1 ms for a table of some dozen rows, which is more than a stage takes to solve. This
// one takes some 10 us: no compression and no statistics, but columns of one value, and others where it pays, have
// a dictionary. Any reader of Parquet reads the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace cobre::output {

using Values = std::variant<std::span<const double>, std::span<const std::int32_t>, std::span<const std::uint8_t>>;

struct Column {
    std::string name;
    bool is_nullable = false;
    // Of integers: 8 or 32, as the schema of the file says. Bytes are true or false.
    int bits = 32;
};

// One column chunk: its pages as they are in the file, and what the footer says of them.
struct Pages {
    std::size_t rows = 0;
    std::size_t bytes = 0;
    std::size_t dictionary_bytes = 0;  // 0: no dictionary
};

enum class Effort : std::uint8_t { constant_only, dictionary };

// Appends the pages of a column. Where `is_valid` is 0 there is no value; only nullable columns may have such
// rows.
Pages append_pages(std::string& out, const Column& column, const Values& values,
                   std::optional<std::span<const std::uint8_t>> is_valid, Effort effort);

// The first bytes of every file.
inline constexpr std::string_view magic = "PAR1";

// Appends what comes behind the pages of all columns, which follow each other from the fifth byte on.
void append_footer(std::string& out, std::span<const Column> columns, std::span<const Values> values,
                   std::span<const Pages> pages, std::size_t rows);

}  // namespace cobre::output

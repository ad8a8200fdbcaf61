// One Parquet file per scenario: FOLDER/scenario_id=NNNN/data.parquet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "output/parquet.hpp"

namespace cobre::output {

// A file that cannot be written, and why.
class FileError : public std::system_error {
public:
    FileError(int code, std::string path)
        : std::system_error(code, std::generic_category()), path_(std::move(path)) {}
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

// The rows of one table for some consecutive scenarios. Values are not copied: they must outlive the table.
class ScenarioTable {
public:
    ScenarioTable(std::size_t scenarios, std::size_t rows) : scenarios_(scenarios), rows_(rows) {}

    // Values and marks of all scenarios, one scenario after the other; or the rows that all of them have. The
    // bytes of a file depend on which of the two it is, so it must not depend on how scenarios are split.
    void add(Column column, Values values, std::optional<std::span<const std::uint8_t>> is_valid);
    void add_fixed(Column column, Values values, std::optional<std::span<const std::uint8_t>> is_valid);

    // Writes the files of the scenarios from number `first` on; each appears whole or not at all.
    void write(const std::string& folder, std::size_t first) const;

private:
    struct Rows {
        Values values;
        std::optional<std::span<const std::uint8_t>> is_valid;
    };
    struct Fixed {
        std::string bytes;
        Pages pages;
    };

    Rows rows_of(std::size_t column, std::size_t scenario) const;
    void add(Column column, Rows rows, std::size_t expected);

    std::size_t scenarios_;
    std::size_t rows_;
    std::vector<Column> columns_;
    std::vector<Rows> all_;
    std::vector<std::optional<Fixed>> fixed_;  // pages that every file has, made once
};

}  // namespace cobre::output

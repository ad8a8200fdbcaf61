// Reads columns of doubles back from files that parquet.cpp has written, and from no others.
//
// A Parquet file may be made in a thousand ways; these are made in one. The reader expects exactly that, byte for
// byte where the format has a choice, and refuses everything else: files of other programs and damaged files alike
// are left to Arrow, which reads the whole format and reports errors.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cobre::output {

// Reads columns of the files of all scenarios, whose rows are told apart by the same keys. Threads may share one.
class ScenarioReader {
public:
    // The file of the scenario with which all others are compared, the columns that tell its rows apart, and those
    // that are read.
    ScenarioReader(const std::string& first, std::vector<std::string> keys, std::vector<std::string> columns);

    // Whether the first file is one of ours.
    bool is_usable() const noexcept { return is_usable_; }
    std::size_t rows() const noexcept { return rows_; }
    std::size_t columns() const noexcept { return columns_.size(); }

    // The columns of a file into `values`, `rows()` each. False if the file cannot be read, is not one of ours, or
    // has other rows or keys than the first; `values` may then hold anything.
    bool read(const std::string& path, std::span<const std::span<double>> values) const;

private:
    std::vector<std::string> keys_;
    std::vector<std::string> columns_;
    std::vector<std::string> key_pages_;  // of the first file
    std::size_t rows_ = 0;
    bool is_usable_ = false;
};

}  // namespace cobre::output

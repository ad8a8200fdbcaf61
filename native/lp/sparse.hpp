// Sparse vectors, one after the other: the rows of a matrix, or its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cobre::lp {

inline std::size_t at_index(std::int32_t index) noexcept { return static_cast<std::size_t>(index); }

struct Entry {
    std::int32_t index;
    double value;
};

class SparseLines {
public:
    std::size_t size() const noexcept { return starts_.size() - 1; }
    const Entry* begin(std::size_t line) const noexcept { return entries_.data() + starts_[line]; }
    const Entry* end(std::size_t line) const noexcept { return entries_.data() + starts_[line + 1]; }

    std::size_t length(std::size_t line) const noexcept { return starts_[line + 1] - starts_[line]; }

    void add(std::int32_t index, double value) { entries_.push_back({index, value}); }
    void close_line() { starts_.push_back(entries_.size()); }
    // Lines of `n` indices each become columns of this.
    SparseLines transposed(std::size_t n) const;

private:
    std::vector<std::size_t> starts_{0};
    std::vector<Entry> entries_;
};

}  // namespace cobre::lp

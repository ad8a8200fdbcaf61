#include "output/scenario_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace cobre::output {

namespace {

std::size_t size_of(const Values& values) {
    return std::visit([](const auto& span) { return span.size(); }, values);
}

std::string folder_name(std::size_t scenario) {
    std::string digits = std::to_string(scenario);
    if (digits.size() < 4) digits.insert(0, 4 - digits.size(), '0');
    return "/scenario_id=" + digits;
}

bool write_all(int descriptor, std::string_view data) {
    while (!data.empty()) {
        const ssize_t n = ::write(descriptor, data.data(), data.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        data.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

void write_file(const std::string& folder, std::string_view data) {
    const std::string path = folder + "/data.parquet", unfinished = folder + "/.data.parquet";
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) throw FileError(errno, folder);
    const int descriptor = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) throw FileError(errno, path);
    bool is_written = write_all(descriptor, data);
    int code = errno;
    if (::close(descriptor) != 0 && is_written) {
        code = errno;
        is_written = false;
    }
    if (is_written && ::rename(unfinished.c_str(), path.c_str()) != 0) {
        code = errno;
        is_written = false;
    }
    if (is_written) return;
    static_cast<void>(::unlink(unfinished.c_str()));
    throw FileError(code, path);
}

}  // namespace

void ScenarioTable::add(Column column, Rows rows, std::size_t expected) {
    if (size_of(rows.values) != expected) throw std::invalid_argument("a column has another number of rows");
    if (rows.is_valid && (rows.is_valid->size() != expected || !column.is_nullable)) {
        throw std::invalid_argument("marks must be those of a nullable column, one per value");
    }
    columns_.push_back(std::move(column));
    all_.push_back(rows);
    fixed_.emplace_back();
}

void ScenarioTable::add(Column column, Values values, std::optional<std::span<const std::uint8_t>> is_valid) {
    add(std::move(column), {values, is_valid}, rows_ * scenarios_);
}

void ScenarioTable::add_fixed(Column column, Values values,
                              std::optional<std::span<const std::uint8_t>> is_valid) {
    add(std::move(column), {values, is_valid}, rows_);
    Fixed& fixed = fixed_.back().emplace();
    fixed.pages = append_pages(fixed.bytes, columns_.back(), values, is_valid, Effort::dictionary);
}

ScenarioTable::Rows ScenarioTable::rows_of(std::size_t column, std::size_t scenario) const {
    const std::size_t first = scenario * rows_;
    Rows rows = all_[column];
    std::visit([&](auto& span) { span = span.subspan(first, rows_); }, rows.values);
    if (rows.is_valid) rows.is_valid = rows.is_valid->subspan(first, rows_);
    return rows;
}

void ScenarioTable::write(const std::string& folder, std::size_t first) const {
    if (rows_ == 0) return;  // a table without rows has no file
    std::vector<Values> values;
    for (const Rows& rows : all_) values.push_back(rows.values);
    std::vector<Pages> pages(columns_.size());
    std::string file;
    for (std::size_t scenario = 0; scenario < scenarios_; ++scenario) {
        file.assign(magic);
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (fixed_[i]) {
                pages[i] = fixed_[i]->pages;
                file.append(fixed_[i]->bytes);
            } else {
                const Rows rows = rows_of(i, scenario);
                pages[i] = append_pages(file, columns_[i], rows.values, rows.is_valid, Effort::constant_only);
            }
        }
        append_footer(file, columns_, values, pages, rows_);
        write_file(folder + folder_name(first + scenario), file);
    }
}

}  // namespace cobre::output

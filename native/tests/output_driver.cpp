// Writes tables of every kind of column without Python and reads them back, whole and damaged, so that sanitizers
// see all of it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "output/own_file.hpp"
#include "output/ranks.hpp"
#include "output/scenario_files.hpp"
#include "report.hpp"

namespace {

using namespace cobre::output;
using cobre::tests::Report;

// Where row `i` of all has a value, `values[i]` must be it.
bool is_same(std::span<const double> found, std::span<const double> values, const std::uint8_t* marks) {
    for (std::size_t i = 0; i < found.size(); ++i) {
        const bool has_value = marks == nullptr || marks[i] != 0;
        if (has_value ? found[i] != values[i] : !std::isnan(found[i])) return false;
    }
    return true;
}

// Bytes of a file of the table are changed and cut off; whatever they say, reading must end well.
void read_damaged(Report& report, const ScenarioReader& reader, const std::string& path,
                  std::span<const std::span<double>> out) {
    std::ifstream file(path, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    std::size_t refused = 0;
    for (std::size_t place = 0; place < whole.size(); ++place) {
        for (const int change : {0x01, 0x80, 0xFF}) {
            const char byte = static_cast<char>(whole[place] ^ change);
            report.expect(::pwrite(descriptor, &byte, 1, static_cast<off_t>(place)) == 1, "a byte is changed");
            refused += !reader.read(path, out);
        }
        report.expect(::pwrite(descriptor, &whole[place], 1, static_cast<off_t>(place)) == 1, "and back");
    }
    report.expect(refused > whole.size(), "what is not as the writer writes it is refused");
    report.expect(reader.read(path, out), "the file is whole again");
    for (std::size_t length = whole.size(); length-- > 0;) {
        report.expect(::ftruncate(descriptor, static_cast<off_t>(length)) == 0, "a file is cut");
        report.expect(!reader.read(path, out), "and refused");
    }
    ::close(descriptor);
}

void write_table(Report& report, const std::string& folder, std::size_t scenarios, std::size_t rows) {
    const std::size_t n = scenarios * rows;
    std::vector<double> floats(n), one_value(n, 2.5), fixed(rows);
    std::vector<std::int32_t> integers(n);
    std::vector<std::uint8_t> booleans(n), marks(n), no_marks(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        floats[i] = static_cast<double>(i) * 0.1;
        integers[i] = static_cast<std::int32_t>(i) - 3;
        booleans[i] = i % 3 == 0;
        marks[i] = i % 2 == 0;
    }
    for (std::size_t i = 0; i < rows; ++i) fixed[i] = static_cast<double>(i / 4);
    ScenarioTable table(scenarios, rows);
    table.add({"floats"}, floats, std::nullopt);
    table.add({"one_value"}, one_value, std::nullopt);
    table.add({"integers", true}, integers, marks);
    table.add({"codes", false, 8}, integers, std::nullopt);
    table.add({"booleans", true}, booleans, marks);
    table.add({"nothing", true}, floats, no_marks);
    table.add({"gaps", true}, floats, marks);
    table.add_fixed({"fixed"}, fixed, std::nullopt);
    table.write(folder, 9999);
    const std::string first = folder + "/scenario_id=9999/data.parquet";
    const ScenarioReader reader(first, {"fixed"}, {"floats", "one_value", "gaps", "nothing", "fixed"});
    report.expect(reader.is_usable() && reader.rows() == rows, "an own file is known");
    report.expect(!ScenarioReader(first, {}, {"integers"}).is_usable(), "integers are not read");
    std::vector<std::vector<double>> out(5, std::vector<double>(rows));
    const std::vector<std::span<double>> spans(out.begin(), out.end());
    for (std::size_t i = 0; i < scenarios; ++i) {
        const std::string path = folder + "/scenario_id=" + std::to_string(9999 + i) + "/data.parquet";
        report.expect(reader.read(path, spans), "an own file is read");
        const double* at = floats.data() + i * rows;
        report.expect(is_same(out[0], {at, rows}, nullptr), "numbers are read as written");
        report.expect(is_same(out[1], one_value, nullptr), "one value is read as written");
        report.expect(is_same(out[2], {at, rows}, marks.data() + i * rows), "gaps are read as written");
        report.expect(is_same(out[3], {at, rows}, no_marks.data()), "nothing is read as written");
        report.expect(is_same(out[4], fixed, nullptr), "a dictionary is read as written");
    }
    if (rows == 9) read_damaged(report, reader, folder + "/scenario_id=10000/data.parquet", spans);
    bool is_refused = false;
    try {
        table.add({"short"}, Values(std::span<const double>(floats).first(n - 1)), std::nullopt);
    } catch (const std::invalid_argument&) {
        is_refused = true;
    }
    report.expect(is_refused, "a column of another length is refused");
    for (std::size_t i = 0; i < scenarios; ++i) {
        const std::string name = folder + "/scenario_id=" + std::to_string(9999 + i);
        struct stat found{};
        report.expect(::stat((name + "/data.parquet").c_str(), &found) == 0 && (found.st_size > 100 || rows == 9),
                      "a file is there");
        report.expect(::unlink((name + "/data.parquet").c_str()) == 0 && ::rmdir(name.c_str()) == 0, "and alone");
    }
}

void check_failure(Report& report) {
    ScenarioTable table(1, 1);
    const std::vector<double> floats(1);
    table.add({"floats"}, floats, std::nullopt);
    bool is_named = false;
    try {
        table.write("/nowhere", 7);
    } catch (const FileError& error) {
        is_named = error.path() == "/nowhere/scenario_id=0007";
    }
    report.expect(is_named, "what cannot be written is named");
}

void check_ranks(Report& report) {
    constexpr std::size_t n = 300, places = 70;
    std::vector<double> values(n * places);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = std::exp(static_cast<double>(i * 7919 % 1009) / (static_cast<double>(i % places) + 1.0));
    }
    values[5] = std::numeric_limits<double>::quiet_NaN();
    values[6] = std::numeric_limits<double>::infinity();
    const std::vector<std::size_t> ranks = {0, 1, 1, 149, 298, 299};
    std::vector<double> found(places * ranks.size());
    values_at_ranks({values.data(), n, places, places}, ranks, found);
    for (std::size_t k = 0; k < places; ++k) {
        std::vector<double> column;
        for (std::size_t i = 0; i < n; ++i) column.push_back(values[i * places + k]);
        if (k != 5) std::sort(column.begin(), column.end());
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            const double value = found[k * ranks.size() + r];
            report.expect(k == 5 ? std::isnan(value) : value == column[ranks[r]],
                          "a rank is that of sorted values");
        }
    }
}

}  // namespace

int main() {
    Report report;
    char folder[] = "/tmp/cobre_output_driver_XXXXXX";
    if (::mkdtemp(folder) == nullptr) return 1;
    for (const std::size_t rows : {1, 7, 8, 9, 1000, 20000}) write_table(report, folder, 3, rows);
    report.expect(::rmdir(folder) == 0, "nothing is left");
    check_failure(report);
    check_ranks(report);
    return report.finish();
}

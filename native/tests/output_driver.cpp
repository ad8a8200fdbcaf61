// Writes tables of every kind of column without Python, so that sanitizers see all of it.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "output/scenario_files.hpp"
#include "report.hpp"

namespace {

using namespace cobre::output;
using cobre::tests::Report;

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
    table.add_fixed({"fixed"}, fixed, std::nullopt);
    table.write(folder, 9999);
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
        report.expect(::stat((name + "/data.parquet").c_str(), &found) == 0 && found.st_size > 100,
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

}  // namespace

int main() {
    Report report;
    char folder[] = "/tmp/cobre_output_driver_XXXXXX";
    if (::mkdtemp(folder) == nullptr) return 1;
    for (const std::size_t rows : {1, 7, 8, 9, 1000, 20000}) write_table(report, folder, 3, rows);
    report.expect(::rmdir(folder) == 0, "nothing is left");
    check_failure(report);
    return report.finish();
}

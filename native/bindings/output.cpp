// `_native.output`: the files of a simulation.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "bindings/comm.hpp"
#include "bindings/gil.hpp"
#include "output/own_file.hpp"
#include "output/ranks.hpp"
#include "output/scenario_files.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

template <class T>
using Array = nb::ndarray<nb::numpy, const T, nb::c_contig, nb::device::cpu>;
using Marks = std::optional<Array<std::uint8_t>>;

template <class T>
std::span<const T> span_of(const Array<T>& array) {
    return {array.data(), array.size()};
}

template <class T>
void add(output::ScenarioTable& table, output::Column column, const Array<T>& values, const Marks& is_valid) {
    std::optional<std::span<const std::uint8_t>> marks;
    if (is_valid) marks = span_of(*is_valid);
    const bool is_fixed = values.ndim() == 1;
    const WithoutGil unlocked;
    if (is_fixed) {
        table.add_fixed(std::move(column), span_of(values), marks);
    } else {
        table.add(std::move(column), span_of(values), marks);
    }
}

void write(const output::ScenarioTable& table, const std::string& folder, std::size_t first) {
    try {
        const WithoutGil unlocked;
        table.write(folder, first);
    } catch (const output::FileError& error) {
        errno = error.code().value();
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, error.path().c_str());
        throw nb::python_error();
    }
}

using Row = nb::ndarray<nb::numpy, double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

bool read(const output::ScenarioReader& reader, const std::string& path, const std::vector<Row>& values) {
    std::vector<std::span<double>> rows;
    rows.reserve(values.size());
    for (const Row& row : values) rows.emplace_back(row.data(), row.size());
    if (rows.size() != reader.columns()) throw nb::value_error("values must be one array per column");
    for (const std::span<double> row : rows) {
        if (row.size() != reader.rows()) throw nb::value_error("values must be one per row of the file");
    }
    const WithoutGil unlocked;
    return reader.read(path, rows);
}

using Matrix = nb::ndarray<nb::numpy, const double, nb::ndim<2>, nb::device::cpu>;
using Found = nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void values_at_ranks(const Matrix& values, const std::vector<std::size_t>& ranks, const Found& found) {
    if (found.shape(0) != values.shape(1) || found.shape(1) != ranks.size()) {
        throw nb::value_error("found must have a row per place and a column per rank");
    }
    const bool is_by_row = values.shape(1) <= 1 || values.stride(1) == 1;
    const bool is_apart = values.shape(0) <= 1 || values.stride(0) >= static_cast<std::int64_t>(values.shape(1));
    if (!is_by_row || !is_apart) throw nb::value_error("the places of a scenario must be side by side");
    for (std::size_t k = 0; k < ranks.size(); ++k) {
        if (ranks[k] >= values.shape(0) || (k > 0 && ranks[k] < ranks[k - 1])) {
            throw nb::value_error("ranks must ascend and be less than the number of scenarios");
        }
    }
    const output::Columns columns{values.data(), values.shape(0), values.shape(1),
                                  static_cast<std::size_t>(values.stride(0))};
    const WithoutGil unlocked;
    output::values_at_ranks(columns, ranks, {found.data(), found.size()});
}

}  // namespace

void bind_output(nb::module_& m) {
    nb::class_<output::ScenarioTable>(m, "ScenarioTable",
                                      "Rows of one table for some scenarios. The arrays must outlive it.")
        .def(nb::init<std::size_t, std::size_t>(), "scenarios"_a, "rows"_a)
        .def(
            "add_floats",
            [](output::ScenarioTable& table, std::string name, const Array<double>& values, const Marks& is_valid,
               bool is_nullable) { add(table, {std::move(name), is_nullable}, values, is_valid); },
            "name"_a, "values"_a.noconvert(), "is_valid"_a.none(), "is_nullable"_a, nb::keep_alive<1, 3>(),
            nb::keep_alive<1, 4>(), "A column [scenario, row], or [row] where all scenarios have the same.")
        .def(
            "add_integers",
            [](output::ScenarioTable& table, std::string name, const Array<std::int32_t>& values,
               const Marks& is_valid, bool is_nullable,
               int bits) { add(table, {std::move(name), is_nullable, bits}, values, is_valid); },
            "name"_a, "values"_a.noconvert(), "is_valid"_a.none(), "is_nullable"_a, "bits"_a,
            nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
            "Likewise, of 8 or 32 bits in the file; of 0 bits: dates, as days since 1970.")
        .def(
            "add_booleans",
            [](output::ScenarioTable& table, std::string name, const Array<std::uint8_t>& values,
               const Marks& is_valid,
               bool is_nullable) { add(table, {std::move(name), is_nullable}, values, is_valid); },
            "name"_a, "values"_a.noconvert(), "is_valid"_a.none(), "is_nullable"_a, nb::keep_alive<1, 3>(),
            nb::keep_alive<1, 4>(), "Likewise, of zeros and ones.")
        .def("write", &write, "folder"_a, "first"_a, "Write one file per scenario, numbered from `first` on.");
    nb::class_<output::ScenarioReader>(
        m, "ScenarioReader",
        "Reads columns of doubles from files that `ScenarioTable` has written; threads may share one.")
        .def(nb::init<const std::string&, std::vector<std::string>, std::vector<std::string>>(), "first"_a,
             "keys"_a, "columns"_a, "Of files whose columns `keys` are the same as in the file `first`.")
        .def_prop_ro("is_usable", &output::ScenarioReader::is_usable, "Whether `first` is such a file.")
        .def_prop_ro("rows", &output::ScenarioReader::rows, "Of each file.")
        .def("read", &read, "path"_a, "values"_a,
             "Fill `values`, an array per column; NaN is null. False, and anything in `values`, where the file "
             "cannot "
             "be read, has other rows or keys, or was not written, byte for byte, as `ScenarioTable` does.");
    m.def("values_at_ranks", &values_at_ranks, "values"_a.noconvert(), "ranks"_a, "found"_a.noconvert(),
          "Of `values` [scenario, place] what would be at `ranks` (ascending) of each place if its values were "
          "sorted, "
          "into `found` [place, rank]; NaN where a place has one.");
}

}  // namespace cobre::bindings

// `_native.output`: the files of a simulation.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cerrno>
#include <optional>
#include <string>

#include "bindings/comm.hpp"
#include "bindings/gil.hpp"
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
}

}  // namespace cobre::bindings

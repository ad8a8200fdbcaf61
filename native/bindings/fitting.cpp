// `_native.fitting`: what fitting inflow models needs of the core.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "bindings/comm.hpp"
#include "bindings/gil.hpp"
#include "fitting/elimination.hpp"
#include "fitting/pearson.hpp"
#include "noise/elementary.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

template <class T, std::size_t dimensions>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

}  // namespace

void bind_fitting(nb::module_& m) {
    m.def(
        "solve",
        [](const Array<double, 3>& matrices, const Array<double, 3>& right,
           const Array<std::uint8_t, 1>& is_singular) {
            const fitting::Systems systems{matrices.shape(0), matrices.shape(1), right.shape(2)};
            if (matrices.shape(2) != systems.unknowns || right.shape(0) != systems.count ||
                right.shape(1) != systems.unknowns || is_singular.shape(0) != systems.count) {
                throw nb::value_error("matrices (n, k, k), right sides (n, k, m) and marks (n) must agree");
            }
            const std::span a(matrices.data(), matrices.size());
            const std::span b(right.data(), right.size());
            const std::span marks(is_singular.data(), is_singular.size());
            const WithoutGil unlocked;
            fitting::solve(systems, a, b, marks);
        },
        "matrices"_a.noconvert(), "right"_a.noconvert(), "is_singular"_a.noconvert(),
        "Replace right sides by solutions; use up the matrices; mark what is singular.");
    m.def(
        "exponentials",
        [](const Array<double, 1>& values) {
            const std::span all(values.data(), values.size());
            const WithoutGil unlocked;
            for (double& value : all) value = noise::exponential(value);
        },
        "values"_a.noconvert(), "Replace every value by e to its power; each must lie within -700 and 700.");
    m.def(
        "pearson",
        [](const Array<const double, 2>& values, const Array<double, 2>& matrix,
           const Array<std::int64_t, 2>& common) {
            const std::size_t n = values.shape(0), dates = values.shape(1);
            if (matrix.shape(0) != n || matrix.shape(1) != n || common.shape(0) != n || common.shape(1) != n) {
                throw nb::value_error("matrix and common must be square with a row per series");
            }
            const std::span rows(values.data(), values.size());
            const std::span out(matrix.data(), matrix.size());
            const std::span counts(common.data(), common.size());
            const WithoutGil unlocked;
            fitting::pearson(rows, n, dates, out, counts);
        },
        "values"_a, "matrix"_a.noconvert(), "common"_a.noconvert(),
        "Fill correlations of pairs of rows and the number of dates that both have.");
}

}  // namespace cobre::bindings

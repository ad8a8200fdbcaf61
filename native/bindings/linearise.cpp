// `_native.lp.linearise`: cuts from what trial points cost.
#include "lp/linearise.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "bindings/lp.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Gradients = nb::ndarray<const double, nb::ndim<3>, nb::device::cpu>;
using RowsOut = nb::ndarray<double, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void linearise(const Rows& values, const Gradients& gradients, const Rows& weights, const Rows& states,
               const RowsOut& rows) {
    const std::size_t n = values.shape(0), k = values.shape(1), d = states.shape(1);
    const bool are_alike = gradients.shape(0) == n && gradients.shape(1) == k && gradients.shape(2) == d &&
                           (weights.shape(0) == n || weights.shape(0) == 1) && weights.shape(1) == k &&
                           states.shape(0) == n && rows.shape(0) == n && rows.shape(1) == 1 + d;
    if (!are_alike || k == 0)
        throw nb::value_error(
            "values (n, k), gradients (n, k, d), weights (n, k) or (1, k), states (n, d) and rows (n, 1 + d) must "
            "agree");
    // An axis of length 0 or 1 has any stride.
    const std::int64_t openings = static_cast<std::int64_t>(k);
    const std::int64_t stride = n > 1 ? gradients.stride(0) / openings : gradients.stride(1);
    const bool is_even = (n <= 1 || gradients.stride(0) == stride * openings) &&
                         (k <= 1 || gradients.stride(1) == stride) && (d <= 1 || gradients.stride(2) == 1);
    if (!is_even || stride < 0)
        throw nb::value_error("gradients of an opening must lie together, openings evenly apart");
    lp::linearise({n, k, d, values.data(), gradients.data(), static_cast<std::size_t>(stride), weights.data(),
                   weights.shape(0) == n ? k : 0, states.data()},
                  rows.data());
}

}  // namespace

void bind_linearise(nb::module_& m) {
    m.def("linearise", &linearise, "values"_a, "gradients"_a, "weights"_a, "states"_a, "rows"_a.noconvert(),
          "Fill rows with the intercept and coefficients of each point's cut.");
}

}  // namespace cobre::bindings

// `_native.noise`: the random recipe. Shapes are checked here; what the numbers mean is checked above.
#include "bindings/noise.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>

#include <string_view>

#include "bindings/comm.hpp"
#include "bindings/gil.hpp"
#include "noise/correlation.hpp"
#include "noise/elementary.hpp"
#include "noise/generator.hpp"
#include "noise/normal.hpp"
#include "noise/seeds.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

void bind_seeds(nb::module_& m) {
    m.def(
        "siphash13",
        [](nb::bytes message) {
            return noise::siphash13({static_cast<const std::byte*>(message.data()), message.size()});
        },
        "message"_a, "SipHash-1-3 with keys 0/0.");
    m.def("opening_seed", &noise::opening_seed, "base"_a, "opening"_a, "stage_id"_a);
    m.def("stage_seed", &noise::stage_seed, "base"_a, "stage_id"_a);
    m.def("forward_seed", &noise::forward_seed, "base"_a, "iteration"_a, "scenario"_a, "stage"_a);
    m.def("grouped_forward_seed", &noise::grouped_forward_seed, "base"_a, "iteration"_a, "scenario"_a, "group"_a);
    m.def(
        "class_seed",
        [](std::uint64_t base, std::string_view name) {
            if (name.size() > 8) throw nb::value_error("the name of a class has at most 8 letters");
            return noise::class_seed(base, name);
        },
        "base"_a, "name"_a);
}

void bind_generator(nb::module_& m) {
    using noise::Generator;
    nb::class_<Generator>(m, "Generator", "PCG64, seeded as Rust's `seed_from_u64` does.")
        .def(nb::init<std::uint64_t>(), "seed"_a)
        .def("next", &Generator::next, "The next 64 bits.")
        .def("uniform52", &Generator::uniform52)
        .def("uniform53", &Generator::uniform53)
        .def("open_uniform", &Generator::open_uniform)
        .def(
            "below",
            [](Generator& self, std::uint32_t n) {
                if (n == 0) throw nb::value_error("no number is below 0");
                return self.below(n);
            },
            "n"_a, "A whole number in 0 .. n - 1.")
        .def(
            "normals",
            [](Generator& self, const Array<double, 1>& out) {
                for (double& value : span_of(out)) value = noise::draw_normal(self);
            },
            "out"_a.noconvert(), "Fill `out` with standard normal numbers.");
    m.def(
        "normal_quantile",
        [](double p) {
            if (!(p > 0.0 && p < 1.0)) throw nb::value_error("a probability lies strictly between 0 and 1");
            return noise::normal_quantile(p);
        },
        "p"_a);
    m.def("logarithm", &noise::logarithm, "x"_a);
    m.def("exponential", &noise::exponential, "x"_a);
    m.def(
        "ziggurat_layer",
        [](std::size_t i) {
            if (i >= noise::ziggurat_edges.size()) throw nb::index_error("there are 257 edges");
            return std::pair(noise::ziggurat_edges[i], noise::ziggurat_densities[i]);
        },
        "i"_a, "Right edge of layer i and the density there.");
}

void bind_correlation(nb::module_& m) {
    m.def(
        "square_root",
        [](const Array<const double, 2>& matrix, const Array<double, 2>& root) {
            const std::size_t n = matrix.shape(0);
            if (matrix.shape(1) != n || root.shape(0) != n || root.shape(1) != n) {
                throw nb::value_error("matrix and root must be square and of one size");
            }
            const std::span<const double> values = span_of(matrix);
            const std::span<double> out = span_of(root);
            const WithoutGil unlocked;
            return noise::square_root(values, n, out);
        },
        "matrix"_a, "root"_a.noconvert(),
        "Fill `root`, the symmetric square root; return the smallest eigenvalue.");
    m.def(
        "correlate",
        [](const Array<const double, 2>& root, const Array<const std::int64_t, 1>& positions,
           const Array<double, 2>& noise) {
            const std::size_t n = positions.size();
            if (root.shape(0) != n || root.shape(1) != n)
                throw nb::value_error("root must be n x n for n positions");
            const auto columns = static_cast<std::int64_t>(noise.shape(1));
            for (const std::int64_t position : span_of(positions)) {
                if (position < 0 || position >= columns)
                    throw nb::index_error("a position is not a column of noise");
            }
            const std::span<const double> factor = span_of(root);
            const std::span<const std::int64_t> places = span_of(positions);
            const std::span<double> values = span_of(noise);
            const WithoutGil unlocked;
            noise::correlate(factor, places, static_cast<std::size_t>(columns), values);
        },
        "root"_a, "positions"_a, "noise"_a.noconvert(),
        "Replace the columns `positions` of every row by root times them.");
}

}  // namespace

void bind_noise(nb::module_& m) {
    for (const auto bind : {bind_seeds, bind_generator, bind_sampling, bind_correlation}) bind(m);
}

}  // namespace cobre::bindings

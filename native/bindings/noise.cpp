// `_native.noise`: the random recipe. Shapes are checked here; what the numbers mean is checked above.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <limits>

#include "bindings/comm.hpp"
#include "bindings/gil.hpp"
#include "noise/correlation.hpp"
#include "noise/elementary.hpp"
#include "noise/generator.hpp"
#include "noise/normal.hpp"
#include "noise/sampling.hpp"
#include "noise/seeds.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

template <class T, std::size_t dimensions>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

template <class AnyArray>
auto span_of(const AnyArray& array) {
    return std::span(array.data(), array.size());
}

noise::Shape shape_of(const Array<double, 2>& out) {
    if (out.shape(0) > std::numeric_limits<std::uint32_t>::max())
        throw nb::value_error("too many rows for one stage");
    return {out.shape(0), out.shape(1)};
}

void check_scenarios(std::uint32_t first, std::size_t count) {
    if (count > std::numeric_limits<std::uint32_t>::max() - std::size_t{first}) {
        throw nb::value_error("scenario numbers do not fit 32 bits");
    }
}

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

void bind_sampling(nb::module_& m) {
    m.def(
        "sample_saa",
        [](std::uint64_t base, std::uint32_t stage_id, const Array<double, 2>& out) {
            const noise::Shape shape = shape_of(out);
            const std::span<double> values = span_of(out);
            const WithoutGil unlocked;
            noise::sample_saa(base, stage_id, shape, values);
        },
        "base"_a, "stage_id"_a, "out"_a.noconvert());
    m.def(
        "sample_lhs",
        [](std::uint64_t base, std::uint32_t stage_id, const Array<double, 2>& out) {
            const noise::Shape shape = shape_of(out);
            const std::span<double> values = span_of(out);
            const WithoutGil unlocked;
            noise::sample_lhs(base, stage_id, shape, values);
        },
        "base"_a, "stage_id"_a, "out"_a.noconvert());
    m.def(
        "draw_openings",
        [](std::uint64_t base, std::uint32_t iteration, std::uint32_t first,
           const Array<const std::uint32_t, 1>& openings_per_stage, const Array<std::int32_t, 2>& out) {
            if (out.shape(1) != openings_per_stage.size()) throw nb::value_error("out needs a column per stage");
            check_scenarios(first, out.shape(0));
            for (const std::uint32_t n : span_of(openings_per_stage)) {
                if (n == 0) throw nb::value_error("every stage needs an opening");
            }
            noise::draw_openings(base, iteration, first, static_cast<std::uint32_t>(out.shape(0)),
                                 span_of(openings_per_stage), span_of(out));
        },
        "base"_a, "iteration"_a, "first"_a, "openings_per_stage"_a, "out"_a.noconvert());
    m.def(
        "draw_fresh",
        [](std::uint64_t base, std::uint32_t iteration, std::uint32_t first,
           const Array<const std::uint32_t, 1>& groups, const Array<double, 3>& out) {
            if (out.shape(1) != groups.size()) throw nb::value_error("out needs a row per stage");
            check_scenarios(first, out.shape(0));
            const auto count = static_cast<std::uint32_t>(out.shape(0));
            const std::size_t columns = out.shape(2);
            const std::span<const std::uint32_t> stages = span_of(groups);
            const std::span<double> values = span_of(out);
            const WithoutGil unlocked;
            noise::draw_fresh(base, iteration, first, count, stages, columns, values);
        },
        "base"_a, "iteration"_a, "first"_a, "groups"_a, "out"_a.noconvert());
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
    bind_seeds(m);
    bind_generator(m);
    bind_sampling(m);
    bind_correlation(m);
}

}  // namespace cobre::bindings

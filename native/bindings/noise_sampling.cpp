// `_native.noise`: noise of opening trees and of fresh trajectories.
#include <algorithm>
#include <limits>
#include <vector>

#include "bindings/gil.hpp"
#include "bindings/noise.hpp"
#include "noise/fresh.hpp"
#include "noise/generator.hpp"
#include "noise/halton.hpp"
#include "noise/reduction.hpp"
#include "noise/sampling.hpp"
#include "noise/seeds.hpp"
#include "noise/sobol.hpp"

using namespace nanobind::literals;

namespace cobre::bindings {

namespace {

noise::Block block_of(const Array<double, 2>& out) {
    if (out.shape(0) > std::numeric_limits<std::uint32_t>::max())
        throw nb::value_error("too many rows for one stage");
    return {out.data(), out.shape(0), out.shape(1), out.shape(1)};
}

// The columns first .. first + count of `out`.
noise::Block columns_of(const Array<double, 2>& out, std::size_t first, std::size_t count) {
    noise::Block block = block_of(out);
    if (first > block.columns || count > block.columns - first) throw nb::index_error("out has no such columns");
    block.values += first;
    block.columns = count;
    return block;
}

void check_directions(const Array<const std::uint32_t, 2>& directions, std::size_t columns) {
    if (directions.shape(0) < columns || directions.shape(1) != noise::sobol_bits) {
        throw nb::value_error("every column needs 32 direction numbers");
    }
}

void check_scenarios(std::uint32_t first, std::size_t count) {
    if (count > std::numeric_limits<std::uint32_t>::max() - std::size_t{first}) {
        throw nb::value_error("scenario numbers do not fit 32 bits");
    }
}

// A draw whose scenarios are rows of the block.
noise::Draw draw_of(std::uint64_t seed, std::uint32_t iteration, std::uint32_t group, std::uint32_t first,
                    std::uint32_t total, const noise::Block& block) {
    if (first > total || block.rows > total - first) throw nb::value_error("there are not so many scenarios");
    return {seed, iteration, group, first, total};
}

void bind_trees(nb::module_& m) {
    using noise::Generator;
    const auto bind = [&](const char* name, auto sample) {
        m.def(
            name,
            [sample](std::uint64_t base, std::uint32_t stage_id, const Array<double, 2>& out) {
                const noise::Block block = block_of(out);
                const WithoutGil unlocked;
                sample(base, stage_id, block);
            },
            "base"_a, "stage_id"_a, "out"_a.noconvert());
    };
    bind("sample_saa", &noise::sample_saa);
    bind("sample_lhs", &noise::sample_lhs);
    m.def(
        "sample_sobol",
        [](std::uint64_t base, std::uint32_t stage_id, const Array<const std::uint32_t, 2>& directions,
           noise::Scramble scramble, const Array<double, 2>& out) {
            const noise::Block block = block_of(out);
            check_directions(directions, block.columns);
            const std::span<const std::uint32_t> numbers = span_of(directions);
            const WithoutGil unlocked;
            Generator generator(noise::stage_seed(base, stage_id));
            noise::sample_sobol(generator, numbers, scramble, noise::PointOrder::gray, 0, block);
        },
        "base"_a, "stage_id"_a, "directions"_a, "scramble"_a, "out"_a.noconvert());
    m.def(
        "sample_halton",
        [](std::uint64_t base, std::uint32_t stage_id, const Array<double, 2>& out) {
            const noise::Block block = block_of(out);
            const WithoutGil unlocked;
            Generator generator(noise::stage_seed(base, stage_id));
            noise::sample_halton(generator, static_cast<std::uint32_t>(block.rows), 0, block);
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
}

void bind_sobol_tables(nb::module_& m) {
    nb::enum_<noise::Scramble>(m, "Scramble", "How Sobol points are scrambled.")
        .value("MULTIPLY", noise::Scramble::multiply)
        .value("MATRIX", noise::Scramble::matrix);
    m.def(
        "sobol_directions",
        [](nb::bytes table, const Array<std::uint32_t, 2>& out) {
            if (out.shape(1) != noise::sobol_bits) throw nb::value_error("a dimension has 32 direction numbers");
            const auto* const bytes = static_cast<const std::byte*>(table.data());
            const std::vector<std::uint32_t> found = noise::sobol_directions({bytes, table.size()}, out.shape(0));
            if (found.size() != out.size()) throw nb::index_error("the table has not so many dimensions");
            std::ranges::copy(found, out.data());
        },
        "table"_a, "out"_a.noconvert(), "Fill `out`, a row of 32 direction numbers per dimension.");
    m.def(
        "first_primes",
        [](const Array<std::uint32_t, 1>& out) { std::ranges::copy(noise::first_primes(out.size()), out.data()); },
        "out"_a.noconvert(), "Fill `out` with the first prime numbers.");
}

void bind_fresh(nb::module_& m) {
    const auto def = [&m](const char* name, auto kernel) {
        m.def(
            name,
            [kernel](std::uint64_t seed, std::uint32_t iteration, std::uint32_t group, std::uint32_t first,
                     std::uint32_t total, std::size_t first_column, std::size_t columns,
                     const Array<double, 2>& out) {
                const noise::Block block = columns_of(out, first_column, columns);
                const noise::Draw draw = draw_of(seed, iteration, group, first, total, block);
                const WithoutGil unlocked;
                kernel(draw, block);
            },
            "seed"_a, "iteration"_a, "group"_a, "first"_a, "total"_a, "first_column"_a, "columns"_a,
            "out"_a.noconvert());
    };
    def("draw_saa", [](const noise::Draw& draw, const noise::Block& block) { noise::draw_saa(draw, block); });
    def("draw_lhs", [](const noise::Draw& draw, const noise::Block& block) { noise::draw_lhs(draw, block); });
    def("draw_halton",
        [](const noise::Draw& draw, const noise::Block& block) { noise::draw_halton(draw, block); });
    m.def(
        "draw_sobol",
        [](std::uint64_t seed, std::uint32_t iteration, std::uint32_t group, std::uint32_t first,
           std::uint32_t total, std::size_t first_column, std::size_t columns,
           const Array<const std::uint32_t, 2>& directions, noise::Scramble scramble,
           const Array<double, 2>& out) {
            const noise::Block block = columns_of(out, first_column, columns);
            const noise::Draw draw = draw_of(seed, iteration, group, first, total, block);
            check_directions(directions, columns);
            const std::span<const std::uint32_t> numbers = span_of(directions);
            const WithoutGil unlocked;
            noise::draw_sobol(draw, numbers, scramble, block);
        },
        "seed"_a, "iteration"_a, "group"_a, "first"_a, "total"_a, "first_column"_a, "columns"_a, "directions"_a,
        "scramble"_a, "out"_a.noconvert());
}

void bind_reduction(nb::module_& m) {
    m.def(
        "reduce",
        [](std::uint64_t seed, const Array<const double, 2>& sample, const Array<std::uint32_t, 1>& members,
           const Array<double, 1>& shares) {
            if (shares.size() != members.size()) throw nb::value_error("every member needs a share");
            if (sample.shape(0) < members.size())
                throw nb::value_error("the sample is smaller than its reduction");
            if (sample.shape(0) > std::numeric_limits<std::uint32_t>::max())
                throw nb::value_error("too many rows for one sample");
            if (sample.shape(1) == 0) throw nb::value_error("the sample has no columns");
            const std::span<const double> values = span_of(sample);
            const std::size_t columns = sample.shape(1);
            const std::span<std::uint32_t> chosen = span_of(members);
            const std::span<double> weights = span_of(shares);
            const WithoutGil unlocked;
            noise::reduce(seed, values, columns, chosen, weights);
        },
        "seed"_a, "sample"_a, "members"_a.noconvert(), "shares"_a.noconvert(),
        "Choose rows that stand for the sample, and the share that each stands for.");
}

}  // namespace

void bind_sampling(nb::module_& m) {
    bind_sobol_tables(m);
    bind_trees(m);
    bind_fresh(m);
    bind_reduction(m);
}

}  // namespace cobre::bindings

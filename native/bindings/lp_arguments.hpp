// What a caller gives a solver: the types of its arrays, and checks of what they hold.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lp/model.hpp"
#include "lp/solver.hpp"

namespace cobre::bindings {

template <class T>
using Vector = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Matrix = nanobind::ndarray<const T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using VectorOut =
    nanobind::ndarray<T, nanobind::numpy, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using MatrixOut =
    nanobind::ndarray<T, nanobind::numpy, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

template <class T>
std::vector<T> copied(const Vector<T>& array) {
    return std::vector<T>(array.data(), array.data() + array.size());
}

template <class T>
std::span<const T> viewed(const Vector<T>& array) {
    return {array.data(), array.size()};
}

std::string shape_text(std::size_t rows, std::size_t columns);

template <class T>
std::span<T> output(const std::optional<MatrixOut<T>>& array, const char* name, std::size_t rows,
                    std::size_t columns) {
    if (!array) return {};
    if (array->shape(0) != rows || array->shape(1) != columns)
        throw std::invalid_argument(std::string(name) + " has the shape " +
                                    shape_text(array->shape(0), array->shape(1)) + " but this batch writes " +
                                    shape_text(rows, columns) + "\n  fix: allocate it with that shape");
    return {array->data(), array->size()};
}

template <class T>
std::span<T> output(const std::optional<VectorOut<T>>& array, const char* name, std::size_t size) {
    if (!array) return {};
    if (array->shape(0) != size)
        throw std::invalid_argument(std::string(name) + " holds " + std::to_string(array->shape(0)) +
                                    " elements but this batch writes " + std::to_string(size) +
                                    "\n  fix: allocate it with that size");
    return {array->data(), array->size()};
}

template <class T>
nanobind::ndarray<T, nanobind::numpy, nanobind::ndim<1>> owned_copy(std::span<const T> values) {
    auto* copy = new std::vector<T>(values.begin(), values.end());
    nanobind::capsule owner(copy, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
    return {copy->data(), {copy->size()}, owner};
}

// All throw std::invalid_argument.
lp::PatchPlan make_plan(const lp::Model& model, const Vector<std::uint8_t>& target,
                        const Vector<std::int32_t>& index, const Vector<std::int32_t>& source,
                        const Vector<double>& offset, const Vector<double>& factor, std::size_t n_parameters);
void check_order(const Vector<std::int32_t>& order, std::size_t chain_length);
void check_observation(const lp::Observation& observation, const lp::Model& model);

}  // namespace cobre::bindings

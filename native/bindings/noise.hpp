// What the files that bind `_native.noise` share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>

namespace cobre::bindings {

namespace nb = nanobind;

template <class T, std::size_t dimensions>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

template <class AnyArray>
auto span_of(const AnyArray& array) {
    return std::span(array.data(), array.size());
}

// Opening trees and fresh trajectories.
void bind_sampling(nanobind::module_& m);

}  // namespace cobre::bindings

// Element types from Python: numbers that are NumPy's own; structured dtypes: may we carry them, and do two of them agree?
#pragma once

#include <cstdint>

#include "bindings/numpy_api.hpp"

namespace cobre::bindings {

// Another library's dtype may bear the same kind letter and a width of its own (float8 is 'f' in one byte): the
// letter alone does not say what its bits mean.
bool is_numpy_number(PyArray_Descr* descr) noexcept;

// Hashes names, offsets and types of all fields, nested ones included. False when a field is of a type we do
// not carry (object, text, dates, raw bytes), or when there are no fields at all.
bool hash_record_layout(PyArray_Descr* descr, std::uint64_t& hash);

}  // namespace cobre::bindings

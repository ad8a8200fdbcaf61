// Element types from Python: is it NumPy's own number? Structured dtypes: may we carry them, do two agree?
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

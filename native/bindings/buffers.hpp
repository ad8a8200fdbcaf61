// Python objects as the core's Buffers and integer lists, without copying payload.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bindings/numpy_api.hpp"
#include "comm/arguments.hpp"

namespace cobre::bindings {

// Borrows a NumPy array's memory as it is; any other buffer goes through a temporary zero-copy array. Keeps the
// memory alive. Throws comm::Error (TypeError) when the object is no C-contiguous buffer of a dtype we carry.
class BorrowedBuffer {
public:
    BorrowedBuffer(PyObject* object, const comm::Where& where, const char* argument);
    ~BorrowedBuffer() { Py_XDECREF(array_); }
    BorrowedBuffer(const BorrowedBuffer&) = delete;
    BorrowedBuffer& operator=(const BorrowedBuffer&) = delete;

    const comm::Buffer& operator*() const noexcept { return buffer_; }
    const comm::Buffer* operator->() const noexcept { return &buffer_; }

private:
    void read(const comm::Where& where, const char* argument);

    comm::Buffer buffer_;
    PyObject* array_ = nullptr;  // owned: the caller's own array, or a temporary one over its memory
};

// A sequence or integer array of whole numbers, one per rank. Those beyond 64 bits become the nearest 64-bit one:
// no buffer is that large, so every check on them has the same outcome.
class IntegerList {
public:
    IntegerList(PyObject* object, const comm::Where& where, const char* argument);
    std::span<const std::int64_t> values() const noexcept {
        return {spilled_.empty() ? inline_.data() : spilled_.data(), length_};
    }

private:
    void reserve(std::size_t length);
    void put(std::size_t position, std::int64_t value) noexcept {
        (spilled_.empty() ? inline_.data() : spilled_.data())[position] = value;
    }
    void read_array(PyArrayObject* array, const comm::Where& where, const char* argument);
    bool read_plain(PyObject* object, const char* argument, comm::Group group);
    void read_sequence(PyObject* object, const comm::Where& where, const char* argument);

    std::size_t length_ = 0;
    std::array<std::int64_t, 32> inline_;
    std::vector<std::int64_t> spilled_;
};

// The core's view of a NumPy dtype; throws comm::Error (TypeError) for what we do not carry.
comm::DType dtype_of(PyArray_Descr* descr, const char* operation, const char* argument);

// Whole number, beyond 64 bits saturated. Throws comm::Error (TypeError) for anything without __index__.
std::int64_t integer_of(PyObject* object, const comm::Where& where, const char* argument);

comm::ReduceOp reduce_op_of(PyObject* object, const comm::Where& where);

}  // namespace cobre::bindings

#include "bindings/buffers.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bindings/record_layout.hpp"
#include "comm/error.hpp"

namespace nb = nanobind;

namespace cobre::bindings {

namespace {

[[noreturn]] void wrong_type(const char* operation, const char* argument, const std::string& what,
                             std::string fix) {
    throw comm::Error(comm::ErrorClass::type_error, std::string(argument) + " " + what + " (" + operation + ")",
                      std::move(fix));
}

std::string type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

std::string text_of(PyArray_Descr* descr) {
    return nb::cast<std::string>(nb::str(nb::handle(reinterpret_cast<PyObject*>(descr))));
}

// A temporary array over the memory of `object`, or null with no Python error set.
PyObject* array_over(PyObject* object) {
    PyObject* view = PyMemoryView_FromObject(object);
    PyObject* array = view != nullptr ? PyArray_FROM_O(view) : nullptr;
    const bool same_memory =
        array != nullptr && (PyArray_SIZE(reinterpret_cast<PyArrayObject*>(array)) == 0 ||
                             PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)) ==
                                 PyMemoryView_GET_BUFFER(view)->buf);  // else NumPy copied what it could not map
    Py_XDECREF(view);
    PyErr_Clear();
    if (same_memory) return array;
    Py_XDECREF(array);
    return nullptr;
}

}  // namespace

comm::DType dtype_of(PyArray_Descr* descr, const char* operation, const char* argument) {
    comm::DType dtype;
    dtype.itemsize = static_cast<std::uint32_t>(PyDataType_ELSIZE(descr));
    dtype.swapped = PyDataType_ISBYTESWAPPED(descr) != 0;
    switch (descr->kind) {
        case 'b': dtype.kind = comm::Kind::boolean; return dtype;
        case 'i': dtype.kind = comm::Kind::signed_int; return dtype;
        case 'u': dtype.kind = comm::Kind::unsigned_int; return dtype;
        case 'f': dtype.kind = comm::Kind::floating; return dtype;
        case 'c': dtype.kind = comm::Kind::complex; return dtype;
        case 'V':
            dtype.kind = comm::Kind::record;
            if (hash_record_layout(descr, dtype.layout)) return dtype;
            break;
        default: break;
    }
    const char* fix = "use bool, int, float or complex, or a structured dtype of these";
    if (descr->kind == 'M' || descr->kind == 'm') fix = "send its numbers: a.view('int64')";
    if (descr->kind == 'S' || descr->kind == 'U' || descr->kind == 'V') fix = "send its bytes: a.view('uint8')";
    wrong_type(operation, argument, "has dtype " + text_of(descr) + ", which cannot be sent", fix);
}

BorrowedBuffer::BorrowedBuffer(PyObject* object, const char* operation, const char* argument) {
    if (PyArray_Check(object)) [[likely]] {
        read(reinterpret_cast<PyArrayObject*>(object), operation, argument);
        return;
    }
    if (!PyObject_CheckBuffer(object))
        wrong_type(operation, argument, "is a " + type_name(object) + ", not a buffer",
                   std::string("pass a NumPy array, e.g. numpy.asarray(") + argument + ", dtype='float64')");
    owned_ = array_over(object);
    if (owned_ == nullptr)
        wrong_type(operation, argument, "is a " + type_name(object) + " whose memory NumPy cannot map",
                   "pass a NumPy array of bool, int, float, complex or a structured dtype of these");
    try {
        read(reinterpret_cast<PyArrayObject*>(owned_), operation, argument);
    } catch (...) {
        Py_CLEAR(owned_);
        throw;
    }
}

void BorrowedBuffer::read(PyArrayObject* array, const char* operation, const char* argument) {
    descr_ = PyArray_DESCR(array);
    buffer_.dtype = dtype_of(descr_, operation, argument);
    const int flags = PyArray_FLAGS(array);
    if ((flags & NPY_ARRAY_C_CONTIGUOUS) == 0) [[unlikely]]
        wrong_type(operation, argument, "is not C-contiguous",
                   std::string("pass numpy.ascontiguousarray(") + argument +
                       "); for a buffer that is written to, copy the result back afterwards");
    buffer_.readonly = (flags & NPY_ARRAY_WRITEABLE) == 0;
    buffer_.data = static_cast<std::byte*>(PyArray_DATA(array));
    const int dimensions = PyArray_NDIM(array);
    buffer_.count = dimensions == 1 ? PyArray_DIM(array, 0) : PyArray_SIZE(array);
}

void IntegerList::reserve(std::size_t length) {
    length_ = length;
    if (length > inline_.size()) spilled_.resize(length);
}

IntegerList::IntegerList(PyObject* object, const char* operation, const char* argument) {
    if (!PyArray_Check(object)) {
        if (!PySequence_Check(object))
            wrong_type(operation, argument, "is a " + type_name(object) + ", not a sequence of whole numbers",
                       "pass a list of ints or an integer array");
        read_objects(object, operation, argument);
        return;
    }
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (!PyArray_ISINTEGER(array) || PyArray_NDIM(array) != 1)
        wrong_type(operation, argument,
                   "is a " + std::to_string(PyArray_NDIM(array)) + "-dimensional array of " +
                       text_of(PyArray_DESCR(array)) + ", not a flat one of whole numbers",
                   std::string("pass ") + argument + ".astype('int64').ravel()");
    if (PyArray_TYPE(array) == NPY_INT64 && PyArray_ISCARRAY_RO(array)) {
        reserve(static_cast<std::size_t>(PyArray_DIM(array, 0)));
        const auto* data = static_cast<const std::int64_t*>(PyArray_DATA(array));
        for (std::size_t i = 0; i < length_; ++i) put(i, data[i]);
        return;
    }
    const nb::object list = nb::steal(PyArray_ToList(array));
    if (!list.is_valid()) throw nb::python_error();
    read_objects(list.ptr(), operation, argument);
}

void IntegerList::read_objects(PyObject* object, const char* operation, const char* argument) {
    const nb::object items = nb::steal(PySequence_Fast(object, "not a sequence"));
    if (!items.is_valid()) throw nb::python_error();
    reserve(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.ptr())));
    for (std::size_t i = 0; i < length_; ++i) {
        // __index__ of a foreign object may run code that shortens the list under our feet.
        if (static_cast<Py_ssize_t>(i) >= PySequence_Fast_GET_SIZE(items.ptr()))
            wrong_type(operation, argument, "changed while it was read", "pass a list that nobody else changes");
        put(i, integer_of(PySequence_Fast_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i)), operation, argument));
    }
}

std::int64_t integer_of(PyObject* object, const char* operation, const char* argument) {
    nb::object number = nb::borrow(object);
    if (!PyLong_CheckExact(object)) {
        number = nb::steal(PyNumber_Index(object));
        if (!number.is_valid()) {
            PyErr_Clear();
            wrong_type(operation, argument,
                       "holds " + nb::cast<std::string>(nb::repr(nb::handle(object))) + ", not a whole number",
                       "pass ints, e.g. int(x)");
        }
    }
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0) return overflow > 0 ? INT64_MAX : INT64_MIN;
    return value;
}

comm::ReduceOp reduce_op_of(PyObject* object) {
    if (PyUnicode_Check(object)) [[likely]] {
        if (PyUnicode_CompareWithASCIIString(object, "sum") == 0) return comm::ReduceOp::sum;
        if (PyUnicode_CompareWithASCIIString(object, "min") == 0) return comm::ReduceOp::min;
        if (PyUnicode_CompareWithASCIIString(object, "max") == 0) return comm::ReduceOp::max;
    }
    throw comm::Error(
        comm::ErrorClass::value_error,
        "op is " + nb::cast<std::string>(nb::repr(nb::handle(object))) + ", not a reduction (allreduce)",
        "use ReduceOp.SUM, ReduceOp.MIN or ReduceOp.MAX, or 'sum', 'min', 'max'");
}

}  // namespace cobre::bindings

#include "bindings/buffers.hpp"

#include <nanobind/nanobind.h>

#include <string_view>

#include "bindings/record_layout.hpp"
#include "comm/error.hpp"

namespace nb = nanobind;

namespace cobre::bindings {

namespace {

[[noreturn]] void wrong_type(const std::string& where, const char* argument, const std::string& what,
                             std::string fix) {
    throw comm::Error(comm::ErrorClass::type_error, std::string(argument) + " " + what + where, std::move(fix));
}

std::string type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

// str() or repr() of anything, whatever characters it holds.
std::string utf8(PyObject* text) {
    const nb::object held = nb::steal(text);
    if (!held.is_valid()) throw nb::python_error();
    const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(held.ptr(), "utf-8", "backslashreplace"));
    if (!bytes.is_valid()) throw nb::python_error();
    return PyBytes_AS_STRING(bytes.ptr());
}

std::string text_of(PyArray_Descr* descr) { return utf8(PyObject_Str(reinterpret_cast<PyObject*>(descr))); }

// Passes on every exception but those that refuse the buffer: Ctrl-C must not become a TypeError.
void clear_or_throw(std::initializer_list<PyObject*> expected) {
    if (PyErr_Occurred() == nullptr) return;
    for (PyObject* type : expected) {
        if (PyErr_ExceptionMatches(type) == 0) continue;
        PyErr_Clear();
        return;
    }
    throw nb::python_error();
}

std::int64_t saturated(PyObject* number) noexcept {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0) return overflow > 0 ? INT64_MAX : INT64_MIN;
    return value;
}

// A temporary array over the memory of `object`, or null where NumPy cannot map it.
PyObject* array_over(PyObject* object) {
    const nb::object view = nb::steal(PyMemoryView_FromObject(object));
    nb::object array;
    if (view.is_valid()) array = nb::steal(PyArray_FROM_O(view.ptr()));
    clear_or_throw({PyExc_TypeError, PyExc_ValueError, PyExc_BufferError, PyExc_RuntimeError});
    if (!array.is_valid()) return nullptr;
    auto* mapped = reinterpret_cast<PyArrayObject*>(array.ptr());
    // Else NumPy copied what it could not map.
    const bool is_same_memory =
        PyArray_SIZE(mapped) == 0 || PyArray_DATA(mapped) == PyMemoryView_GET_BUFFER(view.ptr())->buf;
    return is_same_memory ? array.release().ptr() : nullptr;
}

const char* fix_for(PyArray_Descr* descr) {
    if (PyTypeNum_ISUSERDEF(descr->type_num)) return "send its bytes: a.view('uint8')";
    switch (descr->kind) {
        case 'M':
        case 'm': return "send its numbers: a.view('int64')";
        case 'S':
        case 'U': return "send its bytes: a.view('uint8')";
        case 'V':
            if (PyDataType_NAMES(descr) == nullptr) return "send its bytes: a.view('uint8')";
            break;
        default: break;
    }
    return "use bool, int, float or complex, or a structured dtype of these";
}

bool read_dtype(PyArray_Descr* descr, comm::DType& dtype) {
    dtype.itemsize = static_cast<std::uint32_t>(PyDataType_ELSIZE(descr));
    dtype.swapped = PyDataType_ISBYTESWAPPED(descr) != 0;
    switch (descr->kind) {
        case 'b': dtype.kind = comm::Kind::boolean; return is_numpy_number(descr);
        case 'i': dtype.kind = comm::Kind::signed_int; return is_numpy_number(descr);
        case 'u': dtype.kind = comm::Kind::unsigned_int; return is_numpy_number(descr);
        case 'f': dtype.kind = comm::Kind::floating; return is_numpy_number(descr);
        case 'c': dtype.kind = comm::Kind::complex; return is_numpy_number(descr);
        case 'V': dtype.kind = comm::Kind::record; break;
        default: return false;
    }
    return dtype.itemsize != 0 && hash_record_layout(descr, dtype.layout);
}

[[noreturn]] void refuse_dtype(PyArray_Descr* descr, const std::string& where, const char* argument) {
    wrong_type(where, argument, "has dtype " + text_of(descr) + ", which cannot be sent", fix_for(descr));
}

}  // namespace

comm::DType dtype_of(PyArray_Descr* descr, const char* operation, const char* argument) {
    comm::DType dtype;
    if (!read_dtype(descr, dtype)) refuse_dtype(descr, std::string(" (") + operation + ")", argument);
    return dtype;
}

BorrowedBuffer::BorrowedBuffer(PyObject* object, const comm::Where& where, const char* argument) {
    if (PyArray_Check(object)) [[likely]] {
        // Asked of the class: the records of a recarray may well have a field of that name.
        if (!PyArray_CheckExact(object) &&
            PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "mask") != 0)
            wrong_type(where.text(), argument, "is a masked array, whose mask would be lost",
                       "send a.filled(value), and the mask as an array of its own if it is needed");
        Py_INCREF(object);
        array_ = object;
    } else if (!PyObject_CheckBuffer(object)) {
        wrong_type(where.text(), argument, "is a " + type_name(object) + ", not a buffer",
                   std::string("pass a NumPy array, e.g. numpy.asarray(") + argument + ", dtype='float64')");
    } else {
        array_ = array_over(object);
        if (array_ == nullptr)
            wrong_type(where.text(), argument, "is a " + type_name(object) + " whose memory NumPy cannot map",
                       "pass a NumPy array of bool, int, float, complex or a structured dtype of these");
    }
    try {
        read(where, argument);
    } catch (...) {
        Py_CLEAR(array_);
        throw;
    }
}

void BorrowedBuffer::read(const comm::Where& where, const char* argument) {
    auto* array = reinterpret_cast<PyArrayObject*>(array_);
    PyArray_Descr* descr = PyArray_DESCR(array);
    if (!read_dtype(descr, buffer_.dtype)) [[unlikely]]
        refuse_dtype(descr, where.text(), argument);
    const int flags = PyArray_FLAGS(array);
    if ((flags & NPY_ARRAY_C_CONTIGUOUS) == 0) [[unlikely]]
        wrong_type(where.text(), argument, "is not C-contiguous",
                   std::string("pass numpy.ascontiguousarray(") + argument +
                       "); for a buffer that is written to, copy the result back afterwards");
    buffer_.readonly = (flags & NPY_ARRAY_WRITEABLE) == 0;
    buffer_.data = static_cast<std::byte*>(PyArray_DATA(array));
    buffer_.count = PyArray_NDIM(array) == 1 ? PyArray_DIM(array, 0) : PyArray_SIZE(array);
}

void IntegerList::reserve(std::size_t length) {
    length_ = length;
    if (length > inline_.size()) spilled_.resize(length);
}

IntegerList::IntegerList(PyObject* object, const comm::Where& where, const char* argument) {
    if (read_plain(object, argument, where.group)) [[likely]]
        return;
    if (PyArray_Check(object)) {
        read_array(reinterpret_cast<PyArrayObject*>(object), where, argument);
    } else if (PySequence_Check(object)) {
        read_sequence(object, where, argument);
    } else {
        wrong_type(where.text(), argument, "is a " + type_name(object) + ", not a sequence of whole numbers",
                   "pass a list of ints or an integer array");
    }
}

void IntegerList::read_array(PyArrayObject* array, const comm::Where& where, const char* argument) {
    if (!PyArray_ISINTEGER(array) || PyArray_NDIM(array) != 1)
        wrong_type(where.text(), argument,
                   "is a " + std::to_string(PyArray_NDIM(array)) + "-dimensional array of " +
                       text_of(PyArray_DESCR(array)) + ", not a flat one of whole numbers",
                   std::string("pass ") + argument + ".astype('int64').ravel()");
    const auto length = static_cast<std::size_t>(PyArray_DIM(array, 0));
    comm::check_one_per_rank(argument, length, where.group);
    if (PyArray_TYPE(array) == NPY_INT64 && PyArray_ISCARRAY_RO(array)) {
        reserve(length);
        const auto* data = static_cast<const std::int64_t*>(PyArray_DATA(array));
        for (std::size_t i = 0; i < length_; ++i) put(i, data[i]);
        return;
    }
    const nb::object list = nb::steal(PyArray_ToList(array));
    if (!list.is_valid()) throw nb::python_error();
    read_sequence(list.ptr(), where, argument);
}

// The usual case: a list or tuple of plain ints, none of which can run code of its own while it is read.
bool IntegerList::read_plain(PyObject* object, const char* argument, comm::Group group) {
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) return false;
    const auto length = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(object));
    comm::check_one_per_rank(argument, length, group);
    reserve(length);
    PyObject* const* items = PySequence_Fast_ITEMS(object);
    for (std::size_t i = 0; i < length; ++i) {
        if (!PyLong_CheckExact(items[i])) return false;
        put(i, saturated(items[i]));
    }
    return true;
}

// The length is asked for first and so many items are read: a sequence may be long, endless, or change meanwhile.
void IntegerList::read_sequence(PyObject* object, const comm::Where& where, const char* argument) {
    const Py_ssize_t length = PySequence_Size(object);
    if (length < 0) throw nb::python_error();
    comm::check_one_per_rank(argument, static_cast<std::size_t>(length), where.group);
    reserve(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < length_; ++i) {
        const nb::object item = nb::steal(PySequence_GetItem(object, static_cast<Py_ssize_t>(i)));
        if (!item.is_valid()) {
            clear_or_throw({PyExc_IndexError});
            wrong_type(where.text(), argument, "changed while it was read",
                       "pass a list that no other thread changes");
        }
        put(i, integer_of(item.ptr(), where, argument));
    }
}

std::int64_t integer_of(PyObject* object, const comm::Where& where, const char* argument) {
    if (PyLong_CheckExact(object)) [[likely]]
        return saturated(object);
    const nb::object held = nb::borrow(object);  // its __index__ may drop every other reference to it
    // NumPy 1 still lets its bool be an index, and only warns.
    const nb::object number = PyArray_IsScalar(object, Bool) ? nb::object() : nb::steal(PyNumber_Index(object));
    if (!number.is_valid()) {
        clear_or_throw({PyExc_TypeError});
        wrong_type(where.text(), argument, "holds " + utf8(PyObject_Repr(object)) + ", not a whole number",
                   "pass ints, e.g. int(x)");
    }
    return saturated(number.ptr());
}

comm::ReduceOp reduce_op_of(PyObject* object, const comm::Where& where) {
    Py_ssize_t length = 0;
    // CPython keeps the UTF-8 form, which for ASCII is the text itself.
    const char* text = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &length) : nullptr;
    if (text == nullptr) PyErr_Clear();  // no text, or one with half a surrogate pair
    const std::string_view word(text == nullptr ? "" : text, static_cast<std::size_t>(length));
    if (word == "sum") return comm::ReduceOp::sum;
    if (word == "min") return comm::ReduceOp::min;
    if (word == "max") return comm::ReduceOp::max;
    throw comm::Error(comm::ErrorClass::value_error,
                      "op is " + utf8(PyObject_Repr(object)) + ", not a reduction" + where.text(),
                      "use ReduceOp.SUM, ReduceOp.MIN or ReduceOp.MAX, or 'sum', 'min', 'max'");
}

}  // namespace cobre::bindings

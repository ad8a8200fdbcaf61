#include "bindings/record_layout.hpp"

#include <string_view>

namespace cobre::bindings {

namespace {

// FNV-1a: the same on every machine, and fields are few.
class Hash {
public:
    void add(std::string_view bytes) noexcept {
        for (const char byte : bytes) add_byte(static_cast<unsigned char>(byte));
    }
    void add(std::uint64_t number) noexcept {
        for (int shift = 0; shift < 64; shift += 8) add_byte(static_cast<unsigned char>(number >> shift));
    }
    std::uint64_t value() const noexcept { return state_; }

private:
    void add_byte(unsigned char byte) noexcept { state_ = (state_ ^ byte) * 0x100000001B3ULL; }

    std::uint64_t state_ = 0xCBF29CE484222325ULL;
};

bool add_type(PyArray_Descr* descr, Hash& hash);

bool add_fields(PyArray_Descr* descr, Hash& hash) {
    PyObject* names = PyDataType_NAMES(descr);
    PyObject* fields = PyDataType_FIELDS(descr);
    if (names == nullptr || fields == nullptr || PyTuple_GET_SIZE(names) == 0) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
        PyObject* name = PyTuple_GET_ITEM(names, i);
        PyObject* field = PyDict_GetItemWithError(fields, name);  // (descr, offset) or (descr, offset, title)
        Py_ssize_t length = 0;
        const char* text = PyUnicode_AsUTF8AndSize(name, &length);
        if (field == nullptr || text == nullptr) return false;
        hash.add(std::string_view(text, static_cast<std::size_t>(length)));
        hash.add(static_cast<std::uint64_t>(PyLong_AsSsize_t(PyTuple_GET_ITEM(field, 1))));
        if (!add_type(reinterpret_cast<PyArray_Descr*>(PyTuple_GET_ITEM(field, 0)), hash)) return false;
    }
    return true;
}

bool add_type(PyArray_Descr* descr, Hash& hash) {
    hash.add(static_cast<std::uint64_t>(PyDataType_ELSIZE(descr)));
    if (PyArray_ArrayDescr* subarray = PyDataType_SUBARRAY(descr)) {
        hash.add("[");
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(subarray->shape); ++i)
            hash.add(static_cast<std::uint64_t>(PyLong_AsSsize_t(PyTuple_GET_ITEM(subarray->shape, i))));
        return add_type(subarray->base, hash);
    }
    const char kind = descr->kind;
    hash.add(static_cast<std::uint64_t>(kind));
    hash.add(static_cast<std::uint64_t>(PyDataType_ISBYTESWAPPED(descr)));
    if (kind == 'V') return add_fields(descr, hash);
    return (kind == 'b' || kind == 'i' || kind == 'u' || kind == 'f' || kind == 'c') && is_numpy_number(descr);
}

}  // namespace

bool is_numpy_number(PyArray_Descr* descr) noexcept {
    const int number = descr->type_num;
    return number == NPY_HALF || (number >= NPY_BOOL && number <= NPY_CLONGDOUBLE);
}

bool hash_record_layout(PyArray_Descr* descr, std::uint64_t& result) {
    Hash hash;
    const bool carried = add_type(descr, hash);
    result = hash.value();
    if (!carried) PyErr_Clear();
    return carried;
}

}  // namespace cobre::bindings

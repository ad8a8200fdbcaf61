#include "bindings/fast_calls.hpp"

namespace cobre::bindings {

bool sort_arguments(const char* method, std::size_t wanted, const char* const* names, PyObject* const* given,
                    Py_ssize_t positional, PyObject* keywords, PyObject** found) {
    const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    if (positional > static_cast<Py_ssize_t>(wanted)) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zu arguments but %zd were given", method, wanted,
                     positional + named);
        return false;
    }
    for (Py_ssize_t i = 0; i < positional; ++i) found[i] = given[i];
    for (Py_ssize_t i = 0; i < named; ++i) {
        PyObject* keyword = PyTuple_GET_ITEM(keywords, i);
        std::size_t place = 0;
        while (place < wanted && PyUnicode_CompareWithASCIIString(keyword, names[place]) != 0) ++place;
        if (place == wanted) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", method, keyword);
            return false;
        }
        if (found[place] != nullptr) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%s'", method, names[place]);
            return false;
        }
        found[place] = given[positional + i];
    }
    for (std::size_t place = 0; place < wanted; ++place) {
        if (found[place] != nullptr) continue;
        PyErr_Format(PyExc_TypeError, "%s() is missing the argument '%s'", method, names[place]);
        return false;
    }
    return true;
}

}  // namespace cobre::bindings

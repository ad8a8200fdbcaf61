#include "bindings/errors.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

// Looked up when needed: errors are rare, and importing this module must not import half the package.
nb::object error_type(const char* name) { return nb::module_::import_("cobre.errors").attr(name); }

nb::object make_exception(const comm::Error& error) {
    switch (error.error_class()) {
        case comm::ErrorClass::invalid_buffer_size:
            return error_type("InvalidBufferSize")(error.operation(), error.expected(), error.actual(),
                                                   error.message(), "suggestion"_a = error.fix());
        case comm::ErrorClass::invalid_root:
            return error_type("InvalidRoot")(error.actual(), error.expected(), error.message(),
                                             "suggestion"_a = error.fix());
        case comm::ErrorClass::invalid_communicator:
            return error_type("InvalidCommunicator")(error.message(), "suggestion"_a = error.fix());
        case comm::ErrorClass::collective_failed:
            return error_type("CollectiveFailed")(error.operation(), 0, error.message(),
                                                  "suggestion"_a = error.fix());
        case comm::ErrorClass::allocation_failed:
            return error_type("AllocationFailed")(error.expected(), error.message(), "suggestion"_a = error.fix());
        case comm::ErrorClass::initialization_failed:
            return error_type("InitializationFailed")(error.operation(), nb::none(), error.message(),
                                                      "suggestion"_a = error.fix());
        case comm::ErrorClass::type_error:
        case comm::ErrorClass::value_error: break;
    }
    PyObject* type = error.error_class() == comm::ErrorClass::type_error ? PyExc_TypeError : PyExc_ValueError;
    return nb::borrow(type)(error.message() + "\n  fix: " + error.fix());
}

}  // namespace

void set_python_error(const comm::Error& error) {
    try {
        const nb::object exception = make_exception(error);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    } catch (nb::python_error& other) {
        other.restore();
    }
}

void register_errors() {
    nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
        try {
            std::rethrow_exception(pointer);
        } catch (const comm::Error& error) {
            set_python_error(error);
        }
    });
}

}  // namespace cobre::bindings

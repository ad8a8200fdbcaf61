// The four collectives as plain methods of CPython's own kind. A small collective takes a tenth of a microsecond,
// and nanobind's general handling of arguments would be a third of that.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <exception>

#include "bindings/errors.hpp"

namespace cobre::bindings {

// Arguments by position or by name, each exactly once, into `found`; false with TypeError set.
bool sort_arguments(const char* method, std::size_t wanted, const char* const* names, PyObject* const* given,
                    Py_ssize_t positional, PyObject* keywords, PyObject** found);

// `T` has the four methods, taking nanobind handles. Its class must be bound with `slots()`.
template <class T>
class FastCalls {
public:
    static PyType_Slot* slots() noexcept {
        static PyMethodDef methods[] = {{"allgatherv", as_function(&allgatherv), METH_FASTCALL | METH_KEYWORDS,
                                         "allgatherv($self, send, recv, counts, displs)\n--\n\n"},
                                        {"allreduce", as_function(&allreduce), METH_FASTCALL | METH_KEYWORDS,
                                         "allreduce($self, send, recv, op)\n--\n\n"},
                                        {"broadcast", as_function(&broadcast), METH_FASTCALL | METH_KEYWORDS,
                                         "broadcast($self, buf, root)\n--\n\n"},
                                        {"barrier", &barrier, METH_NOARGS, "barrier($self)\n--\n\n"},
                                        {nullptr, nullptr, 0, nullptr}};
        static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
        return slots;
    }

private:
    using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

    static PyCFunction as_function(Fast function) noexcept {
        return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
    }

    // None, or null with the exception set that `action(instance)` threw.
    template <class Action>
    static PyObject* guarded(PyObject* self, Action&& action) noexcept {
        if (!nanobind::inst_ready(self)) [[unlikely]] {
            PyErr_SetString(PyExc_TypeError, "the communicator was never initialised: its __init__ did not run");
            return nullptr;
        }
        try {
            action(*nanobind::inst_ptr<T>(self));
            Py_RETURN_NONE;
        } catch (nanobind::python_error& error) {
            error.restore();
        } catch (const comm::Error& error) {
            set_python_error(error);
        } catch (const std::exception& error) {
            PyErr_SetString(PyExc_RuntimeError, error.what());
        }
        return nullptr;
    }

    template <std::size_t wanted, class Action>
    static PyObject* with_arguments(const char* method, const std::array<const char*, wanted>& names,
                                    PyObject* self, PyObject* const* given, Py_ssize_t positional,
                                    PyObject* keywords, Action&& action) noexcept {
        if (positional == static_cast<Py_ssize_t>(wanted) && keywords == nullptr) [[likely]]
            return guarded(self, [&](T& instance) { action(instance, given); });
        std::array<PyObject*, wanted> found = {};
        if (!sort_arguments(method, wanted, names.data(), given, positional, keywords, found.data()))
            return nullptr;
        return guarded(self, [&](T& instance) { action(instance, found.data()); });
    }

    static PyObject* barrier(PyObject* self, PyObject*) noexcept {
        return guarded(self, [](T& instance) { instance.barrier(); });
    }

    static PyObject* broadcast(PyObject* self, PyObject* const* given, Py_ssize_t positional,
                               PyObject* keywords) noexcept {
        static constexpr std::array<const char*, 2> names = {"buf", "root"};
        return with_arguments("broadcast", names, self, given, positional, keywords,
                              [](T& instance, PyObject* const* a) { instance.broadcast(a[0], a[1]); });
    }

    static PyObject* allreduce(PyObject* self, PyObject* const* given, Py_ssize_t positional,
                               PyObject* keywords) noexcept {
        static constexpr std::array<const char*, 3> names = {"send", "recv", "op"};
        return with_arguments("allreduce", names, self, given, positional, keywords,
                              [](T& instance, PyObject* const* a) { instance.allreduce(a[0], a[1], a[2]); });
    }

    static PyObject* allgatherv(PyObject* self, PyObject* const* given, Py_ssize_t positional,
                                PyObject* keywords) noexcept {
        static constexpr std::array<const char*, 4> names = {"send", "recv", "counts", "displs"};
        return with_arguments(
            "allgatherv", names, self, given, positional, keywords,
            [](T& instance, PyObject* const* a) { instance.allgatherv(a[0], a[1], a[2], a[3]); });
    }
};

}  // namespace cobre::bindings

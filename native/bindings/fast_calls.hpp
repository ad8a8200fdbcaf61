// The methods of a communicator as plain methods of CPython's own kind. A small collective takes a tenth of a
// microsecond, and nanobind's general handling of arguments would be a third of that. Unlike nanobind's methods
// they have a text signature, which help() and inspect.signature() read.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <exception>
#include <new>
#include <type_traits>

#include "bindings/errors.hpp"

namespace cobre::bindings {

// Arguments by position or by name, each exactly once, into `found`; false with TypeError set.
bool sort_arguments(const char* method, std::size_t wanted, const char* const* names, PyObject* const* given,
                    Py_ssize_t positional, PyObject* keywords, PyObject** found);

// What help() shows: the words of cobre.comm.protocol, which a test compares.
namespace docs {

inline constexpr const char* rank = "This process's number, from 0.";
inline constexpr const char* size = "How many ranks there are.";
inline constexpr const char* allgatherv =
    "allgatherv($self, send, recv, counts, displs)\n--\n\n"
    "Put rank r's ``send`` into ``recv[displs[r] : displs[r] + counts[r]]`` on every rank.\n\n"
    "Counts and displacements are in elements. ``counts`` agree on all ranks, ``displs`` are this\n"
    "rank's own. Gaps stay untouched. ``send`` may be exactly this rank's part of ``recv``.";
inline constexpr const char* allreduce =
    "allreduce($self, send, recv, op)\n--\n\n"
    "Put ``op(send_0, …, send_{size-1})`` into ``recv``, folded in rank order on every backend.\n\n"
    "The same bits on every rank and every backend. ``send`` may be exactly ``recv``.";
inline constexpr const char* broadcast =
    "broadcast($self, buf, root)\n--\n\n"
    "Make every rank's ``buf`` equal to root's. Only root's may be read-only.";
inline constexpr const char* barrier = "barrier($self)\n--\n\nReturn once every rank has entered.";
inline constexpr const char* stats =
    "stats($self)\n--\n\n"
    "Per operation: ``calls``, ``bytes``, ``wait_s`` and ``move_s`` so far. Answers after `close`, too.";
inline constexpr const char* close = "close($self)\n--\n\nLeave the group. Local, idempotent, never waits.";

}  // namespace docs

// `T` has the methods, taking nanobind handles; `close` is optional. Its class must be bound with `slots()`.
template <class T>
class FastCalls {
public:
    static PyType_Slot* slots() noexcept {
        static PyMethodDef methods[] = {
            {"allgatherv", as_function(&allgatherv), METH_FASTCALL | METH_KEYWORDS, docs::allgatherv},
            {"allreduce", as_function(&allreduce), METH_FASTCALL | METH_KEYWORDS, docs::allreduce},
            {"broadcast", as_function(&broadcast), METH_FASTCALL | METH_KEYWORDS, docs::broadcast},
            {"barrier", &barrier, METH_NOARGS, docs::barrier},
            {"stats", &stats, METH_NOARGS, docs::stats},
            close_method(),
            {nullptr, nullptr, 0, nullptr}};
        static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
        return slots;
    }

private:
    using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

    static PyCFunction as_function(Fast function) noexcept {
        return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
    }

    // The entry for `close`, or the end of the table if `T` leaves that to its Python class.
    static PyMethodDef close_method() noexcept {
        if constexpr (requires(T& instance) { instance.close(); })
            return {"close", &close, METH_NOARGS, docs::close};
        else return {nullptr, nullptr, 0, nullptr};
    }

    // What `action(instance)` returns, or null with the exception set that it threw.
    template <class Action>
    static PyObject* guarded(PyObject* self, Action&& action) noexcept {
        if (!nanobind::inst_ready(self)) [[unlikely]] {
            PyErr_SetString(PyExc_TypeError, "the communicator was never initialised: its __init__ did not run");
            return nullptr;
        }
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<Action, T&>>) {
                action(*nanobind::inst_ptr<T>(self));
                Py_RETURN_NONE;
            } else {
                return action(*nanobind::inst_ptr<T>(self)).release().ptr();
            }
        } catch (nanobind::python_error& error) {
            error.restore();
        } catch (const comm::Error& error) {
            set_python_error(error);
        } catch (const std::bad_alloc&) {
            PyErr_NoMemory();
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

    static PyObject* stats(PyObject* self, PyObject*) noexcept {
        return guarded(self, [](T& instance) { return instance.stats(); });
    }

    static PyObject* close(PyObject* self, PyObject*) noexcept {
        return guarded(self, [](T& instance) { instance.close(); });
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

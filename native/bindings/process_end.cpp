// `_native.comm`: how this process ends, as far as Python tells nobody or is no longer there to do it.
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <cstdint>

#include "bindings/comm.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

// The SystemExit that ends a program passes by sys.excepthook, and is gone when the first exit handler runs. The
// one moment at which it differs from one that somebody caught is its own end: then no Python code runs any more.
destructor dealloc_exit = nullptr;
unsigned long main_thread = 0;
long exit_status = 0;

long status_of(PyObject* code) {
    if (code == nullptr || code == Py_None) return 0;
    if (!PyLong_Check(code)) return 1;  // a text, which Python prints
    int overflow = 0;
    const long value = PyLong_AsLongAndOverflow(code, &overflow);
    return overflow == 0 ? value : 1;
}

void note_and_dealloc_exit(PyObject* error) {
    if (PyEval_GetFrame() == nullptr && PyThread_get_thread_ident() == main_thread)
        exit_status = status_of(reinterpret_cast<PySystemExitObject*>(error)->code);
    dealloc_exit(error);
}

void watch_exit(unsigned long main) {
    main_thread = main;
    auto* const type = reinterpret_cast<PyTypeObject*>(PyExc_SystemExit);
    if (dealloc_exit != nullptr) return;
    dealloc_exit = type->tp_dealloc;
    type->tp_dealloc = note_and_dealloc_exit;
}

struct Finaliser {
    int (*is_done)(int*) = nullptr;
    int (*finish)() = nullptr;
    pid_t owner = 0;
} finaliser;

// After Python's own end, because views of shared memory are valid until then; never in a forked child, which
// would speak for its parent.
void finalise() {
    int done = 0;
    if (getpid() != finaliser.owner || finaliser.is_done(&done) != 0 || done != 0) return;
    finaliser.finish();
}

void finalise_at_end(std::uintptr_t is_done, std::uintptr_t finish) {
    finaliser.is_done = reinterpret_cast<int (*)(int*)>(is_done);  // NOLINT(performance-no-int-to-ptr)
    finaliser.finish = reinterpret_cast<int (*)()>(finish);        // NOLINT(performance-no-int-to-ptr)
    finaliser.owner = getpid();
    if (Py_AtExit(finalise) != 0) nb::raise("too many functions wait for the end of Python");
}

}  // namespace

void bind_process_end(nb::module_& m) {
    m.def("watch_exit", &watch_exit, "main_thread"_a, "From now on `exit_status` knows.");
    m.def(
        "exit_status", [] { return exit_status; },
        "Status of the SystemExit that left the main program; 0 if none has.");
    m.def("finalise_at_end", &finalise_at_end, "is_done"_a, "finish"_a,
          "Call ``finish`` when Python has ended, unless ``is_done`` says that somebody has: addresses of "
          "MPI_Finalize "
          "and MPI_Finalized.");
}

}  // namespace cobre::bindings

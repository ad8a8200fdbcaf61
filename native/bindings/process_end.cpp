// `_native.comm`: what is done after the end of Python.
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <cstdint>

#include "bindings/comm.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cobre::bindings {

namespace {

struct Finaliser {
    int (*is_done)(int*) = nullptr;
    int (*finish)() = nullptr;
    pid_t owner = 0;
} finaliser;

// After the interpreter has ended, because views of shared memory are valid until then. Not in a forked child,
// which is no rank.
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
    m.def("finalise_at_end", &finalise_at_end, "is_done"_a, "finish"_a,
          "Call ``finish`` when Python has ended, unless ``is_done`` says that this was done: addresses of "
          "MPI_Finalize "
          "and MPI_Finalized.");
}

}  // namespace cobre::bindings

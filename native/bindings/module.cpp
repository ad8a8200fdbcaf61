// The one compiled extension. Only the files in this folder include Python's headers.
#define COBRE_IMPORTS_NUMPY
#include <nanobind/nanobind.h>

#include "bindings/calls_under_way.hpp"
#include "bindings/comm.hpp"
#include "bindings/errors.hpp"
#include "bindings/lp.hpp"
#include "bindings/numpy_api.hpp"
#include "comm/lifetime.hpp"

namespace nb = nanobind;

NB_MODULE(_native, m) {
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    m.doc() = "The compiled core of Cobre. Private: use the packages above it.";
    cobre::bindings::register_errors();
    cobre::bindings::CallUnderWay::settle_at_exit();
    static_cast<void>(cobre::comm::fork_generation());  // registers the fork handler before anybody can fork

    nb::module_ comm = m.def_submodule("comm", "Argument checks, folds and communicators.");
    cobre::bindings::bind_arguments(comm);
    cobre::bindings::bind_foreign_transport(comm);
    cobre::bindings::bind_local(comm);
    cobre::bindings::bind_process_end(comm);
    cobre::bindings::bind_trace(comm);
    cobre::bindings::bind_shm(comm);
    cobre::bindings::bind_tcp(comm);

    nb::module_ fitting = m.def_submodule("fitting", "Linear systems and correlations of inflow models.");
    cobre::bindings::bind_fitting(fitting);
    nb::module_ lp = m.def_submodule("lp", "Linear programs, solved by HiGHS a batch at a time.");
    cobre::bindings::bind_lp(lp);
    cobre::bindings::bind_lp_paths(lp);
    cobre::bindings::bind_linearise(lp);
    nb::module_ noise = m.def_submodule("noise", "Seeds, generator, normal numbers, sampling and correlation.");
    cobre::bindings::bind_noise(noise);
    nb::module_ output = m.def_submodule("output", "The files of a simulation.");
    cobre::bindings::bind_output(output);
}

// NumPy's C API, included one way everywhere. Exactly one file defines COBRE_IMPORTS_NUMPY first.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL cobre_numpy_api
#ifndef COBRE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif

#include <Python.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <numpy/arrayobject.h>
#pragma GCC diagnostic pop

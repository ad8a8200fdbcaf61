"""A package, so that it comes before the distribution `comm` that Jupyter kernels need."""

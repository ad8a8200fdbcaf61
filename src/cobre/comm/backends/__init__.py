"""One file per backend: a communicator class and a ``BACKEND`` record. They do not import each other."""

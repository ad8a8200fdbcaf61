"""One file per backend: a communicator class and a ``BACKEND`` record. They never know each other."""

"""The communication contract as checks that run inside the ranks of any communicator.

Without pytest, for any backend, also one of a third party::

    python -m cobre.comm.testing -n 4 --backend NAME

or from a program, in every rank::

    from cobre.comm.testing import run_checks
    run_checks(comm)            # raises Failure at the first broken promise

Each check is one promise. Data come from a seed, so that every rank can compute what all the others send and
compares exact bytes; nothing is compared approximately.
"""

from __future__ import annotations

from cobre.comm.testing.catalogue import CHECKS
from cobre.comm.testing.checks import Check, Context
from cobre.comm.testing.expectations import Failure
from cobre.comm.testing.runner import choose, run_checks
from cobre.comm.testing.sequences import digest

__all__ = ["CHECKS", "Check", "Context", "Failure", "choose", "digest", "run_checks"]

"""What the conformance kit's digest must be, computed by ranks that are threads of this process."""

from __future__ import annotations

import functools
import re

from cobre.comm.testing import digest
from faulty.threaded import run_threaded


@functools.cache
def reference_digest(size: int) -> str:
    """The digest of every communicator with so many ranks."""
    [one] = set(run_threaded(digest, size))
    return one


def digest_in(said: str) -> str:
    """The digest in the output of the kit."""
    return re.search(r"^(?:\[\d+\] )?digest +([0-9a-f]{64})$", said, re.MULTILINE)[1]

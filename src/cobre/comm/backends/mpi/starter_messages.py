"""What the ``mpiexec`` of Open MPI and of MPICH's family print about a rank that failed."""

from __future__ import annotations

import re

from cobre.comm.backend import StarterMessages

__all__ = ["MESSAGES"]

MESSAGES = StarterMessages(
    failed_call=re.compile(rb"Fatal error in |\*\*\* An error occurred in "),  # MPICH's family; Open MPI
    killed_rank=re.compile(r"process rank (\d+) .*?exited on\s+signal (\d+)", re.DOTALL),  # Open MPI alone
    signal=re.compile(r"\bsignal\s+(\d+)"),  # the one word that both have in common
)

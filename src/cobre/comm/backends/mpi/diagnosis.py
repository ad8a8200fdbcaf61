"""What ``cobre doctor`` says about MPI: the library that mpi4py loads, and which launchers belong to it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from cobre.comm.backend import Finding
from cobre.comm.backends.mpi import BACKEND
from cobre.comm.backends.mpi.mpiexec import Library, find_library, find_mpiexec, is_of
from cobre.errors import BackendNotAvailable

__all__ = ["diagnose"]


def diagnose(environ: Mapping[str, str]) -> list[Finding]:
    """The library, its ``mpiexec``, and whether a bare ``mpiexec`` would start another one's ranks."""
    try:
        library = find_library()
    except BackendNotAvailable as error:
        return [Finding("problem", "mpi", error.message, error.suggestion)]
    findings = [Finding("ok", "mpi", f"mpi4py loads {library.vendor} from {library.path}")]
    try:
        mpiexec = find_mpiexec(library, environ)
    except BackendNotAvailable as error:
        return [*findings, Finding("problem", "mpi", error.message, error.suggestion)]
    findings.append(Finding("ok", "mpi", f"cobre launch --backend mpi uses {mpiexec}"))
    return [*findings, *_started_by(library, mpiexec, environ), *_on_path(library, mpiexec, environ)]


def _started_by(library: Library, mpiexec: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """A problem if this very process is a rank that the ``mpiexec`` of another MPI started."""
    group = BACKEND.launched_group(environ)
    if group is None or not group.has_several_ranks:
        return
    is_open_mpi = {"OMPI_COMM_WORLD_SIZE": True, "PMI_SIZE": False}.get(group.variable)
    if is_open_mpi is None or is_open_mpi == library.is_open_mpi or "SLURM_STEP_ID" in environ:
        return  # SLURM serves several kinds of MPI, each in its own way
    yield Finding(
        "problem",
        "mpi",
        f"a launcher started {group.described}, but not that of {library.vendor}: every rank believes that it is alone",
        f"start ranks with cobre launch --backend mpi or {mpiexec}",
    )


def _on_path(library: Library, mpiexec: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Which MPI a bare ``mpiexec``, ``mpirun`` or ``srun`` starts."""
    for name in ("mpiexec", "mpirun"):
        found = shutil.which(name, path=environ.get("PATH"))
        if found is None or Path(found).resolve() == mpiexec.resolve():
            continue
        if is_of(library, Path(found)):
            yield Finding("ok", "mpi", f"{name} on PATH matches: {found} is of {library.vendor}, too")
        else:
            yield Finding(
                "note",
                "mpi",
                f"{name} on PATH does not match: {found} is not of {library.vendor}, and every rank that it starts "
                "believes that it is alone",
                f"start ranks with cobre launch --backend mpi or {mpiexec}",
            )
    srun = shutil.which("srun", path=environ.get("PATH"))
    if srun is not None:
        yield Finding("ok", "mpi", f"{srun} starts ranks, too: srun --mpi=list shows how")

"""What ``cobre doctor`` says about MPI: the library that mpi4py loads, and which launchers belong to it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from cobre.comm.backend import Finding
from cobre.comm.backends.mpi.mpiexec import find_library, find_mpiexec
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
    on_path = shutil.which("mpiexec", path=environ.get("PATH"))
    if on_path is not None and not Path(on_path).samefile(mpiexec):
        findings.append(
            Finding(
                "note",
                "mpi",
                f"mpiexec on PATH is another one: {on_path}",
                f"start ranks with cobre launch --backend mpi or {mpiexec}; if both are not of {library.vendor}, "
                "every rank of the wrong one believes that it is alone",
            )
        )
    return findings

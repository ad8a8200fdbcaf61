"""The ``shm`` backend: many processes of one machine, over POSIX shared memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cobre._native import comm as _core
from cobre.comm.backend import (
    Backend,
    Detection,
    Finding,
    LaunchVariables,
    Leftover,
    RankCommand,
    Unavailable,
    refuse,
)
from cobre.comm.closing import ClosesAfterUse
from cobre.comm.config import ShmConfig, missing_if_begun, shm_config_from
from cobre.comm.limits import read_limits
from cobre.comm.memory import available_memory
from cobre.comm.protocol import GroupMember, SharedRegion, documented_by
from cobre.comm.regions import RegionBase, checked_block, checked_request, closed_region
from cobre.errors import AllocationFailed, InitializationFailed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

__all__ = ["BACKEND", "ShmCommunicator", "ShmRegion"]

LIMITS = {
    "chunk_bytes": 128 << 10,
    "ring_bytes": 2 << 20,
    "inline_bytes": 48,
    "slice_bytes": 32 << 10,
    "vm_read_bytes": 256 << 10,
}

DIRECTORY = Path("/dev/shm")  # noqa: S108 - the folder of POSIX shared memory, no temporary file
PREFIX = "cobre_comm_"
MAGIC = b"COBRESHM"  # the first bytes of a segment
MIB = 1 << 20
SMALLEST_ROOM = 16 * MIB  # a group of a few dozen ranks

LARGEST_COUNT = 2**63 - 1  # more than any memory holds, and what the core counts with


@documented_by(GroupMember)
class ShmCommunicator(_core.ShmCommunicator, ClosesAfterUse):
    """Ranks of one machine. `attach` makes one; the collectives are the native ones, inherited."""

    @classmethod
    def attach(cls, config: ShmConfig) -> ShmCommunicator:
        """Join the group of the segment ``config.name``; returns once all ranks have.

        Rank 0 creates the segment and the others wait for it. When this returns, its name is gone again.
        """
        refusal = _unavailable()
        if refusal is not None:
            refuse("shm", refusal)
        available, limited_by = available_memory()
        try:
            return cls(
                config.name,
                index(config.rank),
                index(config.size),
                config.connect_timeout,
                config.timeout,
                **read_limits("shm", LIMITS, os.environ),
                available_bytes=available,
                limited_by=limited_by,
            )
        except AllocationFailed as error:
            raise InitializationFailed(
                "shm", error, f"the shm backend did not start: {error.message}", suggestion=error.suggestion
            ) from error

    @property
    def backend(self) -> str:
        return "shm"

    @property
    def is_leader(self) -> bool:
        return self.rank == 0

    def create_shared_region(self, count: int, dtype: DTypeLike = "float64") -> ShmRegion:
        self.require_usable("create_shared_region")
        number, resolved, requested = checked_request(count, dtype)
        available, limited_by = available_memory()
        try:
            memory = self.create_region(min(number, LARGEST_COUNT), resolved, available, limited_by)
        except AllocationFailed as error:
            raise AllocationFailed(requested, error.message, suggestion=error.suggestion) from None
        return ShmRegion(self, memory, number, resolved)

    def split_local(self) -> ShmCommunicator:
        self.require_usable("split_local")
        available, limited_by = available_memory()
        return ShmCommunicator(self, available, limited_by)

    def __repr__(self) -> str:
        return f"ShmCommunicator(rank={self.rank}, size={self.size})"


@documented_by(SharedRegion)
class ShmRegion(RegionBase):
    """A region that all ranks have mapped. Arrays over it keep the memory; it has no name in the system."""

    def __init__(
        self, comm: ShmCommunicator, memory: _core.SharedMemory, count: int, dtype: np.dtype[Any]
    ) -> None:
        self._comm = comm
        self._memory: _core.SharedMemory | None = memory
        super().__init__(count, dtype)

    def as_slice(self) -> NDArray[Any]:
        return self._view(0, self._count, writable=False)

    def as_mut_slice(self) -> NDArray[Any]:
        return self._view(0, self._count if self._comm.is_leader else 0, writable=True)

    def as_mut_block(self, start: int, count: int) -> NDArray[Any]:
        self._open()
        block = checked_block(start, count, self._count)
        return self._view(block.start, block.stop - block.start, writable=True)

    def fence(self) -> None:
        self._comm.fence(self._open())

    def close(self) -> None:
        self._memory = None

    def _view(self, start: int, count: int, *, writable: bool) -> NDArray[Any]:
        view: NDArray[Any] = self._open().array(self._dtype, start * self._dtype.itemsize, count, writable)
        return view

    def _open(self) -> _core.SharedMemory:
        if self._memory is None:
            raise closed_region()
        return self._memory


def _unavailable() -> Unavailable | None:
    if sys.platform != "linux":
        return Unavailable(f"it needs Linux, and this is {sys.platform}", "use tcp or mpi")
    if not DIRECTORY.is_dir():
        return Unavailable("there is no /dev/shm", "mount a tmpfs at /dev/shm, or use tcp or mpi")
    return None


def _detect(environ: Mapping[str, str]) -> Detection:
    if environ.get("COBRE_SHM_NAME"):
        return Detection(fits=True)
    needed = ("COBRE_SHM_NAME", "COBRE_SHM_RANK", "COBRE_SHM_SIZE")
    return Detection(fits=False, missing=missing_if_begun("COBRE_SHM_", needed, environ))


def _rank_commands(argv: Sequence[str], size: int) -> list[RankCommand]:
    name = f"/{PREFIX}{os.urandom(8).hex()}"
    return [
        RankCommand(
            tuple(argv),
            {
                "COBRE_COMM_BACKEND": "shm",
                "COBRE_SHM_NAME": name,
                "COBRE_SHM_RANK": str(rank),
                "COBRE_SHM_SIZE": str(size),
            },
            rank,
            leaves=(f"{DIRECTORY}{name}",),
        )
        for rank in range(size)
    ]


def _candidates() -> list[Path]:
    """What has a name of ours, and what else in the folder is a segment of this user: its group chose the name."""
    return [path for path in sorted(DIRECTORY.iterdir()) if path.name.startswith(PREFIX) or _is_segment(path)]


def _is_segment(path: Path) -> bool:
    try:
        if not path.is_file() or path.stat().st_uid != os.geteuid():
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:  # gone meanwhile, or closed to its own user
        return False


def _leftovers() -> list[Leftover]:
    """Segments and regions that still have a name: of groups that are just meeting or making one, or were killed so."""
    found = []
    for path in _candidates():
        name = f"/{path.name}"
        try:
            pid, is_alive = _core.creator_of_segment(name)
            owner, size = f"pid {pid}, {'alive' if is_alive else 'dead'}", path.stat().st_size
        except (
            InitializationFailed,
            OSError,
        ) as error:  # gone meanwhile, another user's, or no segment at all
            if not path.exists():
                continue
            text = error.message if isinstance(error, InitializationFailed) else str(error)
            is_alive, owner, size = True, text, path.stat().st_size
        found.append(Leftover(str(path), size, is_alive, owner, partial(_core.reclaim_segment, name)))
    return found


def _diagnose() -> list[Finding]:
    if _unavailable() is not None:
        return []
    import shutil  # large, and for the doctor alone: a rank need not load it

    usage = shutil.disk_usage(DIRECTORY)
    text = f"{DIRECTORY}: {usage.free / MIB:,.0f} of {usage.total / MIB:,.0f} MiB are free"
    findings = [Finding("ok", "shm", text)]
    if usage.free < SMALLEST_ROOM:
        remedy = "remove what fills it, or mount it larger (docker run --shm-size=1g)"
        findings = [Finding("problem", "shm", text, remedy)]
    if not os.access(DIRECTORY, os.W_OK):
        remedy = f"let this user write to {DIRECTORY} (chmod 1777)"
        findings.append(Finding("problem", "shm", f"{DIRECTORY} cannot be written", remedy))
    return findings


BACKEND = Backend(
    name="shm",
    detect=_detect,
    configure=shm_config_from,
    open=ShmCommunicator.attach,
    rank_commands=_rank_commands,
    unavailable=_unavailable,
    config_type=ShmConfig,
    limits=LIMITS,
    launch_variables=(LaunchVariables("COBRE_SHM_RANK", "COBRE_SHM_SIZE"),),
    timeout_variable="COBRE_SHM_TIMEOUT_SECS",
    most_ranks=_core.MOST_SHM_RANKS,
    leftovers=_leftovers,
    diagnose=_diagnose,
)

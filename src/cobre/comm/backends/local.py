"""The ``local`` backend: one rank, with the same argument checks as all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cobre._native import comm as _core
from cobre.comm.backend import Backend, Detection, RankCommand
from cobre.comm.closing import ClosesAfterUse
from cobre.comm.limits import read_limits
from cobre.comm.protocol import GroupMember, documented_by
from cobre.comm.regions import AlwaysLeader, HeapRegion
from cobre.errors import InitializationFailed

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["BACKEND", "LocalCommunicator"]

LIMITS = {"release_gil_bytes": 1 << 20}


@documented_by(GroupMember)
class LocalCommunicator(_core.LocalCommunicator, AlwaysLeader, ClosesAfterUse):
    """Rank 0 of 1. ``allgatherv`` and ``allreduce`` copy, ``broadcast`` and ``barrier`` do nothing.

    The collectives are the native ones, inherited: nothing stands between the caller and the core.
    """

    def __init__(self, *, release_gil_bytes: int = LIMITS["release_gil_bytes"]) -> None:
        super().__init__(release_gil_bytes)

    @property
    def backend(self) -> str:
        return "local"

    def create_shared_region(self, count: int, dtype: DTypeLike = "float64") -> HeapRegion:
        self.require_usable("create_shared_region")
        return HeapRegion(count, dtype)

    def split_local(self) -> LocalCommunicator:
        self.require_usable("split_local")
        return LocalCommunicator()

    def __repr__(self) -> str:
        return "LocalCommunicator(rank=0, size=1)"


def _detect(environ: Mapping[str, str]) -> Detection:
    return Detection(fits=True)


def _configure(environ: Mapping[str, str]) -> dict[str, int]:
    return read_limits("local", LIMITS, environ)


def _open(limits: Mapping[str, int] | None) -> LocalCommunicator:
    return LocalCommunicator(**(limits or {}))


def _rank_commands(argv: Sequence[str], size: int) -> list[RankCommand]:
    if size != 1:
        raise InitializationFailed(
            "local",
            ValueError(f"size={size}"),
            f"the local backend has one rank, not {size}",
            suggestion="ask for one rank, or choose another backend",
        )
    return [RankCommand(tuple(argv), {"COBRE_COMM_BACKEND": "local"}, 0)]


BACKEND = Backend(
    name="local",
    detect=_detect,
    configure=_configure,
    open=_open,
    rank_commands=_rank_commands,
    limits=LIMITS,
)

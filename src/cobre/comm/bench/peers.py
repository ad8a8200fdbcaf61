"""The collectives of other libraries, measured by the same loop: mpi4py alone, and Gloo through PyTorch."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from cobre.comm.backend import RankCommand, Unavailable
from cobre.comm.bench.plan import Collectives
from cobre.comm.selection import get_backend

__all__ = ["PEERS", "Peer"]


@dataclass(frozen=True, kw_only=True)
class Peer:
    """How to start its ranks and open its communicator, and why it may not be there: what a backend's record says,
    without the rest of the contract."""

    name: str
    open: Callable[[], Collectives]
    rank_commands: Callable[[Sequence[str], int], list[RankCommand]]
    unavailable: Callable[[], Unavailable | None]
    speed_limit: str = "memcpy"


class Mpi4pyPeer:
    """``mpi4py.MPI.COMM_WORLD``, called as its documentation says."""

    backend = "mpi4py"

    def __init__(self) -> None:
        from mpi4py import MPI

        self._mpi, self._world = MPI, MPI.COMM_WORLD
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size()

    def allgatherv(self, send: Any, recv: Any, counts: Any, displs: Any) -> None:
        self._world.Allgatherv(send, [recv, counts, displs, self._mpi.DOUBLE])

    def allreduce(self, send: Any, recv: Any, op: str) -> None:
        self._world.Allreduce(send, recv, self._mpi.SUM)

    def broadcast(self, buf: Any, root: int) -> None:
        self._world.Bcast(buf, root)

    def barrier(self) -> None:
        self._world.Barrier()

    def close(self) -> None:
        pass


class GlooPeer:
    """``torch.distributed`` with Gloo. Its reduction is in place and its gather is of equal parts."""

    backend = "gloo"

    def __init__(self) -> None:
        import torch
        import torch.distributed as dist

        self._torch, self._dist = torch, dist
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        store = f"file://{os.environ['COBRE_BENCH_STORE']}"
        dist.init_process_group("gloo", init_method=store, rank=self.rank, world_size=self.size)

    def allgatherv(self, send: Any, recv: Any, counts: Any, displs: Any) -> None:
        parts = [
            self._torch.from_numpy(recv[start : start + count])
            for start, count in zip(displs, counts, strict=True)
        ]
        self._dist.all_gather(parts, self._torch.from_numpy(send))

    def allreduce(self, send: Any, recv: Any, op: str) -> None:
        np.copyto(recv, send)
        self._dist.all_reduce(self._torch.from_numpy(recv))

    def broadcast(self, buf: Any, root: int) -> None:
        self._dist.broadcast(self._torch.from_numpy(buf), root)

    def barrier(self) -> None:
        self._dist.barrier()

    def close(self) -> None:
        self._dist.destroy_process_group()


def _start_with_mpiexec(argv: Sequence[str], size: int) -> list[RankCommand]:
    return get_backend("mpi").rank_commands(argv, size)


def _start_for_gloo(argv: Sequence[str], size: int) -> list[RankCommand]:
    store = str(Path(tempfile.gettempdir()) / f"cobre_bench_{secrets.token_hex(8)}")
    shared = {"COBRE_BENCH_STORE": store, "WORLD_SIZE": str(size)}
    return [RankCommand(tuple(argv), {**shared, "RANK": str(rank)}, rank, (store,)) for rank in range(size)]


def _torch_is_missing() -> Unavailable | None:
    return None if find_spec("torch") else Unavailable("PyTorch is not installed", "pip install torch")


PEERS: Mapping[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(
            name="mpi4py",
            open=Mpi4pyPeer,
            rank_commands=_start_with_mpiexec,
            unavailable=lambda: get_backend("mpi").unavailable(),
        ),
        Peer(
            name="gloo",
            open=GlooPeer,
            rank_commands=_start_for_gloo,
            unavailable=_torch_is_missing,
            speed_limit="loopback",
        ),
    )
}
"""By name."""

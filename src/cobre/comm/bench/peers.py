"""Other people's collectives, measured by the same loop: mpi4py alone, and Gloo through PyTorch."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from cobre.comm.backend import Backend, Detection, RankCommand, Unavailable
from cobre.comm.selection import get_backend

__all__ = ["PEERS", "open_peer"]


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


def open_peer(name: str) -> Mpi4pyPeer | GlooPeer:
    """The communicator of that peer, in this rank."""
    return Mpi4pyPeer() if name == "mpi4py" else GlooPeer()


def _start_with_mpiexec(argv: Sequence[str], size: int) -> list[RankCommand]:
    return get_backend("mpi").rank_commands(argv, size)


def _start_for_gloo(argv: Sequence[str], size: int) -> list[RankCommand]:
    store = str(Path(tempfile.gettempdir()) / f"cobre_bench_{secrets.token_hex(8)}")
    shared = {"COBRE_BENCH_STORE": store, "WORLD_SIZE": str(size)}
    return [RankCommand(tuple(argv), {**shared, "RANK": str(rank)}, rank, (store,)) for rank in range(size)]


def _nothing(environ: Mapping[str, str]) -> None:
    return None


def _torch_is_missing() -> Unavailable | None:
    return None if find_spec("torch") else Unavailable("PyTorch is not installed", "pip install torch")


PEERS = [
    Backend(
        name="mpi4py",
        detect=lambda environ: Detection(fits=False),
        configure=_nothing,
        open=lambda config: open_peer("mpi4py"),  # type: ignore[arg-type,return-value]
        rank_commands=_start_with_mpiexec,
        unavailable=lambda: get_backend("mpi").unavailable(),
    ),
    Backend(
        name="gloo",
        detect=lambda environ: Detection(fits=False),
        configure=_nothing,
        open=lambda config: open_peer("gloo"),  # type: ignore[arg-type,return-value]
        rank_commands=_start_for_gloo,
        unavailable=_torch_is_missing,
        speed_limit="loopback",
    ),
]
"""Records like those of backends: how to start their ranks, and why they may not be there."""

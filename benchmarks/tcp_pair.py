"""Inside the ranks of a job: ours, theirs and the bare kernel, alternating sample by sample. Started by tcp_peers.py.

    tcp_pair.py mpi|gloo SCALE ONLY

Each sample is the maximum over ranks of a few calls after a barrier. Prints one JSON line per operation.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from tcp_limits import FRAMES_BYTES, Bare

from cobre.comm import ReduceOp, TcpCommunicator, TcpConfig


class Mpi:
    """mpi4py over whatever mpiexec started us."""

    def __init__(self):
        self._comm = importlib.import_module("mpi4py.MPI").COMM_WORLD
        self.rank, self.size = self._comm.rank, self._comm.size
        self.barrier, self.allgather = self._comm.Barrier, self._comm.allgather

    def allreduce(self, send, recv):
        return partial(self._comm.Allreduce, send, recv)

    def gather(self, send, recv, counts):
        return partial(self._comm.Allgatherv, send, [recv, counts])

    def broadcast(self, buf):
        return partial(self._comm.Bcast, buf, 0)


class Gloo:
    """torch.distributed, with the variables that torchrun would set."""

    def __init__(self):
        self._torch = importlib.import_module("torch")
        self._comm = importlib.import_module("torch.distributed")
        self._torch.set_num_threads(1)
        self._comm.init_process_group("gloo")
        self.rank, self.size = self._comm.get_rank(), self._comm.get_world_size()
        self.barrier = self._comm.barrier

    def allgather(self, item):
        items = [None] * self.size
        self._comm.all_gather_object(items, item)
        return items

    def allreduce(self, send, recv):
        tensor = self._torch.from_numpy(recv)  # it reduces in place only; what is summed does not matter here
        return partial(self._comm.all_reduce, tensor)

    def gather(self, send, recv, counts):
        parts = list(self._torch.from_numpy(recv).split(counts))
        return partial(self._comm.all_gather, parts, self._torch.from_numpy(send))

    def broadcast(self, buf):
        return partial(self._comm.broadcast, self._torch.from_numpy(buf), 0)


def main(peer, scale: float, only: str) -> None:
    """Every operation in turn."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = peer.allgather(probe.getsockname()[1])[0]
    bare = Bare(peer.rank, peer.size, peer.allgather)
    with TcpCommunicator.connect(TcpConfig("127.0.0.1", peer.rank, peer.size, port=port)) as comm:
        pin(peer.rank, peer.size)
        for name, calls, samples, *contenders in operations(comm, peer, bare):
            if only and not any(word in name for word in only.split(",")):
                continue
            medians = measure(comm, peer, calls, max(6, int(samples * scale)), contenders)
            stars = [median for median, call in zip(medians, contenders, strict=True) if _is_star(call)]
            others = [median for median, call in zip(medians, contenders, strict=True) if not _is_star(call)]
            if peer.rank == 0:
                print(json.dumps({"op": name, "medians_us": others, "stars_us": stars}), flush=True)


def pin(rank: int, size: int) -> None:
    """A processor for each rank where there are enough.

    MPI's ranks spin: one that shares a processor with a rank that is behind keeps it from its turn for milliseconds.
    """
    processors = sorted(os.sched_getaffinity(0))
    if size <= len(processors):
        for thread in Path("/proc/self/task").iterdir():
            os.sched_setaffinity(int(thread.name), {processors[rank]})


def _is_star(call) -> bool:
    return getattr(call, "is_star", False)


def operations(comm, peer, bare):
    """Name, calls per sample, samples, our call, theirs, and the bare ones."""
    yield "ping-pong of 1 byte", 50, 300, *bare.ping_pong()
    yield "barrier", 50, 600, comm.barrier, peer.barrier, *bare.swap(FRAMES_BYTES)[:1]
    for name, n_bytes, calls, samples in (
        ("allreduce 32 B", 32, 50, 600),
        ("allreduce 64 KiB", 65536, 10, 200),
        ("allreduce 8 MiB", 8 << 20, 1, 60),
    ):
        send, recv = np.full(n_bytes // 8, peer.rank + 1.0), np.zeros(n_bytes // 8)
        ours = partial(comm.allreduce, send, recv, ReduceOp.SUM)
        least = bare.swap(FRAMES_BYTES + 1 + n_bytes) if peer.size == 2 else []
        yield name, calls, samples, ours, peer.allreduce(send, recv), *least[: 1 if n_bytes < 1000 else None]
    for name, n_bytes, calls, samples in (
        ("allgatherv 8 B per rank", 8 * peer.size, 50, 600),
        ("allgatherv 3.2 MB", 3_200_000, 1, 200),
        ("allgatherv 32 MB", 32_000_000, 1, 50),
        ("allgatherv 206 MB", 206_000_000, 1, 14),
    ):
        count = max(1, n_bytes // 8 // peer.size)
        send, recv = np.full(count, peer.rank + 1.0), np.zeros(count * peer.size)
        counts, displs = [count] * peer.size, [count * rank for rank in range(peer.size)]
        ours = partial(comm.allgatherv, send, recv, counts, displs)
        least = bare.swap(FRAMES_BYTES + 8 * count, own=8 * count)[: 1 if n_bytes < 1000 else None]
        star = bare.relay(8 * count) if peer.size > 2 and n_bytes > 1000 else []
        yield name, calls, samples, ours, peer.gather(send, recv, counts), *least, *star
    for name, n_bytes, calls, samples in (
        ("broadcast 1 KB", 1_000, 20, 300),
        ("broadcast 10 KB", 10_000, 20, 300),
        ("broadcast 100 KB", 100_000, 10, 200),
        ("broadcast 20 MB", 20_000_000, 1, 60),
    ):
        buf = np.full(n_bytes // 8, 7.0)
        yield (
            name,
            calls,
            samples,
            partial(comm.broadcast, buf, 0),
            peer.broadcast(buf),
            *bare.spread(n_bytes),
        )


def measure(comm, peer, calls, samples, contenders):
    """Medians in microseconds."""

    def sample(call):
        peer.barrier()
        comm.barrier()
        start = time.perf_counter()
        if hasattr(call, "times"):
            call.times(calls)
        else:
            for _ in range(calls):
                call()
        return (time.perf_counter() - start) / calls

    for _ in range(3):
        for call in contenders:
            sample(call)
    mine = np.empty((samples, len(contenders)))
    for i in range(samples):
        for place in np.roll(range(len(contenders)), i):
            mine[i, place] = sample(contenders[place])
    slowest = np.max(peer.allgather(mine), axis=0)
    return (np.median(slowest, axis=0) * 1e6).tolist()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main({"mpi": Mpi, "gloo": Gloo}[sys.argv[1]](), float(sys.argv[2]), sys.argv[3])

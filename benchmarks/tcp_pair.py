"""Inside the ranks of an MPI job: ours and theirs, alternating sample by sample. Started by tcp_peers.py.

Each sample is the maximum over ranks of a few calls after a barrier. Prints one JSON line per operation.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from functools import partial

import numpy as np
from mpi4py import MPI

from cobre.comm import ReduceOp, TcpCommunicator, TcpConfig

mpi = MPI.COMM_WORLD
RANK, SIZE = mpi.rank, mpi.size


def main(scale: float, only: str) -> None:
    """Every operation in turn."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = mpi.bcast(probe.getsockname()[1])
    with TcpCommunicator.connect(TcpConfig("127.0.0.1", RANK, SIZE, port=port)) as comm:
        for name, calls, samples, ours, theirs in operations(comm):
            if only and not any(word in name for word in only.split(",")):
                continue
            mine, peer = measure(comm, calls, max(6, int(samples * scale)), ours, theirs)
            if RANK == 0:
                print(json.dumps({"op": name, "ours_us": mine, "peer_us": peer}), flush=True)


def operations(comm):
    """Name, calls per sample, samples, our call, theirs."""
    yield "barrier", 50, 800, comm.barrier, mpi.Barrier
    for name, n_bytes, calls, samples in (
        ("allreduce 32 B", 32, 50, 600),
        ("allreduce 64 KiB", 65536, 10, 300),
        ("allreduce 8 MiB", 8 << 20, 1, 120),
    ):
        send, recv = np.full(n_bytes // 8, RANK + 1.0), np.zeros(n_bytes // 8)
        yield (
            name,
            calls,
            samples,
            partial(comm.allreduce, send, recv, ReduceOp.SUM),
            partial(mpi.Allreduce, send, recv),
        )
    for name, n_bytes, calls, samples in (
        ("allgatherv 8 B per rank", 8 * SIZE, 50, 600),
        ("allgatherv 3.2 MB", 3_200_000, 1, 250),
        ("allgatherv 32 MB", 32_000_000, 1, 50),
        ("allgatherv 206 MB", 206_000_000, 1, 14),
    ):
        count = max(1, n_bytes // 8 // SIZE)
        send, recv = np.full(count, RANK + 1.0), np.zeros(count * SIZE)
        counts, displs = [count] * SIZE, [count * rank for rank in range(SIZE)]
        ours = partial(comm.allgatherv, send, recv, counts, displs)
        yield name, calls, samples, ours, partial(mpi.Allgatherv, send, [recv, counts])
    for name, n_bytes, calls, samples in (
        ("broadcast 10 KB", 10_000, 20, 400),
        ("broadcast 20 MB", 20_000_000, 1, 60),
    ):
        buf = np.full(n_bytes // 8, 7.0)
        yield name, calls, samples, partial(comm.broadcast, buf, 0), partial(mpi.Bcast, buf, 0)


def measure(comm, calls, samples, ours, theirs):
    """Medians in microseconds."""

    def sample(call):
        mpi.Barrier()
        comm.barrier()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - start) / calls

    for _ in range(3):
        sample(ours), sample(theirs)
    pairs = np.array(
        [
            (sample(ours), sample(theirs)) if i % 2 else (sample(theirs), sample(ours))[::-1]
            for i in range(samples)
        ]
    )
    everybody = np.empty((SIZE, *pairs.shape))
    mpi.Allgather(pairs, everybody)
    mine, peer = np.median(everybody.max(0), axis=0) * 1e6
    return float(mine), float(peer)


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2])

"""Which machines the ranks of a run are on."""

from __future__ import annotations

import socket

import numpy as np

from cobre.comm import GroupMember

NAME_BYTES = 64
"""No name of a Linux machine is longer."""


def host_names(comm: GroupMember) -> list[str]:
    """Collective: the name of each rank's machine, in rank order."""
    mine = np.zeros(NAME_BYTES, dtype=np.uint8)
    name = socket.gethostname().encode()[:NAME_BYTES]
    mine[: len(name)] = np.frombuffer(name, dtype=np.uint8)
    everyone = np.empty(comm.size * NAME_BYTES, dtype=np.uint8)
    starts = [NAME_BYTES * rank for rank in range(comm.size)]
    comm.allgatherv(mine, everyone, [NAME_BYTES] * comm.size, starts)
    return [row.tobytes().rstrip(b"\0").decode(errors="replace") for row in everyone.reshape(comm.size, -1)]


def distribution(backend: str, names: list[str], threads: int) -> dict[str, object]:
    """How a run was spread over machines, as plain data; ``names`` are those of `host_names`, ``threads`` of rank 0."""
    hosts = {name: [rank for rank, other in enumerate(names) if other == name] for name in names}
    return {
        "backend": backend,
        "world_size": len(names),
        "ranks_participated": len(names),
        "num_hosts": len(hosts),
        "threads_per_rank": threads,
        "hosts": [{"hostname": name, "ranks": ranks} for name, ranks in hosts.items()],
    }

"""A lookup table that every rank of a machine reads, and that exists once where the backend can share memory.

    python examples/shared_table.py
    cobre launch -n 4 examples/shared_table.py

The ranks of one machine (`split_local`) fill their blocks of the table, `fence` makes them visible to all, and
all ranks read without a copy. On backends without shared memory each process has a table of its own, and nothing
here changes.
"""

import numpy as np

from cobre.comm import ReduceOp, contiguous_block, create_communicator

ENTRIES = 1 << 16
QUERIES = 10_000


def entries(start: int, count: int) -> np.ndarray:
    return np.sqrt(np.arange(start, start + count, dtype=float))


def queries(start: int, count: int) -> np.ndarray:
    # A fixed sequence that looks random: query i does not depend on who asks it.
    return (np.arange(start, start + count, dtype=np.uint64) * np.uint64(2654435761)) % np.uint64(ENTRIES)


def main() -> None:
    with create_communicator() as comm, comm.create_shared_region(ENTRIES) as table:
        with comm.split_local() as neighbours:
            start, count = contiguous_block(ENTRIES, neighbours.rank, neighbours.size)
            table.as_mut_block(start, count)[:] = entries(start, count)
        table.fence()

        mine = queries(*contiguous_block(QUERIES, comm.rank, comm.size))
        found = table.as_slice()[mine]
        # Whole numbers are summed exactly, so the split over ranks cannot show in the total.
        total = np.empty(1, np.int64)
        comm.allreduce(np.array([np.floor(found).astype(np.int64).sum()]), total, ReduceOp.SUM)
        largest = np.empty(1)
        comm.allreduce(found.max(keepdims=True), largest, ReduceOp.MAX)
        if comm.rank == 0:
            print(f"{QUERIES} lookups in {ENTRIES} entries: sum {total[0]}, largest {largest[0].item()!r}")
        del found


if __name__ == "__main__":
    main()

"""The mean of a series of which every rank computes only its own block.

    python examples/distributed_mean.py
    cobre launch -n 4 --backend NAME examples/distributed_mean.py

`allreduce` adds the ranks' sums in rank order, so every backend gives the same bits for the same number
of ranks. Another number of ranks means other partial sums, and perhaps another last digit. What must
not depend on it either is gathered and summed once.
"""

import numpy as np

from cobre.comm import ReduceOp, block_layout, contiguous_block, create_communicator

LENGTH = 1000


def series(start: int, count: int) -> np.ndarray:
    # Division rounds every element by itself, so no element depends on where a block begins.
    return 1.0 / np.arange(start + 1, start + count + 1)


def main() -> None:
    with create_communicator() as comm:
        start, count = contiguous_block(LENGTH, comm.rank, comm.size)
        block = series(start, count)
        block_sum = np.array([block.sum()])

        total = np.empty(1)
        comm.allreduce(block_sum, total, ReduceOp.SUM)

        everything = np.empty(LENGTH)
        comm.allgatherv(block, everything, *block_layout(LENGTH, comm.size))

        last = start + count - 1
        print(
            f"rank {comm.rank} of {comm.size} summed elements {start}..{last}: {block_sum[0]:.6f}", flush=True
        )
        comm.barrier()  # rank 0 has the last word
        if comm.rank == 0:
            print(f"mean, the same on every backend: {total[0] / LENGTH}")
            print(f"mean, the same for every number of ranks: {everything.mean()}")


if __name__ == "__main__":
    main()

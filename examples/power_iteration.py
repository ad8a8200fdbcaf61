"""The largest eigenvalue of a matrix of which every rank holds only a block of rows.

    python examples/power_iteration.py
    cobre launch -n 4 examples/power_iteration.py

Each step multiplies the block with the vector and gathers the blocks of the product with `allgatherv`. Every rank then
has the whole vector and norms it in the same order, so the result is the same to the last bit on every backend and for
every number of ranks.
"""

import numpy as np

from cobre.comm import block_layout, contiguous_block, create_communicator

ORDER = 60
STEPS = 200


def rows(start: int, count: int) -> np.ndarray:
    i, j = np.arange(start, start + count)[:, None], np.arange(ORDER)[None, :]
    return 1.0 / (1.0 + abs(i - j))


def multiply(block: np.ndarray, vector: np.ndarray) -> np.ndarray:
    # Row by row in a fixed order. A library product may round differently for another number of rows.
    return (block * vector).sum(axis=1)


def main() -> None:
    with create_communicator() as comm:
        block = rows(*contiguous_block(ORDER, comm.rank, comm.size))
        counts, displs = block_layout(ORDER, comm.size)
        vector = np.full(ORDER, 1.0)
        eigenvalue = 0.0
        for _ in range(STEPS):
            product = np.empty(ORDER)
            comm.allgatherv(multiply(block, vector), product, counts, displs)
            eigenvalue = float(np.sqrt((product * product).sum()))
            vector = product / eigenvalue
        if comm.rank == 0:
            print(f"largest eigenvalue of order {ORDER}: {eigenvalue!r}")
            print(f"first component of its vector: {vector[0].item()!r}")


if __name__ == "__main__":
    main()

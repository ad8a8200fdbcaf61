"""Memory of the cuts of a large study: what a stage with 600 states and 5,000 cuts takes in every rank.

    python benchmarks/cut_memory.py [--stages 8] [--no-store]

Ranks of shm build stage problems with that many states and add cuts as training does, 20 per iteration. Memory is what
the operating system says of a rank (Pss: pages that ranks share count in parts), before and after.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from record import publish

from cobre.comm import Communicator, contiguous_block, run
from cobre.sddp.cuts import CutPool, synchronize_cuts
from cobre.solver import LpSolver, LpTemplate, Patches

STATES, CUTS, PER_ITERATION = 600, 5000, 20
MB = 1e6


def main() -> None:
    """Measure and show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stages", type=int, default=8)
    parser.add_argument("--no-store", action="store_true")
    options = parser.parse_args()
    numbers = CUTS * (1 + STATES) * 8 / MB
    figures = {"numbers of the cuts": numbers}
    for ranks in (1, 2, 4):
        used = run(
            rank_memory, num_workers=ranks, backend="local" if ranks == 1 else "shm", args=(options.stages,)
        )
        figures[f"{ranks} ranks, each"] = max(used) / options.stages
    publish("cut_memory", "MB per stage", figures, is_stored=not options.no_store)


def rank_memory(comm: Communicator, stages: int) -> float:
    """MB that this rank's cuts take, in all stages."""
    template = LpTemplate(
        column_cost=[*[0.0] * STATES, 1.0],
        column_lower=[0.0] * (STATES + 1),
        column_upper=[*[1.0] * STATES, np.inf],
        row_lower=[],
        row_upper=[],
        row_starts=[0],
        column_indices=[],
        values=[],
        patches=Patches.of(0, []),
        cut_columns=range(STATES),
        future_cost_column=STATES,
    )
    rng = np.random.default_rng(comm.rank)
    pools = [CutPool(STATES, comm) for _ in range(stages)]
    solvers = [LpSolver(template) for _ in range(stages)]
    before = _memory_mb()
    for iteration in range(1, 1 + CUTS // PER_ITERATION):
        for pool, solver in zip(pools, solvers, strict=True):
            mine = rng.random((contiguous_block(PER_ITERATION, comm.rank, comm.size)[1], 1 + STATES))
            synchronize_cuts(comm, pool, mine, PER_ITERATION, iteration)
            solver.share_cuts(pool.rows)
            pool.close_outgrown()
    return _memory_mb() - before


def _memory_mb() -> float:
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 / MB for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    main()

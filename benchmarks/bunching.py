"""How many openings of a trial point have an optimal basis that another opening of the point has, too.

    python benchmarks/bunching.py [--cases example 4ree big big_lags] [--peer-cases FOLDER] [--no-store]

Openings that share a basis could be solved together, as products with its inverse (bunching). The chains of a
training's last iteration are recorded. Every opening is solved to its optimum, and then once from the optimal basis of
each other opening of its trial point: it is a hit where that takes no pivot. Openings are taken along the path on which
training solves them, which needs a solver call where no basis of a call before is a hit.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from clp_trial import study
from peers import CASES
from record import publish
from stage_chains import Recorded, record

from cobre.solver import LpSolver


def main() -> None:
    """Count and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--peer-cases", type=Path, help="folder with the public case 4ree")
    parser.add_argument("--no-store", action="store_true", help="print only")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.cases:
            found = shares(record(study(name, Path(folder), options.peer_cases)))
            figures |= {f"{name}, {key}": value for key, value in found.items()}
    publish("bunching", "% of the backward solves", figures, is_stored=not options.no_store)


def shares(batches: list[Recorded]) -> dict[str, float]:
    """What part of all openings needs no solver call of its own."""
    n = from_last = from_any = of_best = 0
    for batch in batches:
        order = np.arange(batch.chain_length) if batch.order is None else batch.order
        for hits in hits_of(batch)[:, order][:, :, order]:
            n += len(hits)
            from_last += int(np.count_nonzero(np.diagonal(hits, 1)))
            called: list[int] = []
            for k in range(len(hits)):
                if not hits[called, k].any():
                    called.append(k)
            from_any += len(hits) - len(called)
            of_best += int(hits.sum(axis=1).max())
    return {
        "the basis of the opening before is a hit": 100.0 * from_last / n,
        "one of all bases of the trial point before is a hit": 100.0 * from_any / n,
        "the basis with most hits": 100.0 * of_best / n,
    }


def hits_of(batch: Recorded) -> np.ndarray:
    """``[point, basis, opening]``: whether the optimal basis of one opening is that of the other, too."""
    solver = LpSolver(batch.template)
    solver.set_cuts(*batch.cuts)
    length = batch.chain_length
    n_points = len(batch.parameters) // length
    output = solver.allocate(len(batch.parameters), iterations=True, bases=True)
    starts = None if batch.start_bases is None else np.repeat(batch.start_bases, length, axis=0)
    assert solver.solve_batch(batch.parameters, output, start_bases=starts).is_optimal
    assert output.bases is not None
    bases = output.bases.reshape(n_points, length, -1)
    hits = np.zeros((n_points, length, length), dtype=np.bool_)
    again = solver.allocate(len(batch.parameters), iterations=True)
    for basis in range(length):
        same = np.repeat(bases[:, basis], length, axis=0)
        assert solver.solve_batch(batch.parameters, again, start_bases=same).is_optimal
        assert again.iterations is not None
        hits[:, basis] = again.iterations.reshape(n_points, length) == 0
    return hits


if __name__ == "__main__":
    main()

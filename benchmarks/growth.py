"""How the time of an iteration grows with cuts, openings, passes, stages and hydros: a table and a plot.

    python benchmarks/growth.py [--only cuts openings ...] [--plot FILE] [--no-store]

Studies are those of ``large_case.py``, trained on one core. Times are those of the processor: other work on the
machine does not count. ``--plot`` draws the stored figures and measures nothing; it needs matplotlib.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from large_case import Size, write_large_case
from record import RESULTS, publish

import cobre
from cobre.comm import LocalCommunicator
from cobre.sddp.training import train

SUBJECT = "growth"
BASE = Size(
    hydros=30, buses=5, thermals=30, stages=12, blocks=1, openings=10, passes=5, iterations=12, lags=0
)
SERIES = {
    "openings": (5, 10, 20, 40, 80),
    "passes": (2, 5, 10, 20, 40),
    "stages": (6, 12, 24, 48, 96),
    "hydros": (10, 30, 100, 300),
}
CUTS = (200, 500, 1000, 2000, 3000)
PASSES_FOR_CUTS = 20
MEDIAN_OF = 6
"""Iterations, the last ones before the point that is measured."""


def main() -> None:
    """Measure and store, or draw what is stored."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["cuts", *SERIES], choices=["cuts", *SERIES])
    parser.add_argument("--no-store", action="store_true", help="print only")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the stored figures")
    options = parser.parse_args()
    if options.plot is not None:
        draw(options.plot)
        return
    figures: dict[str, float] = {}
    for name in options.only:
        figures |= over_cuts() if name == "cuts" else over(name)
    is_whole = len(options.only) == 1 + len(SERIES)
    publish(
        SUBJECT, "ms of the processor per iteration", figures, is_stored=is_whole and not options.no_store
    )


def over_cuts() -> dict[str, float]:
    """One long training; every stage keeps all of its cuts."""
    times = iteration_ms(replace(BASE, passes=PASSES_FOR_CUTS, iterations=CUTS[-1] // PASSES_FOR_CUTS))
    return {f"{n} cuts": _median(times[: n // PASSES_FOR_CUTS - 1]) for n in CUTS}


def over(name: str) -> dict[str, float]:
    """A short training for each size."""
    return {f"{n} {name}": _median(iteration_ms(replace(BASE, **{name: n}))) for n in SERIES[name]}


def _median(times: list[float]) -> float:
    return statistics.median(times[-MEDIAN_OF:])


def iteration_ms(size: Size) -> list[float]:
    """Time of the processor of every iteration from the second on."""
    with tempfile.TemporaryDirectory() as folder:
        write_large_case(Path(folder), size)
        case = cobre.load_case(folder)
    ends: list[float] = []
    with LocalCommunicator() as comm:
        train(comm, case, on_progress=lambda _: ends.append(time.process_time()))
    return [1000.0 * (end - begin) for begin, end in itertools.pairwise(ends)]


def draw(path: Path) -> None:
    """A panel for each series, both axes logarithmic; the dashed line is proportional to the size."""
    from matplotlib import pyplot as plt

    figures = json.loads((RESULTS / f"{SUBJECT}.json").read_text(encoding="utf-8"))["figures"]
    sizes = {"cuts": CUTS, **SERIES}
    plt.rcParams["svg.hashsalt"] = SUBJECT
    figure, panels = plt.subplots(1, len(sizes), figsize=(13, 3), sharey=True, layout="constrained")
    for panel, (name, values) in zip(panels, sizes.items(), strict=True):
        times = [figures[f"{n} {name}"] for n in values]
        panel.loglog(values, times, "o-", color="#1f5fa8")
        panel.loglog(values, [times[0] * n / values[0] for n in values], "--", color="#888888", linewidth=1)
        panel.set_xticks(values, [str(n) for n in values], fontsize=8)
        panel.minorticks_off()
        panel.set_xlabel("cuts of a stage" if name == "cuts" else name)
        panel.grid(visible=True, color="#dddddd")
    panels[0].set_ylabel("ms per iteration")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    print(f"drawn in {path}")


if __name__ == "__main__":
    main()

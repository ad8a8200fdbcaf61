"""What saving the state of training costs at the default: every ten minutes, and at the end.

    python benchmarks/checkpoints.py [CASE ...] [--iterations N] [--workers N]

CASE is the folder of a case; without one it is the example that ``cobre init`` writes. The share is the time of all
checkpoints of a run of N iterations in percent of its training time, the last checkpoint included; the share of a long
run is the time of the largest checkpoint in percent of the ten minutes between two. Times are wall-clock times of the
first rank, which writes; with the wait for the disk.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from named_cases import named_cases
from record import publish

import cobre
from cobre.core.config import Checkpointing

INTERVAL_S = Checkpointing().interval_s


def main() -> None:
    """Measure and store what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for number, path in enumerate(named_cases(options.case, scratch)):
            output = Path(scratch) / f"output{number}"
            figures = measure(path, options.iterations, options.workers, output)
            publish(f"checkpoints_{Path(path).resolve().name}", "s, MB or % of training", figures)


def measure(path: str, iterations: int, workers: int, output: Path) -> dict[str, float]:
    """Of one run: seconds of training and of its checkpoints, their share, and the size of the last one."""
    limit = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": iterations}]}}
    result = cobre.train(path, workers, config_overrides=limit, output=output)
    saving_s = result.timings["phase_checkpoint_ms"] / 1000.0
    total_s = result.timings["wall_ms"] / 1000.0
    files = sorted((output / "checkpoint").iterdir())
    return {
        "iterations": float(iterations),
        "training_s": total_s,
        "checkpoints_s": saving_s,
        "share_of_this_run_percent": 100.0 * saving_s / total_s,
        "share_of_a_long_run_percent": 100.0 * saving_s / INTERVAL_S,
        "megabytes": files[-1].stat().st_size / 1e6,
    }


if __name__ == "__main__":
    main()

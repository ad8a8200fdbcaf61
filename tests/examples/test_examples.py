"""The example programs do what they say, on one rank and on several."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
DISTRIBUTED_MEAN = EXAMPLES / "distributed_mean.py"


def expected_lines(size: int) -> list[str]:
    series = 1.0 / np.arange(1, 1001)
    bounds = {1: [0], 2: [0, 500], 3: [0, 334, 667], 4: [0, 250, 500, 750]}[size] + [1000]
    blocks = [(start, stop, series[start:stop].sum()) for start, stop in itertools.pairwise(bounds)]
    total = 0.0
    for _, _, part in blocks:
        total += part
    return [
        *(
            f"rank {rank} of {size} summed elements {start}..{stop - 1}: {part:.6f}"
            for rank, (start, stop, part) in enumerate(blocks)
        ),
        f"mean, the same on every backend: {total / 1000}",
        f"mean, the same for every number of ranks: {series.mean()}",
    ]


def output_of(arguments, **environ: str) -> list[str]:
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(
        command, env={**os.environ, **environ}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_distributed_mean_runs_on_one_rank():
    assert output_of([DISTRIBUTED_MEAN]) == expected_lines(1)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_distributed_mean_runs_on_several_ranks(sockets_path, size):
    launch = ["-m", "cobre", "launch", "-n", size, "--backend", "sockets", "--timeout", "30", "--"]
    lines = output_of([*launch, DISTRIBUTED_MEAN], PYTHONPATH=sockets_path)
    *blocks, mean, same_mean = expected_lines(size)
    assert sorted(lines[:-2]) == [f"[{rank}] {line}" for rank, line in enumerate(blocks)]
    assert lines[-2:] == [f"[0] {mean}", f"[0] {same_mean}"]

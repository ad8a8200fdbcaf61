"""Writes ``random_bounds.json``, the optima of random cases in the tests: ``python -m format_018.stored_bounds``.

They come from the linear program over the whole tree, not from training.
"""

from __future__ import annotations

import json
from pathlib import Path

from format_018.random_cases import random_case
from format_018.whole_tree import optimum

STORED = Path(__file__).with_name("random_bounds.json")
SEEDS = range(40)


def stored_bounds() -> dict[int, float]:
    """By seed."""
    return {int(seed): bound for seed, bound in json.loads(STORED.read_text()).items()}


if __name__ == "__main__":
    bounds = {seed: optimum(random_case(seed)) for seed in SEEDS}
    STORED.write_text(json.dumps(bounds, indent=1) + "\n")

"""Runs the public Cobre 0.18 on cases of tests, and stores what it computed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from history_cases import HISTORY, history_018


def without_losses(documents: dict[str, Any]) -> None:
    """The public program does not model losses of lines."""
    for line in documents["system/lines.json"]["lines"]:
        line["losses_percent"] = 0.0


def stop_after(iterations: int, forward_passes: int, documents: dict[str, Any]) -> None:
    training = documents["config.json"]["training"]
    training["stopping_rules"] = [{"type": "iteration_limit", "limit": iterations}]
    training["selection"] = {"method": "sampled", "forward_passes": forward_passes}


def write_history(
    folder: Path, values: np.ndarray, first: str, iterations: int, change: Callable[[dict[str, Any]], None]
) -> None:
    """The example with this history and no losses; every stage keeps the lags of inflows as state."""

    def change_all(documents: dict[str, Any]) -> None:
        stop_after(iterations, 2, documents)
        without_losses(documents)
        for stage in documents["stages.json"]["stages"]:
            stage["state_variables"] = {"storage": True, "inflow_lags": True}
        change(documents)

    history_018(folder, values, first, change=change_all)
    pq.write_table(pq.read_table(folder / HISTORY), folder / HISTORY, compression="none")


def run(program: str, folder: Path) -> Path:
    """Its output folder."""
    subprocess.run([program, "run", str(folder), "--quiet"], check=True, timeout=120)
    return folder / "output"


def store(path: Path, names: Iterable[str], compute: Callable[[str, str, Path], Any]) -> None:
    """``compute(program, name, folder)`` for all names, with the program that the command line names."""
    with tempfile.TemporaryDirectory() as folder:
        found = {name: compute(sys.argv[1], name, Path(folder) / str(k)) for k, name in enumerate(names)}
    path.write_text(json.dumps(found, indent=None, separators=(",", ":")) + "\n")

"""Cases with a history whose fits the public Cobre 0.18 computed; run as a program it computes them anew.

``python -m public_fits PROGRAM`` in ``tests`` writes ``public_fits.json``: statistics, coefficients, annual terms,
correlations and the converged lower bound of each case.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from history_cases import CORRELATION
from inflow_records import river
from public_runs import run, store, write_history

STORED = Path(__file__).parent / "io/public_fits.json"
CASES = {
    "pacf": ({}, 0),
    "order_12": ({"max_order": 12}, 0),
    "bounded": ({"max_coefficient_magnitude": 0.6}, 0),
    "from_april": ({}, 3),
    "annual": ({"order_selection": "pacf_annual"}, 0),
    "annual_from_april": ({"order_selection": "pacf_annual", "max_order": 3}, 3),
}
"""Settings of the fit, and how many months of the first year the history lacks."""
TABLES = {
    "inflow_seasonal_stats": (("hydro_id", "stage_id"), ("mean_m3s", "std_m3s")),
    "inflow_ar_coefficients": (("hydro_id", "stage_id", "lag"), ("coefficient",)),
    "inflow_annual_component": (
        ("hydro_id", "stage_id"),
        ("annual_coefficient", "annual_mean_m3s", "annual_std_m3s"),
    ),
}


def write(folder: Path, name: str) -> Path:
    """The case, without line losses, which the public program does not model. Its history is rounded to 0.01 m3/s."""
    estimation, n_missing = CASES[name]

    def change(documents):
        config = documents["config.json"]
        config["simulation"]["enabled"] = False
        config["exports"], config["estimation"] = {"stochastic": True}, estimation

    values = np.round(river(45, seed=17), 2)[:, n_missing:]
    write_history(folder, values, f"1981-{1 + n_missing:02d}", 50, change)
    if "annual" in name:  # residuals of the public program lack the annual term, so its correlations differ
        entities = [{"type": "inflow", "id": 0}, {"type": "inflow", "id": 1}]
        group = {"name": "river", "entities": entities, "matrix": [[1.0, 0.6], [0.6, 1.0]]}
        profile = {"default": {"correlation_groups": [group]}}
        (folder / CORRELATION).write_text(json.dumps({"method": "spectral", "profiles": profile}))
    return folder


def fitted(folder: Path) -> dict[str, object]:
    """What ``stochastic/`` of an output folder says about the stages of the study, by place."""
    found: dict[str, object] = {}
    for name, (keys, values) in TABLES.items():
        rows = pq.read_table(folder / f"{name}.parquet").to_pylist()
        found[name] = {
            "/".join(str(row[key]) for key in keys): [row[value] for value in values]
            for row in rows
            if row["stage_id"] >= 0
        }
    profiles = json.loads((folder / "correlation.json").read_text())["profiles"]
    found["correlation"] = {
        name: [profile["correlation_groups"][0]["matrix"][0][1]] for name, profile in profiles.items()
    }
    return found


def compute(program: str, name: str, folder: Path) -> dict[str, object]:
    """The same by the public program, and its lower bound."""
    write(folder, name)
    output = run(program, folder)
    bounds = pq.read_table(output / "training/convergence.parquet")["lower_bound"].to_pylist()
    return {**fitted(output / "stochastic"), "lower_bound": bounds[-1]}


if __name__ == "__main__":
    store(STORED, CASES, compute)

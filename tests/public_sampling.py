"""Studies whose simulated inflows, loads and sources the public Cobre 0.18 computed; run as a program it does so anew.

``python -m public_sampling PROGRAM`` in ``tests`` writes ``public_sampling.json``: by study and table, the values of
all scenarios (the outer list), stages and entities. Every study is fitted to the same history.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from inflow_records import river
from public_runs import run, store, write_history

STORED = Path(__file__).parent / "io/public_sampling.json"
N_OPENINGS = N_SCENARIOS = 4


def source(inflow: str, load: str, ncs: str, **more: object) -> dict[str, object]:
    """A ``scenario_source`` with a scheme for every class."""
    schemes = {"inflow": inflow, "load": load, "ncs": ncs}
    return {"seed": 7, **{name: {"scheme": scheme} for name, scheme in schemes.items()}, **more}


METHODS = ("saa", "lhs", "qmc_sobol")
FRESH = source(*["out_of_sample"] * 3)
CASES: dict[str, tuple[str, dict[str, object] | None]] = {
    **{f"openings of {method}": (method, None) for method in METHODS},
    **{f"fresh {method}": (method, FRESH) for method in METHODS},
    "years": ("saa", source("historical", "in_sample", "in_sample")),
    "some years": (
        "saa",
        source("historical", "out_of_sample", "in_sample", historical_years={"from": 1990, "to": 2000}),
    ),
    "files": ("saa", source("external", "external", "external")),
    "files of loads": ("saa", source("out_of_sample", "external", "in_sample")),
}
"""The method of all openings, and the ``scenario_source`` of training and simulation."""
EXTERNAL = {
    "inflow": ("external_inflow_scenarios", "hydro_id", (0, 1), "value_m3s", (30.0, 200.0)),
    "load": ("external_load_scenarios", "bus_id", (0, 1, 2), "value_mw", (50.0, 150.0)),
    "ncs": ("external_ncs_scenarios", "ncs_id", (0,), "availability_factor", (0.0, 1.0)),
}
TABLES = {
    "hydros": ("hydro_id", "incremental_inflow_m3s"),
    "buses": ("bus_id", "load_mw"),
    "non_controllables": ("non_controllable_id", "available_mw"),
}
"""Of the simulation: who, and what of it is random. The first block of a stage speaks for it."""


def write(folder: Path, name: str) -> Path:
    """The study, without line losses, which the public program does not model."""
    method, scenario_source = CASES[name]

    def change(documents):
        config = documents["config.json"]
        config["simulation"] = {
            "enabled": True,
            "selection": {"method": "sampled", "num_scenarios": N_SCENARIOS},
        }
        if scenario_source is not None:
            config["training"]["scenario_source"] = scenario_source
        for stage in documents["stages.json"]["stages"]:
            stage["num_openings"], stage["sampling_method"] = N_OPENINGS, method

    write_history(folder, np.round(river(40, seed=77), 2), "1986-01", 1, change)
    for kind, (file, key, ids, value, limits) in EXTERNAL.items():
        if scenario_source is not None and scenario_source[kind] == {"scheme": "external"}:
            _write_external(folder / f"scenarios/{file}.parquet", key, ids, value, limits)
    return folder


def _write_external(
    path: Path, key: str, ids: Iterable[int], value: str, limits: tuple[float, float]
) -> None:
    rng = np.random.default_rng(5)
    places = [(stage, scenario, id_) for stage in range(12) for scenario in range(6) for id_ in ids]
    columns = zip(("stage_id", "scenario_id", key), zip(*places, strict=True), strict=True)
    table = {name: pa.array(numbers, pa.int32()) for name, numbers in columns}
    pq.write_table(
        pa.table({**table, value: np.round(rng.uniform(*limits, len(places)), 3)}), path, compression="none"
    )


def by_place(name: str, rows: Iterable[dict[str, object]]) -> list[list[list[object]]]:
    """Values (12 digits) by scenario, stage and entity from rows of a simulated table."""
    key, value = TABLES[name]
    found: dict[object, dict[object, dict[object, object]]] = {}
    for row in rows:
        if not row["block_id"]:
            found.setdefault(row["scenario_id"], {}).setdefault(row["stage_id"], {})[row[key]] = float(
                f"{row[value]:.12g}"
            )
    return [
        [[entities[each] for each in sorted(entities)] for _, entities in sorted(stages.items())]
        for _, stages in sorted(found.items())
    ]


def compute(program: str, name: str, folder: Path) -> dict[str, object]:
    """What the public program simulates."""
    write(folder, name)
    output, found = run(program, folder), {}
    for table in TABLES:
        rows = []
        for path in sorted((output / "simulation" / table).rglob("*.parquet")):
            scenario = int(path.parent.name.partition("=")[2])
            rows += [{**row, "scenario_id": scenario} for row in pq.ParquetFile(path).read().to_pylist()]
        found[table] = by_place(table, rows)
    return found


if __name__ == "__main__":
    store(STORED, CASES, compute)

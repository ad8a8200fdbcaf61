"""How long the report of a large simulation takes, and how large its page is.

    python benchmarks/report.py [--scenarios 2000] [--stages 60] [--hydros 160] [--keep FOLDER]

Writes the folder of a run with made-up numbers (files, columns and dictionaries as a run writes them), then times
``cobre report FOLDER --html`` in a process of its own. Seconds are wall-clock time; processor time stands beside it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from record import publish

import cobre
from cobre.core.case import Case
from cobre.core.entities import Hydro, Thermal
from cobre.core.horizon import Stage
from cobre.core.outputs import TableSchema
from cobre.core.simulation_tables import BUSES, COSTS, EXCHANGES, HYDROS, STAGE_SUMMARY, THERMALS
from cobre.io.examples import write_example
from cobre.io.write.dictionaries import write_dictionaries
from cobre.io.write.parquet import parquet_bytes
from cobre.io.write.scenario_files import write_scenarios
from cobre.io.write.simulation_end import finish_simulation, write_summaries

STEP = 50
"""Scenarios made at a time."""
CONSTANT = ("slack", "violation", "_code", "productivity")
"""Columns whose values differ little in a real run."""


def main() -> None:
    """Write, measure and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenarios", type=int, default=2000)
    parser.add_argument("--stages", type=int, default=60)
    parser.add_argument("--hydros", type=int, default=160)
    parser.add_argument("--thermals", type=int, default=40)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch) / "run"
        if not (folder / "simulation" / "_SUCCESS").exists():
            write_run(folder, options, Path(scratch))
        publish(
            f"report_{options.scenarios}x{options.stages}x{options.hydros}",
            "seconds and megabytes",
            measure(folder, Path(scratch) / "report.html"),
        )


def measure(folder: Path, page: Path) -> dict[str, float]:
    """Three reports, the fastest; the first also warms the file cache."""
    command = [sys.executable, "-m", "cobre", "report", str(folder), "--html", str(page)]
    seconds, processor = [], []
    for _ in range(3):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=600)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(time.perf_counter() - began)
        processor.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "seconds": min(seconds),
        "processor seconds": min(processor),
        "page in MB": page.stat().st_size / 1e6,
        "memory in MB": memory,
    }


def write_run(folder: Path, options: argparse.Namespace, scratch: Path) -> None:
    """A trained example whose system and horizon are replaced by larger ones, with made-up tables."""
    write_example(scratch / "case")
    case = cobre.load_case(scratch / "case")
    short = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 20}]}}
    cobre.train(scratch / "case", config_overrides=short, output=folder)
    result = cobre.simulate(scratch / "case", folder / "policy", scenarios=4)
    large = enlarged(case, options.stages, options.hydros, options.thermals)
    write_large_dictionaries(folder, large)
    stages = np.array([stage.id for stage in large.horizon.stages], dtype=np.int32)
    random = np.random.default_rng(1)
    for schema, entities in (
        (HYDROS, [hydro.id for hydro in large.system.hydros]),
        (THERMALS, [thermal.id for thermal in large.system.thermals]),
        (BUSES, [bus.id for bus in large.system.buses]),
        (EXCHANGES, [line.id for line in large.system.lines]),
        (COSTS, [0]),
    ):
        for first in range(0, options.scenarios, STEP):
            scenarios = range(first, min(first + STEP, options.scenarios))
            columns = made_up(schema, stages, entities, len(scenarios), random)
            write_scenarios(folder / "simulation" / schema.name, schema, columns, scenarios)
    costs = random.lognormal(15.0, 0.3, options.scenarios)
    nodes = np.arange(len(stages), dtype=np.int32)
    write_summaries(folder, stages.tolist(), costs, lambda some: np.tile(nodes, (len(some), 1)), None)
    write_stage_summary(folder, stages, options.scenarios, random)
    statistics = {**result.statistics, "n_scenarios": options.scenarios}
    metadata = {
        "scenarios": {"total": options.scenarios, "completed": options.scenarios, "failed": 0},
        "statistics": statistics,
        "case_name": case.name,
        "wall_time_ms": 1.0,
    }
    finish_simulation(folder, metadata, is_complete=True)


def enlarged(case: Case, n_stages: int, n_hydros: int, n_thermals: int) -> Case:
    """The same case with more plants and stages; only what dictionaries need is true."""
    system = case.system
    hydros = tuple(Hydro(k, f"Hydro {k}", k % 3, k + 1 if k % 5 else None) for k in range(n_hydros))
    thermals = tuple(Thermal(k, f"Thermal {k}", k % 3) for k in range(n_thermals))
    first = case.horizon.stages[0]
    stages = tuple(_stage(first, k) for k in range(n_stages))
    return replace(
        case,
        system=replace(system, hydros=hydros, thermals=thermals),
        horizon=replace(case.horizon, stages=stages),
    )


def _stage(like: Stage, k: int) -> Stage:
    year, month = divmod(k, 12)
    start = date(2025 + year, month + 1, 1)
    end = date(2025 + (k + 1) // 12, (k + 1) % 12 + 1, 1)
    return replace(like, id=k, start_date=start, end_date=end, season_id=month, blocks=like.blocks[:1])


def write_large_dictionaries(folder: Path, case: Case) -> None:
    """Dictionaries of the large case; limits only of what the tables of the small one know."""
    import cobre.io.write.dictionaries as dictionaries

    whole = dictionaries._bounds
    dictionaries._bounds = lambda _: {column.name: np.empty(0) for column in dictionaries.BOUNDS}  # type: ignore[assignment]
    try:
        write_dictionaries(folder, case, [f"storage:{hydro.id}" for hydro in case.system.hydros])
    finally:
        dictionaries._bounds = whole


def made_up(
    schema: TableSchema, stages: Any, entities: list[int], n_scenarios: int, random: np.random.Generator
) -> dict[str, Any]:
    """Columns of a table: ``[row]`` or ``[scenario, row]``."""
    n = len(stages) * len(entities)
    columns: dict[str, Any] = {}
    values = random.lognormal(4.0, 1.0, (n_scenarios, n))
    for column in schema:
        if column.name == "stage_id" or column.name == "node_id":
            columns[column.name] = np.repeat(stages, len(entities))
        elif column.name == "block_id":
            columns[column.name] = np.zeros(n, dtype=np.int32)
        elif column.name.endswith("_id"):
            columns[column.name] = np.tile(np.array(entities, dtype=np.int32), len(stages))
        elif column.type != "f64" or any(part in column.name for part in CONSTANT):
            columns[column.name] = np.zeros(n)
        else:
            values = values * 1.001  # other bytes, the same effort
            columns[column.name] = values
    return columns


def write_stage_summary(folder: Path, stages: Any, n_scenarios: int, random: np.random.Generator) -> None:
    """Sums over the system, made up as well."""
    from cobre.core.arrow import arrow_table

    n = len(stages) * n_scenarios
    columns = {column.name: random.lognormal(8.0, 0.5, n) for column in STAGE_SUMMARY.columns[2:]}
    columns["scenario_id"] = np.repeat(np.arange(n_scenarios, dtype=np.int32), len(stages))
    columns["stage_id"] = np.tile(stages, n_scenarios)
    path = folder / "simulation" / "stage_summary.parquet"
    path.write_bytes(parquet_bytes(arrow_table(STAGE_SUMMARY, columns)))


if __name__ == "__main__":
    main()

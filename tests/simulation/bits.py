"""One study simulated in many ways, and hashes of the files. Ranks of MPI import this where there is no pytest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import cobre
from cobre.comm import GroupMember
from files.generator import draw_flags, write_case

SEED = 1
"""This one has every kind of entity, several blocks and lags."""
SCENARIOS = 23
SHORT = {"forward_passes": 3, "stopping_rules": [{"type": "iteration_limit", "limit": 4}]}
VARIANTS: dict[str, dict[str, Any]] = {
    "by_scenario": {"exports": {"layout": "by_scenario"}},
    "by_table": {"exports": {"layout": "by_table"}},
    "out_of_sample": {
        "exports": {"layout": "by_table"},
        "simulation": {
            "scenario_source": {
                "seed": 7,
                "inflow": {"scheme": "out_of_sample"},
                "load": {"scheme": "out_of_sample"},
                "ncs": {"scheme": "out_of_sample"},
            }
        },
    },
}


def write_study(folder: Path) -> Path:
    write_case(folder, SEED, draw_flags(SEED))
    return folder


def settings(variant: str) -> dict[str, Any]:
    """Chunks of 4 scenarios, so that each rank has several and a last one that is smaller."""
    chosen = VARIANTS[variant]
    simulation = {"io_channel_capacity": 4, **chosen.get("simulation", {})}
    return {"training": SHORT, **chosen, "simulation": simulation}


def hashes(output: Path) -> dict[str, str]:
    """SHA-256 of every table and dictionary below ``output``; tables of solvers hold times and are left out."""
    found = {}
    for path in sorted(output.rglob("*")):
        name = str(path.relative_to(output))
        if path.suffix in (".parquet", ".csv") and "solver/" not in name:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def simulate_all(comm: GroupMember, case: str, policy: str, target: str) -> None:
    """Collective: every variant, each into a folder of its own below ``target``."""
    for variant in VARIANTS:
        cobre.simulate(
            case if comm.rank == 0 else None,
            policy,
            config_overrides=settings(variant),
            output=Path(target) / variant,
            comm=comm,
            scenarios=SCENARIOS,
        )

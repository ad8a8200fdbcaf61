"""Small studies whose every simulated value follows from a few lines of arithmetic.

In stages of ``UNIT_HOURS`` hours one m3/s is one hm3, and 1 MW at 1 $/MWh costs ``UNIT_HOURS`` $.
"""

from __future__ import annotations

from typing import Any

import noise_recipe
from cobre.core.case import Case
from cobre.study import SimulationResult
from sddp.cases import make_case
from sddp.specs import UNIT_HOURS, BusSpec, HydroSpec, StageSpec, ThermalSpec
from sddp.trained import settings

TREE_SEED = 42
RESERVOIR = {"max_storage": 10.0, "costs": {"spillage": 0.3}}
RIVER = {"inflow": [0.0, 10.0], "inflow_std": [0.0, 10.0]}


def thermal_dispatch() -> Case:
    """Load 20 MW; 15 MW at 5 $/MWh, 15 MW at 10 $/MWh; two stages of 730 h."""
    return make_case(
        2,
        hours=730.0,
        buses=[BusSpec(load=20.0)],
        thermals=[ThermalSpec(max_mw=15.0, cost=5.0), ThermalSpec(max_mw=15.0, cost=10.0)],
        training=settings(3),
    )


def short_and_long() -> Case:
    """The same plants with blocks of 100 h and 630 h, the first one of at least 2 MW.

    Load 20 and 10 MW, then 40 and 20 MW (30 MW can be met), then 2 and 1 MW (1 MW too little in the second block).
    """
    return make_case(
        3,
        hours=(100.0, 630.0),
        buses=[BusSpec(load=[20.0, 40.0, 2.0], load_factor=[1.0, 0.5] * 3, excess_cost=3.0)],
        thermals=[ThermalSpec(max_mw=15.0, min_mw=2.0, cost=5.0), ThermalSpec(max_mw=15.0, cost=10.0)],
        training=settings(3),
    )


def one_hydro() -> Case:
    """Load 6 MW, 2 MW of thermal power at 10 $/MWh, a reservoir of 10 hm3 that begins with 7 hm3.

    No inflow in the first stage; 0, 10 or 20 hm3 in the second. Spillage costs 0.3 $ per m3/s and hour. The second
    stage counts 0.9.
    """
    return make_case(
        [StageSpec(UNIT_HOURS, 1, discount=0.9), StageSpec(UNIT_HOURS, 3)],
        buses=[BusSpec(load=6.0, deficit=[(None, 1000.0)], excess_cost=2.0)],
        thermals=[ThermalSpec(max_mw=2.0, cost=10.0)],
        hydros=[HydroSpec(initial=7.0, **RESERVOIR, **RIVER)],
        given_openings=[[[0.0]], [[-1.0], [0.0], [1.0]]],
        training=settings(12),
    )


def cascade() -> Case:
    """Load 12 MW; thermal power at 30, then 50 $/MWh; two plants in a row with 1 and 2 MW per m3/s.

    They begin with 4 and 2 hm3. The upper one turbines at most 2, then 5 m3/s, and receives 0 or 20 hm3 in the
    second stage. Spillage costs 0.3.
    """
    return make_case(
        [StageSpec(UNIT_HOURS, 1), StageSpec(UNIT_HOURS, 2)],
        buses=[BusSpec(load=12.0, excess_cost=2.0)],
        thermals=[ThermalSpec(max_mw=20.0, cost=[30.0, 50.0])],
        hydros=[
            HydroSpec(downstream=1, initial=4.0, max_turbined=[2.0, 5.0], **RESERVOIR, **RIVER),
            HydroSpec(initial=2.0, productivity=2.0, max_turbined=10.0, **RESERVOIR),
        ],
        given_openings=[[[0.0, 0.0]], [[-1.0, 0.0], [1.0, 0.0]]],
        training=settings(12),
    )


def opening_of(scenario: int, stage: int, n_openings: int) -> int:
    """Which opening a simulated scenario meets, by the hash of iteration 0 and its plain number."""
    seed = noise_recipe.hash_of((TREE_SEED, 8), (0, 4), (scenario, 4), (stage, 4))
    return noise_recipe.Pcg64(seed).below(n_openings)


def rows_by(result: SimulationResult, table: str, *keys: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The rows of a table by the values of some columns, which must identify them."""
    rows = result.table(table).to_pylist()
    found = {tuple(row[key] for key in keys): row for row in rows}
    assert len(found) == len(rows)
    return found

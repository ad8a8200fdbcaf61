"""Random case directories, every feature of the format a flag."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

from files.draft import Draft
from files.grid_files import write_contracts, write_grid, write_sources, write_stations
from files.horizon_files import write_config, write_horizon, write_penalties
from files.hydro_files import write_hydros
from files.limit_files import write_limits
from files.scenario_files import write_scenarios

FLAGS = (
    "losses exchange_factors line_bounds line_entry thermal_bounds thermal_entry hydro_bounds ncs ncs_bounds "
    "ncs_stats ncs_factors ncs_entry pump pump_bounds pump_entry contracts contract_bounds contract_entry "
    "negative_future generic blocks load_factors load_std lhs saa correlations par1 par2 seasons prestudy "
    "discount discount_override cvar select penalties_entity penalties_override evap evap_reference diversion "
    "withdrawal soft fpha prod_override prod_seasonal stage_offset shuffle"
).split()

# A flag that changes nothing without another one.
NEEDS = {"correlations": ("saa", "lhs"), "prestudy": ("par1", "par2"), "evap_reference": ("evap",)}

# The cases that are trained: enough for every flag to come twice.
SEEDS = range(36)


def draw_flags(seed: int) -> set[str]:
    random = Random(seed)
    flags = {flag for flag in FLAGS if random.random() < (0.1 if flag == "negative_future" else 0.3)}
    if "lhs" in flags:
        flags.discard("saa")
    if "par2" in flags:
        flags.discard("par1")
    for flag, needed in NEEDS.items():
        if flag in flags and flags.isdisjoint(needed):
            flags.add(needed[0])
    return flags


def write_case(folder: Path, seed: int, flags: Iterable[str]) -> None:
    draft = Draft(folder, seed, flags)
    write_horizon(draft)
    write_penalties(draft)
    # Cuts ignore how a clamped inflow depends on its lags, so with lags their bound need not be one.
    methods = ["none", "penalty"] + ["truncation", "truncation_with_penalty"] * (not draft.n_lags)
    draft.non_negativity = draft.choice(methods)
    write_grid(draft)
    write_hydros(draft)
    write_sources(draft)
    write_stations(draft)
    write_contracts(draft)
    write_scenarios(draft)
    write_limits(draft)
    write_config(draft)

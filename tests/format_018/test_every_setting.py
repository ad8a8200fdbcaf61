"""Every key of ``config.json`` of 0.18: the study that is built says otherwise, or a finding names the key."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from cobre.io.loading import examine
from cobre.io.read.config import ConfigRecord
from format_018.small import Case018

RULES = [{"type": "iteration_limit", "limit": 20}]
LEVEL = {"method": "level1", "tie_tolerance": 1e-6}
DYNAMIC = {"method": "dynamic"}
PROFILE = {
    "dual_edge_weight": "dantzig",
    "scale": "solver_scaling",
    "price": "row",
    "primal_feasibility_tolerance": 1e-7,
    "dual_feasibility_tolerance": 1e-7,
    "presolve": "on",
    "simplex_update_limit": 50,
    "cost_perturbation": 1.0,
    "refactor_error_tolerance": 1e-5,
    "factor_pivot_threshold": 0.2,
    "use_warm_start": False,
    "steepest_edge_devex_fallback_threshold": 3.0,
}
SETTINGS: dict[str, Any] = {
    "training.enabled": False,
    "training.selection": {"method": "sampled", "forward_passes": 3},
    "training.stopping_rules": [{"type": "iteration_limit", "limit": 9}],
    "training.stopping_mode": "all",
    "training.tree_seed": 7,
    "training.scenario_source.seed": 3,
    "training.scenario_source.historical_years": [1990],
    "training.scenario_source.inflow.scheme": "out_of_sample",
    "training.scenario_source.load.scheme": "out_of_sample",
    "training.scenario_source.ncs.scheme": "out_of_sample",
    "training.scenario_source.openings.source": "file",
    "training.cut_formulation": "multi",
    "training.cut_selection.row_activity_tolerance": 1e-3,
    "training.cut_selection.max_active_per_stage": 9,
    "training.cut_selection.selection": LEVEL,
    "training.solver.retry_max_attempts": 2,
    "training.solver.retry_time_budget_seconds": 9.0,
    **{f"training.solver.forward.{name}": value for name, value in PROFILE.items()},
    **{f"training.solver.backward.{name}": value for name, value in PROFILE.items()},
    "training.parallelism.backward_scheduler": {"method": "by_node", "block_size": 2},
    "simulation.enabled": True,
    "simulation.io_channel_capacity": 3,
    "simulation.scenario_source.seed": 3,
    "simulation.scenario_source.historical_years": [1990],
    "simulation.scenario_source.inflow.scheme": "out_of_sample",
    "simulation.scenario_source.load.scheme": "out_of_sample",
    "simulation.scenario_source.ncs.scheme": "out_of_sample",
    "simulation.selection": {"method": "sampled", "num_scenarios": 5},
    **{f"simulation.solver.{name}": value for name, value in PROFILE.items()},
    "modeling.inflow_non_negativity.method": "truncation",
    "modeling.cost_scale_factor": 1e3,
    "estimation.max_order": 2,
    "estimation.order_selection": "pacf_annual",
    "estimation.min_observations_per_season": 4,
    "estimation.max_coefficient_magnitude": 2.0,
    "estimation.residuals": "bootstrap",
    "policy.path": "./elsewhere",
    "policy.mode": "warm_start",
    "policy.boundary.path": "../other",
    "policy.boundary.source_stage": 3,
    "policy.boundary.strict": True,
    "policy.checkpointing.enabled": True,
    "policy.checkpointing.initial_iteration": 3,
    "policy.checkpointing.interval_iterations": 2,
    "policy.checkpointing.store_basis": False,
    "policy.checkpointing.compress": True,
    "exports.states": True,
    "exports.stochastic": True,
    "exports.fpha_deviation_points": False,
    "exports.layout": "by_table",
    "upper_bound_evaluation.enabled": True,
    "upper_bound_evaluation.initial_iteration": 3,
    "upper_bound_evaluation.interval_iterations": 4,
    "upper_bound_evaluation.lipschitz.fallback_value": 5.0,
    "upper_bound_evaluation.lipschitz.scale_factor": 2.0,
    "upper_bound_evaluation.max_vertices": 6,
}
NEEDED: dict[str, dict[str, Any]] = {
    "policy.boundary": {"policy.boundary.path": "../some"},
    "policy.checkpointing": {
        "policy.checkpointing.enabled": True,
        "policy.checkpointing.interval_iterations": 7,
    },
    "training.scenario_source": {"training.scenario_source.seed": 8},
    "simulation.scenario_source": {"simulation.scenario_source.seed": 8},
    "upper_bound_evaluation": {"upper_bound_evaluation.enabled": True},
}
"""What else has to be set for a setting to mean something, by the place that it is in."""
ONLY_ONE_WORD = ("upper_bound_evaluation.lipschitz.mode",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    case = Case018([[744.0], [672.0]], [10.0])
    case.add_thermal(10.0, 50.0)
    case.add_hydro(1.0, 5.0, inflow=[1.0, 1.0])
    return case.write(tmp_path_factory.mktemp("settings") / "case")


def studied(folder, overrides: dict[str, Any]) -> tuple[str, set[str]]:
    """The settings of the study that is built, and the fields that findings name."""
    checked, report = examine(folder, overrides)
    named = {each.field for each in (*report.errors, *report.warnings)}
    return ("" if checked.case is None else repr(checked.case.config)), named


@pytest.mark.parametrize("key", SETTINGS)
def test_a_setting_is_honoured_or_named(folder, key):
    needed = next((more for place, more in NEEDED.items() if key.startswith(place)), {})
    without = {name: value for name, value in needed.items() if name != key}
    before, words = studied(folder, without)
    after, named = studied(folder, {**without, key: SETTINGS[key]})
    told = {each for each in named - words if each.startswith(key) or key.startswith(each)}
    assert told or (after and after != before)


def _keys(record: type[BaseModel], place: str) -> set[str]:
    found = set()
    for name, info in record.model_fields.items():
        key = f"{place}{info.alias or name}"
        inner = list(_records(info.annotation))
        is_choice = len(inner) > 1 or name in ("selection", "stopping_rules", "backward_scheduler")
        if len(inner) == 1 and not is_choice and name != "historical_years":
            found |= _keys(inner[0], f"{key}.")
        else:
            found.add(key)
    return found


def _records(annotation: Any):
    if get_origin(annotation) is Annotated:
        yield from _records(get_args(annotation)[0])
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    else:
        for part in get_args(annotation):
            yield from _records(part)


def test_no_key_is_left_out():
    assert _keys(ConfigRecord, "") == {*SETTINGS, *ONLY_ONE_WORD}

"""Everything a rank needs to train: the stages' programs, what nature gives, and where the study starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.comm import GroupMember
from cobre.core.case import Case
from cobre.core.config import ScenarioSource
from cobre.core.horizon import cumulative_discounts
from cobre.errors import ValidationError
from cobre.sddp.forecast import Forecast, open_forecast
from cobre.sddp.nature import Nature
from cobre.sddp.stage import StageModel
from cobre.sddp.subproblem import StageProblem, build_stage_problems
from cobre.sddp.truncation import Truncation, truncations

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Workspace:
    """One rank's view of a study."""

    models: list[StageModel]
    problems: list[StageProblem]
    forecast: Forecast
    discounts: Floats
    """``[stage]``: what brings a stage's cost to the first."""
    initial_state: Floats
    state_names: list[str]
    n_inflow_lags: int

    @property
    def state_dimension(self) -> int:
        return len(self.initial_state)


def open_workspace(
    comm: GroupMember,
    case: Case,
    source: ScenarioSource | None = None,
    n_scenarios: int | None = None,
    *,
    end_cost_bound: float | None = None,
) -> Workspace:
    """Collective: build every stage's program; openings are made once per node.

    Trajectories take their noise from ``source``, by default from that of training; there are ``n_scenarios`` of them
    over all ranks, by default the forward passes of training. What follows the last stage costs at least
    ``end_cost_bound``, and nothing if it is None.
    """
    _check(case)
    nature = Nature.of(case, source)
    problems = build_stage_problems(case, nature.inflow, nature.transition, end_cost_bound=end_cost_bound)
    openings, forecast, probabilities = open_forecast(comm, nature, n_scenarios)
    clamps = _truncations(case, nature, problems, openings)
    training = case.config.training
    models = [
        StageModel(stage, problem, rows, clamp, training.retries, probabilities.get(t))
        for t, (stage, problem, rows, clamp) in enumerate(
            zip(nature.stages, problems, openings, clamps, strict=True)
        )
    ]
    models[-1].counts_future = end_cost_bound is not None
    return Workspace(
        models=models,
        problems=problems,
        forecast=forecast,
        discounts=cumulative_discounts(nature.stages),
        initial_state=np.concatenate([case.initial.storage_hm3, nature.initial_lags.ravel()]),
        state_names=_state_names(nature),
        n_inflow_lags=nature.inflow.n_lags,
    )


def _truncations(
    case: Case, nature: Nature, problems: list[StageProblem], openings: list[Floats]
) -> list[Truncation] | list[None]:
    if not case.config.inflow_non_negativity.startswith("truncation"):
        return [None] * len(problems)
    n_hydros = len(case.system.hydros)
    return truncations(
        [nature.lag_coefficients(stage) for stage in range(len(problems))],
        [nature.inflow.sigma[stage] > 0.0 for stage in range(len(problems))],
        [rows[:, :n_hydros] for rows in openings],
        nature.initial_lags,
        nature.transition.advance,
    )


def _check(case: Case) -> None:
    if not case.config.training.stopping_rules:
        raise ValidationError(
            "there is no stopping rule, so that training would never end",
            kind="IncompatibleSettings",
            context={"file": "config.json", "field": "training.stopping_rules"},
            suggestion="give an iteration_limit, a time_limit or a bound_stalling",
        )
    if case.horizon.n_stages < 2:
        raise ValidationError(
            f"the study has {case.horizon.n_stages} stage; a policy is about the stages after the first",
            kind="StageMismatch",
            context={"file": "stages.json", "stages": case.horizon.n_stages},
            suggestion="none in the case: this version plans studies of two stages or more",
        )


def state_names_of(case: Case) -> list[str]:
    """Names of the components of a state of ``case``, in order."""
    return _state_names(Nature.of(case))


def _state_names(nature: Nature) -> list[str]:
    """Stable names of the state's components, by id."""
    ids = [hydro.id for hydro in nature.case.system.hydros]
    n_lags = nature.inflow.n_lags
    parts = ["storage", *(f"inflow_lag{lag + 1}" for lag in range(n_lags))]
    parts += ["inflow_so_far"] * (nature.n_components - n_lags)
    return [f"{part}:{id}" for part in parts for id in ids]

"""Trajectories from files: given values, turned into the noise that produces them.

A linear program knows η, not values. For loads and availabilities η = (value - mean) / std. An inflow has to be
turned round through the autoregression, with the lags that the given inflows themselves build up. Where there is no
deviation no noise can produce a value, and η is 0: the trajectory then has the model's value, not the file's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import Stage
from cobre.core.scenarios import GivenScenarios
from cobre.errors import ValidationError
from cobre.stochastic.inflows import InflowModel
from cobre.stochastic.lags import LagTransition
from cobre.stochastic.seeds import external_scenario

__all__ = ["ExternalScenarios", "clamp_openings", "inflow_residuals", "normal_residuals"]

Residuals = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class ExternalScenarios:
    """One array (scenarios, entities) of values per stage, and what turns (..., stages, entities) into η."""

    values: Sequence[NDArray[np.float64]]
    residuals: Residuals

    @classmethod
    def of(
        cls, given: GivenScenarios, file: str, stages: Sequence[Stage], n_entities: int, residuals: Residuals
    ) -> ExternalScenarios:
        """From rows in any order; every stage needs scenarios 0, 1, ... with every entity of the class once."""
        values = []
        for t, stage in enumerate(stages):
            chosen = given.stage == t
            scenario, entity, value = given.scenario[chosen], given.entity[chosen], given.value[chosen]
            n_scenarios = int(scenario.max(initial=-1)) + 1
            table = np.full((n_scenarios, n_entities), np.nan)
            is_known = (scenario >= 0) & (entity >= 0) & (entity < n_entities)
            table[scenario[is_known], entity[is_known]] = value[is_known]
            if (
                n_scenarios == 0
                or not is_known.all()
                or len(value) != table.size
                or not np.isfinite(table).all()
            ):
                raise ValidationError(
                    f"{file}, stage {stage.id}: {len(value)} values for {n_scenarios} scenarios of {n_entities} "
                    "entities, or some that are repeated or not finite",
                    kind="CoverageMismatch",
                    context={"file": f"scenarios/{file}.parquet", "stage_id": stage.id},
                    suggestion="number scenarios from 0 and give every entity once in each, in every stage",
                )
            values.append(table)
        return cls(values, residuals)

    @property
    def n_scenarios(self) -> NDArray[np.int64]:
        """How many each stage has."""
        return np.array([len(table) for table in self.values], dtype=np.int64)

    def sample(self, iteration: int, scenarios: range) -> NDArray[np.float64]:
        """η (scenarios, stages, entities). Stages with as many scenarios use the same one of them."""
        rows = {
            n: [external_scenario(iteration, scenario, n) for scenario in scenarios]
            for n in set(self.n_scenarios.tolist())
        }
        return self.residuals(np.stack([table[rows[len(table)]] for table in self.values], axis=1))


def clamp_openings(stages: Sequence[Stage], inflows: ExternalScenarios) -> list[Stage]:
    """The stages with no more openings than there are external inflow scenarios.

    The tree keeps its own noise; only its size follows the file, where the inflow scheme is ``external``.
    """
    return [
        replace(stage, n_openings=min(stage.n_openings, n))
        for stage, n in zip(stages, inflows.n_scenarios.tolist(), strict=True)
    ]


def normal_residuals(mean: NDArray[np.float64], std: NDArray[np.float64]) -> Residuals:
    """For values of the given mean and deviation (stages, entities)."""

    def solve(values: NDArray[np.float64]) -> NDArray[np.float64]:
        spread = np.broadcast_to(std, values.shape)
        return np.divide(values - mean, spread, out=np.zeros_like(values), where=spread > 0.0)

    return solve


def inflow_residuals(model: InflowModel, transition: LagTransition, start: NDArray[np.float64]) -> Residuals:
    """For inflows of this model from the components ``start`` (components, hydros) on."""

    def solve(values: NDArray[np.float64]) -> NDArray[np.float64]:
        eta = np.empty_like(values)
        components = start
        for t in range(values.shape[1]):
            eta[:, t] = model.residual(t, components, values[:, t])
            # Not the given inflow: without deviation another one comes about, and the lags must be those.
            inflow = model.inflow(t, components, eta[:, t])
            components = transition.advance(
                t, components, np.where(model.sigma[t] > 0.0, values[:, t], inflow)
            )
        return eta

    return solve

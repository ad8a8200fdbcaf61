"""Trajectories from files: given values, turned into the noise that produces them.

A linear program knows η, not values. For loads and availabilities η = (value - mean) / std. An inflow has to be
turned round through the autoregression, with the lags that the given inflows themselves build up. Where there is no
deviation no noise can produce another value than the model's, and a file that asks for one is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.core.horizon import Stage
from cobre.core.scenarios import GivenScenarios
from cobre.errors import ValidationError
from cobre.stochastic.inflows import InflowModel
from cobre.stochastic.lags import LagTransition
from cobre.stochastic.seeds import external_scenario

__all__ = ["ExternalScenarios", "InflowInversion", "Inversion", "NormalInversion", "clamp_openings"]

TOLERANCE = 1e-10
"""How far a given value may be from the model's where there is no deviation, in the value's unit."""


class Inversion(Protocol):
    """What turns values into η."""

    def solve(self, values: Floats) -> Floats:
        """η of ``values`` (stages, rows, entities); NaN where no noise gives the value."""


@dataclass(frozen=True, eq=False)
class NormalInversion:
    """For values of the given mean and deviation (stages, entities)."""

    mean: Floats
    std: Floats

    def solve(self, values: Floats) -> Floats:
        """η = (value - mean) / std."""
        return _divide(values - self.mean[:, np.newaxis], self.std[:, np.newaxis])


@dataclass(frozen=True, eq=False)
class InflowInversion:
    """For inflows of this model, from the components ``start`` (components, hydros) on."""

    model: InflowModel
    transition: LagTransition
    start: Floats

    def solve(self, values: Floats) -> Floats:
        """η = (inflow - base - Σ ψ lag) / σ, the lags being those that the given inflows build up."""
        eta = np.empty_like(values)
        components = self.start
        for t, inflow in enumerate(values):
            without_noise = self.model.base[t] + self.model.lag_term(t, components)
            eta[t] = _divide(inflow - without_noise, self.model.sigma[t])
            components = self.transition.advance(t, components, inflow)
        return eta


def _divide(difference: Floats, deviation: Floats) -> Floats:
    deviation = np.broadcast_to(deviation, difference.shape)
    without = np.where(np.abs(difference) < TOLERANCE, 0.0, np.nan)
    return np.divide(difference, deviation, out=without, where=deviation > 0.0)


@dataclass(frozen=True, eq=False)
class ExternalScenarios:
    """One array (scenarios, entities) of values per stage of ``file``, and what turns them into η.

    Scenario k is row k mod n of a stage with n rows; there are as many scenarios as the longest stage has rows.
    """

    file: str
    stages: Sequence[Stage]
    values: Sequence[Floats]
    inversion: Inversion
    names: Sequence[str] = ()
    """Of the entities, for messages; by default their indices."""

    @classmethod
    def of(
        cls,
        given: GivenScenarios,
        file: str,
        stages: Sequence[Stage],
        n_entities: int,
        inversion: Inversion,
        names: Sequence[str] = (),
    ) -> ExternalScenarios:
        """From rows in any order; every stage needs scenarios 0, 1, ... with every entity of the class once."""
        tables = [_table(given, file, t, stage, n_entities) for t, stage in enumerate(stages)]
        return cls(file, stages, tables, inversion, names)

    @property
    def counts(self) -> Ints:
        """How many scenarios each stage has."""
        return np.array([len(table) for table in self.values], dtype=np.int64)

    @property
    def n_scenarios(self) -> int:
        return int(self.counts.max(initial=0))

    def sample(self, iteration: int, scenarios: range) -> Floats:
        """η (stages, trajectories, entities): each trajectory follows one scenario through all stages."""
        n = self.n_scenarios
        return self.noise([external_scenario(iteration, scenario, n) for scenario in scenarios])

    def name(self, entity: int) -> str:
        """How messages call an entity."""
        return self.names[entity] if self.names else f"entity {entity}"

    def noise(self, rows: Sequence[int]) -> Floats:
        """η (stages, rows, entities) of these scenarios."""
        chosen = np.array(rows, dtype=np.int64)
        values = np.stack([table[chosen % len(table)] for table in self.values])
        eta = self.inversion.solve(values)
        wrong = np.argwhere(np.isnan(eta))
        if len(wrong):
            t, row, entity = wrong[0].tolist()
            raise ValidationError(
                f"{self.file}, stage {self.stages[t].id}, scenario {rows[row] % len(self.values[t])}: "
                f"the value {values[t, row, entity]:g} of {self.name(entity)} differs from its mean, "
                "but it has no deviation",
                kind="OutOfRange",
                context={
                    "file": f"scenarios/{self.file}.parquet",
                    "stage_id": self.stages[t].id,
                    "entity": entity,
                },
                suggestion="give the entity a standard deviation above 0 in that stage, or the value of the model",
            )
        return eta


def _table(given: GivenScenarios, file: str, t: int, stage: Stage, n_entities: int) -> Floats:
    """The values (scenarios, entities) of one stage."""
    chosen = given.stage == t
    scenario, entity, value = given.scenario[chosen], given.entity[chosen], given.value[chosen]
    n_scenarios = int(scenario.max(initial=-1)) + 1
    table = np.full((n_scenarios, n_entities), np.nan)
    is_known = (scenario >= 0) & (entity >= 0) & (entity < n_entities)
    table[scenario[is_known], entity[is_known]] = value[is_known]
    if n_scenarios and is_known.all() and len(value) == table.size and np.isfinite(table).all():
        return table
    raise ValidationError(
        f"{file}, stage {stage.id}: {len(value)} values for {n_scenarios} scenarios of {n_entities} "
        "entities, or some that are repeated or not finite",
        kind="CoverageMismatch",
        context={"file": f"scenarios/{file}.parquet", "stage_id": stage.id},
        suggestion="number scenarios from 0 and give every entity once in each, in every stage",
    )


def clamp_openings(stages: Sequence[Stage], counts: Sequence[int]) -> list[Stage]:
    """The stages with no more openings than ``counts`` says: external scenarios, or windows of the history.

    The tree keeps its own noise; only its size follows the data.
    """
    return [
        replace(stage, n_openings=min(stage.n_openings, n)) for stage, n in zip(stages, counts, strict=True)
    ]

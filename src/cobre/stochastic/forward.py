"""The noise of forward trajectories.

Each class of entities (inflow, load, non-controllable sources) has a scheme:

``in_sample``       the columns of one opening per stage, the same opening for every class that uses this scheme;
``out_of_sample``   fresh noise, correlated like the tree's;
``external``        the values of one scenario of a file, the same scenario in all stages.

The numbers depend on seeds, iteration, scenario and stage alone: a rank asks for the scenarios it owns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobre._native import noise
from cobre.core.horizon import Stage
from cobre.core.scenarios import EntityClass
from cobre.errors import ValidationError
from cobre.stochastic.correlations import Correlator
from cobre.stochastic.entities import ENTITY_CLASSES, NoiseEntities
from cobre.stochastic.external import ExternalScenarios
from cobre.stochastic.groups import noise_groups
from cobre.stochastic.trees import OpeningTree

__all__ = ["ForwardSampler", "draw_noise", "draw_openings"]


def draw_openings(
    tree_seed: int, iteration: int, scenarios: range, n_openings: NDArray[np.uint32]
) -> NDArray[np.int32]:
    """Which opening each scenario meets in each stage: (scenarios, stages)."""
    out = np.empty((len(scenarios), len(n_openings)), dtype=np.int32)
    noise.draw_openings(abs(tree_seed), iteration, _first(scenarios), n_openings, out)
    return out


def draw_noise(
    seed: int,
    iteration: int,
    scenarios: range,
    stages: Sequence[Stage],
    n_entities: int,
    correlator: Correlator | None = None,
) -> NDArray[np.float64]:
    """Fresh noise (scenarios, stages, entities). Stages of a noise group have the same, but for correlation."""
    out = np.empty((len(scenarios), len(stages), n_entities))
    noise.draw_fresh(abs(seed), iteration, _first(scenarios), noise_groups(stages), out)
    if correlator is not None:
        for t in range(len(stages)):
            rows = np.ascontiguousarray(out[:, t])
            correlator.apply(t, rows)
            out[:, t] = rows
    return out


@dataclass(frozen=True, eq=False)
class ForwardSampler:
    """Draws η (scenarios, stages, entities) for an iteration; iteration 0 is a simulation.

    ``schemes`` names the scheme of a class, ``in_sample`` where missing. ``seed`` (``scenario_source.seed``) is for
    ``out_of_sample``, ``external`` for the classes of that scheme.
    """

    tree: OpeningTree
    tree_seed: int
    stages: Sequence[Stage]
    entities: NoiseEntities
    schemes: Mapping[EntityClass, str] = field(default_factory=dict)
    seed: int | None = None
    correlator: Correlator | None = None
    external: Mapping[EntityClass, ExternalScenarios] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, scheme in self.schemes.items():
            if scheme == "historical":
                raise _refused(name, scheme, "is not available yet", "use in_sample or out_of_sample")
            if scheme not in ("in_sample", "out_of_sample", "external"):
                raise _refused(name, scheme, "is no scheme", "use in_sample, out_of_sample or external")
            if scheme == "out_of_sample" and self.seed is None:
                raise _refused(name, scheme, "needs a seed", "set scenario_source.seed")
            if scheme == "external" and name not in self.external:
                raise _refused(
                    name, scheme, "needs scenarios", f"give scenarios/external_{name}_scenarios.parquet"
                )

    def scheme(self, entity_class: EntityClass) -> str:
        return self.schemes.get(entity_class, "in_sample")

    def sample(self, iteration: int, scenarios: range) -> NDArray[np.float64]:
        """η of these scenarios, which are numbered over all ranks."""
        used = {self.scheme(name) for name in ENTITY_CLASSES}
        out = np.empty((len(scenarios), len(self.stages), self.entities.n_entities))
        if "in_sample" in used:
            openings = draw_openings(self.tree_seed, iteration, scenarios, self.tree.layout.n_openings)
            for t in range(len(self.stages)):
                out[:, t] = self.tree.stage(t)[openings[:, t]]
        if "out_of_sample" in used:
            # All classes from one draw: drawn apart from equal seeds, the first load would follow the first hydro.
            fresh = draw_noise(
                self.seed or 0, iteration, scenarios, self.stages, self.entities.n_entities, self.correlator
            )
            for name in ENTITY_CLASSES:
                if self.scheme(name) == "out_of_sample":
                    out[..., self.entities.columns(name)] = fresh[..., self.entities.columns(name)]
        for name in ENTITY_CLASSES:
            if self.scheme(name) == "external":
                out[..., self.entities.columns(name)] = self.external[name].sample(iteration, scenarios)
        return out


def _first(scenarios: range) -> int:
    if scenarios.step != 1:
        raise ValueError(f"scenarios must follow one another, not {scenarios}")
    return scenarios.start


def _refused(name: str, scheme: str, what: str, fix: str) -> ValidationError:
    return ValidationError(
        f"scenario_source.{name}: {scheme} {what}",
        kind="IncompatibleSettings",
        context={"field": f"scenario_source.{name}", "scheme": scheme},
        suggestion=fix,
    )

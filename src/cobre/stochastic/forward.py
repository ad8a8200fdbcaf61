"""The noise of trajectories, in training and in simulation.

Each class of entities (inflow, load, non-controllable sources) has a scheme:

``in_sample``       the columns of one opening per stage, the same opening for every class that uses this scheme;
``out_of_sample``   fresh noise by the sampling method of the stage, correlated like the tree's;
``external``        the values of one scenario of a file, the same scenario in all stages and classes;
``historical``      the inflows of one window of the history, the same window in all stages.

The numbers depend on seeds, iteration, scenario and stage alone: a rank asks for the scenarios it owns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobre._native import noise
from cobre.arrays import Floats, Ints
from cobre.core.config import ScenarioSource, Scheme
from cobre.core.horizon import Stage
from cobre.core.scenarios import EntityClass
from cobre.errors import ValidationError
from cobre.stochastic.correlations import Correlator
from cobre.stochastic.entities import ENTITY_CLASSES, NoiseEntities
from cobre.stochastic.external import ExternalScenarios
from cobre.stochastic.groups import noise_groups
from cobre.stochastic.historical import HistoricalWindows
from cobre.stochastic.methods import Draw, draw_points
from cobre.stochastic.seeds import class_seed, forward_seed
from cobre.stochastic.trees import OpeningTree

__all__ = ["ForwardSampler", "draw_noise", "draw_openings", "drawn_openings"]


def draw_openings(
    tree_seed: int,
    iteration: int,
    scenarios: range,
    n_openings: NDArray[np.uint32],
    weights: Mapping[int, Floats] | None = None,
) -> NDArray[np.int32]:
    """Which opening each scenario meets in each stage: (scenarios, stages).

    ``weights`` has the probabilities of the openings of those stages whose openings are not equally likely.
    """
    out = np.empty((len(scenarios), len(n_openings)), dtype=np.int32)
    noise.draw_openings(abs(tree_seed), iteration, _first(scenarios), n_openings, out)
    for stage, probabilities in (weights or {}).items():
        seeds = [forward_seed(abs(tree_seed), iteration, scenario, stage) for scenario in scenarios]
        out[:, stage] = drawn_openings(seeds, probabilities)
    return out


def drawn_openings(seeds: Sequence[int], probabilities: Floats) -> Ints:
    """One opening for each seed, where they have these ``probabilities``."""
    limits = np.add.accumulate(probabilities)[:-1]
    return np.searchsorted(limits, [noise.Generator(seed).uniform53() for seed in seeds], "right")


def draw_noise(
    seed: int,
    iteration: int,
    scenarios: range,
    n_scenarios: int,
    stages: Sequence[Stage],
    columns: slice,
    out: Floats,
) -> None:
    """Fill the ``columns`` of ``out`` (stages, scenarios, entities) with fresh independent noise.

    Every stage has its own sampling method; stages of one noise group and method have the same noise. Methods that
    spread their points spread them over all ``n_scenarios`` of the iteration.
    """
    made: dict[tuple[int, str], int] = {}
    for t, group in enumerate(noise_groups(stages).tolist()):
        method = stages[t].sampling_method
        source = made.setdefault((group, method), t)
        if source == t:
            draw_points(method, Draw(seed, iteration, group, _first(scenarios), n_scenarios), columns, out[t])
        else:
            out[t][:, columns] = out[source][:, columns]


@dataclass(frozen=True, eq=False)
class ForwardSampler:
    """Draws η for trajectories 0 to ``n_scenarios`` - 1 of an iteration; iteration 0 is a simulation.

    ``source`` names the scheme of each class and the seed of fresh noise. ``external`` and ``windows`` are needed for
    the classes whose scheme they are. ``tree_entities`` are those of the tree, if they are others than ``entities``.
    """

    tree: OpeningTree
    tree_seed: int
    stages: Sequence[Stage]
    entities: NoiseEntities
    source: ScenarioSource
    n_scenarios: int
    correlator: Correlator | None = None
    external: Mapping[EntityClass, ExternalScenarios] = field(default_factory=dict)
    windows: HistoricalWindows | None = None
    tree_entities: NoiseEntities | None = None

    def __post_init__(self) -> None:
        for name in ENTITY_CLASSES:
            scheme = self.scheme(name)
            if scheme == "out_of_sample" and self.source.seed is None:
                raise _refused(name, scheme, "needs a seed", "set scenario_source.seed")
            if scheme == "external" and name not in self.external and self._has_noise(name):
                file = f"scenarios/external_{name}_scenarios.parquet"
                raise _refused(name, scheme, "needs scenarios", f"give {file}")
            if scheme == "historical" and name != "inflow":
                raise _refused(
                    name, scheme, "is for inflows only", "use in_sample, out_of_sample or external"
                )
            if scheme == "historical" and self.windows is None:
                raise _refused(name, scheme, "needs a history", "give scenarios/inflow_history.parquet")

    def scheme(self, entity_class: EntityClass) -> Scheme:
        scheme: Scheme = getattr(self.source, entity_class)
        return scheme

    def _has_noise(self, entity_class: EntityClass) -> bool:
        columns = self.entities.columns(entity_class)
        return bool(columns.stop > columns.start)

    def sample(self, iteration: int, scenarios: range) -> Floats:
        """η (scenarios, stages, entities) of these scenarios, which are numbered over all ranks.

        The noise of a stage is contiguous in memory.
        """
        first, n_stages = _first(scenarios), len(self.stages)
        if not 0 <= first <= first + len(scenarios) <= self.n_scenarios:
            raise ValueError(f"{scenarios} are not all among the {self.n_scenarios} scenarios")
        out = np.empty((n_stages, len(scenarios), self.entities.n_entities))
        self._draw_fresh(iteration, scenarios, out)
        self._copy_openings(iteration, scenarios, out)
        for name in ENTITY_CLASSES:
            columns = self.entities.columns(name)
            if self.scheme(name) == "external" and self._has_noise(name):
                out[..., columns] = self.external[name].sample(iteration, scenarios)
            elif self.scheme(name) == "historical" and self.windows is not None:
                out[..., columns] = self.windows.sample(iteration, scenarios)
        return out.transpose(1, 0, 2)

    def _draw_fresh(self, iteration: int, scenarios: range, out: Floats) -> None:
        names = [name for name in ENTITY_CLASSES if self.scheme(name) == "out_of_sample"]
        for name in names:
            seed = class_seed(abs(self.source.seed or 0), name)
            columns = self.entities.columns(name)
            draw_noise(seed, iteration, scenarios, self.n_scenarios, self.stages, columns, out)
        if names and self.correlator is not None:
            for t in range(len(self.stages)):
                self.correlator.apply(t, out[t], names)

    def _copy_openings(self, iteration: int, scenarios: range, out: Floats) -> None:
        names = [name for name in ENTITY_CLASSES if self.scheme(name) == "in_sample"]
        if not names:
            return
        there = self.tree_entities or self.entities
        counts = self.tree.layout.n_openings
        openings = draw_openings(self.tree_seed, iteration, scenarios, counts, self.tree.all_weights())
        for t in range(len(self.stages)):
            rows = self.tree.stage(t)[openings[:, t]]
            for name in names:
                out[t][:, self.entities.columns(name)] = rows[:, there.columns(name)]


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

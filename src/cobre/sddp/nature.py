"""What nature gives: the randomness of a case as parameters of stage problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cobre.comm import GroupMember, contiguous_block
from cobre.core.case import Case
from cobre.core.horizon import Stage
from cobre.core.scenarios import EntityClass, GivenScenarios
from cobre.errors import ValidationError
from cobre.stochastic import (
    Correlator,
    ExternalScenarios,
    ForwardSampler,
    InflowModel,
    LagTransition,
    NoiseEntities,
    OpeningTree,
    TreeLayout,
    availability_mw,
    draw_openings,
    generate_tree,
    inflow_residuals,
    load_mw,
    normal_residuals,
    tree_from_rows,
)
from cobre.stochastic.external import Residuals

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Nature:
    """Everything random in a case. ``stages`` have the number of openings that they really get."""

    case: Case
    stages: tuple[Stage, ...]
    entities: NoiseEntities
    inflow: InflowModel
    transition: LagTransition
    external: dict[EntityClass, ExternalScenarios]

    @classmethod
    def of(cls, case: Case) -> Nature:
        """From the statistics, lags and given scenarios of ``case``."""
        stages, n_hydros = case.horizon.stages, len(case.system.hydros)
        scenarios = case.scenarios
        tables = case.tables
        entities = NoiseEntities.of(n_hydros, tables.bus.load_std_mw, tables.non_controllable.has_statistics)
        inflow = InflowModel.build(stages, n_hydros, scenarios.inflow, scenarios.lags, scenarios.annual)
        transition = LagTransition.build(stages, inflow.n_lags, case.horizon.season_definitions)
        nature = cls(case, stages, entities, inflow, transition, {})
        external = nature._external()
        if case.config.training.scenario_source.inflow == "external":
            available = external["inflow"].n_scenarios
            stages = tuple(
                replace(stage, n_openings=min(stage.n_openings, int(n)))
                for stage, n in zip(stages, available, strict=True)
            )
        return replace(nature, stages=stages, external=external)

    @property
    def n_components(self) -> int:
        """Per hydro in the state beside its storage: lags, and the mean of a period that has not ended."""
        return self.transition.n_components

    def lag_coefficients(self, stage: int) -> Floats:
        """``[hydro, component]``: what each of them adds to the inflow of stage index ``stage``."""
        psi = np.zeros((self.entities.n_hydros, self.n_components))
        psi[:, : self.inflow.n_lags] = self.inflow.psi[stage].T
        return psi

    @cached_property
    def correlator(self) -> Correlator:
        return Correlator(self.case.scenarios.correlation, self.entities)

    @cached_property
    def initial_lags(self) -> Floats:
        """``[component, hydro]``: inflows before the study."""
        given = self.case.initial.past_inflows
        past = np.zeros((max((len(item.values_m3s) for item in given), default=0), self.entities.n_hydros))
        for item in given:
            past[: len(item.values_m3s), item.hydro] = item.values_m3s
        return self.transition.initial(past)

    @property
    def width(self) -> int:
        """Parameters after the state: inflow terms by hydro, loads by bus, available powers by source."""
        system = self.case.system
        return len(system.hydros) + len(system.buses) + len(system.non_controllables)

    def values(self, stage: int, noise: Floats) -> Floats:
        """``[n, width]`` for ``noise [n, entity]`` of a stage; negative inflows stay as they are."""
        tables, n = self.case.tables, len(noise)
        load = np.repeat(tables.bus.load_mean_mw[np.newaxis, :, stage], n, axis=0)
        uncertain = list(self.entities.load_buses)
        load[:, uncertain] = load_mw(
            tables.bus.load_mean_mw[uncertain, stage],
            tables.bus.load_std_mw[uncertain, stage],
            noise[:, self.entities.columns("load")],
        )
        sources = tables.non_controllable
        of_sources = np.zeros((n, len(sources.has_statistics)))
        of_sources[:, list(self.entities.ncs_sources)] = noise[:, self.entities.columns("ncs")]
        available = availability_mw(
            sources.mean[:, stage], sources.std[:, stage], of_sources, sources.installed_mw[:, stage]
        )
        inflow = self.inflow.noise_term(stage, noise[:, self.entities.columns("inflow")])
        return np.concatenate([inflow, load, available], axis=1)

    def tree(self, out: Floats | None, block: range) -> OpeningTree:
        """The noise of all openings, generated for the stages of ``block`` or taken from the case."""
        given = self.case.scenarios.openings
        n = self.entities.n_entities
        if given is not None:
            return tree_from_rows(given, self.stages, n)
        seed = self.case.config.training.tree_seed
        return generate_tree(seed, self.stages, n, self.correlator, out=out, block=block)

    def _external(self) -> dict[EntityClass, ExternalScenarios]:
        source, given = self.case.config.training.scenario_source, self.case.scenarios
        load, ncs = self.case.tables.bus, self.case.tables.non_controllable
        buses, sources = list(self.entities.load_buses), list(self.entities.ncs_sources)
        found: dict[EntityClass, ExternalScenarios] = {}
        if source.inflow == "external":
            residuals = inflow_residuals(self.inflow, self.transition, self.initial_lags)
            hydros = list(range(self.entities.n_hydros))
            found["inflow"] = self._given("inflow", given.external_inflow, hydros, residuals)
        if source.load == "external":
            residuals = normal_residuals(load.load_mean_mw[buses].T, load.load_std_mw[buses].T)
            found["load"] = self._given("load", given.external_load, buses, residuals)
        if source.ncs == "external":
            residuals = normal_residuals(ncs.mean[sources].T, ncs.std[sources].T)
            found["ncs"] = self._given("ncs", given.external_ncs, sources, residuals)
        return found

    def _given(
        self, name: EntityClass, given: GivenScenarios | None, members: list[int], residuals: Residuals
    ) -> ExternalScenarios:
        """Scenarios of those entities that have noise; the others follow no scenario but their mean."""
        file = f"external_{name}_scenarios"
        if given is None:
            raise ValidationError(
                f"scenario_source.{name} is external, but the case has no scenarios/{file}.parquet",
                kind="MissingFile",
                context={"field": f"scenario_source.{name}"},
                suggestion="add the file, or use in_sample or out_of_sample",
            )
        position = np.full(max([*members, *given.entity.tolist()], default=-1) + 1, -1)
        position[members] = np.arange(len(members))
        chosen = position[given.entity] >= 0
        rows = GivenScenarios(
            given.stage[chosen], given.scenario[chosen], position[given.entity[chosen]], given.value[chosen]
        )
        return ExternalScenarios.of(rows, file, self.stages, len(members), residuals)


class Forecast(Protocol):
    """Where trajectories take their noise from."""

    def start_iteration(self, iteration: int, first_scenario: int, n_scenarios: int) -> None:
        """Draw what these scenarios of an iteration need; the same whoever draws."""

    def values(self, stage: int) -> Floats:
        """``[scenario, value]``: inflow terms, loads and available powers of ``stage``."""


class OpeningForecast:
    """Trajectories that meet one opening of the tree in each stage."""

    def __init__(self, tree_seed: int, openings: Sequence[Floats]) -> None:
        self._seed = tree_seed
        self._openings = openings
        self._n_openings = np.array([len(rows) for rows in openings], dtype=np.uint32)
        self._drawn = np.empty((0, len(openings)), dtype=np.int32)

    def start_iteration(self, iteration: int, first_scenario: int, n_scenarios: int) -> None:
        scenarios = range(first_scenario, first_scenario + n_scenarios)
        self._drawn = draw_openings(self._seed, iteration, scenarios, self._n_openings)

    def values(self, stage: int) -> Floats:
        return self._openings[stage][self._drawn[:, stage]]


class SampledForecast:
    """Trajectories with noise of their own in at least one class of entities."""

    def __init__(self, nature: Nature, tree: OpeningTree) -> None:
        training = nature.case.config.training
        source = training.scenario_source
        self._nature = nature
        self._sampler = ForwardSampler(
            tree=tree,
            tree_seed=training.tree_seed,
            stages=nature.stages,
            entities=nature.entities,
            schemes={"inflow": source.inflow, "load": source.load, "ncs": source.ncs},
            seed=source.seed,
            correlator=nature.correlator,
            external=nature.external,
        )
        self._noise = np.empty((0, 0, 0))

    def start_iteration(self, iteration: int, first_scenario: int, n_scenarios: int) -> None:
        self._noise = self._sampler.sample(iteration, range(first_scenario, first_scenario + n_scenarios))

    def values(self, stage: int) -> Floats:
        return self._nature.values(stage, np.ascontiguousarray(self._noise[:, stage]))


def open_nature(comm: GroupMember, nature: Nature) -> tuple[list[Floats], Forecast]:
    """Collective: the openings of each stage as parameters, one copy per node, and what trajectories draw from.

    The ranks of a node each make the openings of a block of stages.
    """
    with comm.split_local() as local:
        first, count = contiguous_block(len(nature.stages), local.rank, local.size)
    mine = range(first, first + count)
    layout = TreeLayout.of(nature.stages, nature.entities.n_entities)
    source = nature.case.config.training.scenario_source
    schemes = {source.inflow, source.load, source.ncs}
    region = comm.create_shared_region(layout.size if schemes != {"in_sample"} else 0)
    tree = nature.tree(region.as_mut_block(0, region.count) if region.count else None, mine)
    openings = _shared_openings(comm, nature, tree, mine)
    if schemes == {"in_sample"}:
        return openings, OpeningForecast(nature.case.config.training.tree_seed, openings)
    region.fence()
    return openings, SampledForecast(nature, tree)


def _shared_openings(comm: GroupMember, nature: Nature, tree: OpeningTree, mine: range) -> list[Floats]:
    width = nature.width
    counts = [stage.n_openings for stage in nature.stages]
    starts = np.concatenate(([0], np.cumsum(counts))) * width
    region = comm.create_shared_region(int(starts[-1]))
    for stage in mine:
        part = region.as_mut_block(int(starts[stage]), counts[stage] * width)
        part.reshape(counts[stage], width)[:] = nature.values(stage, tree.stage(stage))
    region.fence()
    everything = region.as_slice()
    return [
        everything[start : start + n * width].reshape(n, width)
        for start, n in zip(starts, counts, strict=False)
    ]

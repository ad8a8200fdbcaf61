"""What nature gives: the randomness of a case as parameters of stage problems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cobre.core.case import Case
from cobre.core.config import ScenarioSource
from cobre.core.horizon import Stage
from cobre.core.scenarios import EntityClass, GivenScenarios
from cobre.errors import ValidationError
from cobre.stochastic import (
    Correlator,
    ExternalScenarios,
    InflowModel,
    LagTransition,
    NoiseEntities,
    OpeningTree,
    availability_mw,
    clamp_openings,
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
    source: ScenarioSource
    """Where trajectories take their noise from."""
    stages: tuple[Stage, ...]
    entities: NoiseEntities
    inflow: InflowModel
    transition: LagTransition
    external: dict[EntityClass, ExternalScenarios]

    @classmethod
    def of(cls, case: Case, source: ScenarioSource | None = None) -> Nature:
        """From the statistics, lags and given scenarios of ``case``; ``source`` is that of training if it is None."""
        stages, n_hydros = case.horizon.stages, len(case.system.hydros)
        scenarios = case.scenarios
        tables = case.tables
        entities = NoiseEntities.of(n_hydros, tables.bus.load_std_mw, tables.non_controllable.has_statistics)
        inflow = InflowModel.build(stages, n_hydros, scenarios.inflow, scenarios.lags, scenarios.annual)
        transition = LagTransition.build(stages, inflow.n_lags, case.horizon.season_definitions)
        nature = cls(case, case.config.training.scenario_source, stages, entities, inflow, transition, {})
        external = nature._external()
        if nature.source.inflow == "external":  # the openings of a study are those of its training
            stages = tuple(clamp_openings(stages, external["inflow"]))
        nature = replace(nature, stages=stages, external=external)
        if source is None or source == nature.source:
            return nature
        nature = replace(nature, source=source)
        return replace(nature, external=nature._external())

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
        source, given = self.source, self.case.scenarios
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
                suggestion="add the file",
            )
        position = np.full(max([*members, *given.entity.tolist()], default=-1) + 1, -1)
        position[members] = np.arange(len(members))
        chosen = position[given.entity] >= 0
        rows = GivenScenarios(
            given.stage[chosen], given.scenario[chosen], position[given.entity[chosen]], given.value[chosen]
        )
        return ExternalScenarios.of(rows, file, self.stages, len(members), residuals)

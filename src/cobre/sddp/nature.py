"""What nature gives: the randomness of a case as parameters of stage problems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cobre.arrays import Floats
from cobre.core.case import Case
from cobre.core.config import ScenarioSource
from cobre.core.horizon import Stage
from cobre.core.scenarios import EntityClass
from cobre.stochastic import (
    Correlator,
    ExternalScenarios,
    HistoricalWindows,
    InflowModel,
    InflowProcess,
    LagTransition,
    NoiseEntities,
    NoiseStatistics,
    OpeningTree,
    availability_mw,
    external_classes,
    external_scenarios,
    generate_tree,
    historical_windows,
    load_mw,
    stages_with_openings,
    tree_from_rows,
)
from cobre.stochastic.inflow_rows import StatisticTable

if TYPE_CHECKING:
    from cobre.stochastic.residual_noise import ResidualNoise


@dataclass(frozen=True, eq=False)
class Nature:
    """Everything random in a case. ``stages`` have the number of openings that they really get.

    Openings are those of training, whatever the ``source`` of trajectories is: ``of_openings`` has their statistics,
    and ``windows_of_openings`` the years that they repeat, if they do.
    """

    case: Case
    source: ScenarioSource
    """Where trajectories take their noise from."""
    stages: tuple[Stage, ...]
    statistics: NoiseStatistics
    of_openings: NoiseStatistics
    process: InflowProcess
    process_of_openings: InflowProcess
    windows_of_openings: HistoricalWindows | None

    @classmethod
    def of(cls, case: Case, source: ScenarioSource | None = None) -> Nature:
        """From the statistics, lags and given scenarios of ``case``; ``source`` is that of training if it is None."""
        training = case.config.training.scenario_source
        source = training if source is None else source
        classes = external_classes(training)
        of_openings = statistics = NoiseStatistics.of(case, classes)
        process_of_openings = process = InflowProcess.of(case, of_openings)
        if not external_classes(source) <= classes:
            statistics = NoiseStatistics.of(case, classes | external_classes(source))
            process = InflowProcess.of(case, statistics)
        stages, windows = stages_with_openings(case, of_openings, process_of_openings)
        return cls(case, source, stages, statistics, of_openings, process, process_of_openings, windows)

    @property
    def external_classes(self) -> frozenset[EntityClass]:
        """Classes that follow given scenarios, in training or in these trajectories: `process` depends on them."""
        return frozenset(
            external_classes(self.case.config.training.scenario_source) | external_classes(self.source)
        )

    @property
    def entities(self) -> NoiseEntities:
        return self.statistics.entities

    @property
    def n_components(self) -> int:
        """Per hydro in the state beside its storage: lags, and the mean of a period that has not ended."""
        return self.process.transition.n_components

    @property
    def transition(self) -> LagTransition:
        return self.process.transition

    def lag_coefficients(self, stage: int) -> Floats:
        """``[hydro, component]``: what each of them adds to the inflow of stage index ``stage``."""
        psi = np.zeros((self.entities.n_hydros, self.n_components))
        psi[:, : self.inflow.n_lags] = self.inflow.psi[stage].T
        return psi

    @property
    def inflow(self) -> InflowModel:
        return self.process.model

    @cached_property
    def correlator(self) -> Correlator:
        return Correlator(self.case.scenarios.correlation, self.entities)

    @property
    def initial_lags(self) -> Floats:
        """``[component, hydro]``: inflows before the study."""
        return self.process.start

    @cached_property
    def residual_noise(self) -> ResidualNoise | None:
        """What makes the noise of inflows of normal noise; None where it is normal."""
        residuals, n_hydros = self.case.scenarios.residuals, self.entities.n_hydros
        if residuals is None:
            return None
        from cobre.stochastic.residual_noise import ResidualNoise, reach_of_noise

        table = StatisticTable.of(self.stages, n_hydros, self.statistics.inflow)
        means = np.array([table.of_stage(stage.id)[0] for stage in self.stages]).reshape(-1, n_hydros)
        reach = reach_of_noise(residuals.kind, means, self.inflow.base, self.inflow.psi)
        return ResidualNoise(residuals, self.stages, reach, self.inflow.sigma)

    @property
    def width(self) -> int:
        """Parameters after the state: inflow terms by hydro, loads by bus, available powers by source."""
        system = self.case.system
        return len(system.hydros) + len(system.buses) + len(system.non_controllables)

    def values(self, stage: int, noise: Floats, statistics: NoiseStatistics | None = None) -> Floats:
        """``[n, width]`` for ``noise [n, entity]`` of a stage; negative inflows stay as they are.

        Noise of openings needs their ``statistics``.
        """
        tables, n, of = self.case.tables, len(noise), statistics or self.statistics
        process = self.process if of is self.statistics else self.process_of_openings
        load = np.repeat(of.load_mean_mw[np.newaxis, :, stage], n, axis=0)
        uncertain = list(of.entities.load_buses)
        load[:, uncertain] = load_mw(
            of.load_mean_mw[uncertain, stage],
            of.load_std_mw[uncertain, stage],
            noise[:, of.entities.columns("load")],
        )
        sources = tables.non_controllable
        of_sources = np.zeros((n, len(sources.has_statistics)))
        of_sources[:, list(of.entities.ncs_sources)] = noise[:, of.entities.columns("ncs")]
        available = availability_mw(
            of.ncs_mean[:, stage], of.ncs_std[:, stage], of_sources, sources.installed_mw[:, stage]
        )
        inflow = process.model.noise_term(stage, noise[:, of.entities.columns("inflow")])
        return np.concatenate([inflow, load, available], axis=1)

    def tree(self, out: Floats | None, block: range) -> OpeningTree:
        """The noise of all openings, generated for the stages of ``block`` or taken from the case."""
        given, entities = self.case.scenarios.openings, self.of_openings.entities
        if given is not None:
            return tree_from_rows(given, self.stages, entities.n_entities)
        correlator = Correlator(self.case.scenarios.correlation, entities)
        seed, windows = self.case.config.training.tree_seed, self.windows_of_openings
        tree = generate_tree(
            seed, self.stages, entities.n_entities, correlator, windows=windows, out=out, block=block
        )
        if self.residual_noise is not None:
            for t in block:
                if self.stages[t].sampling_method != "historical_residuals":  # they are the history's already
                    self.residual_noise.shape_tree(tree, seed, range(t, t + 1))
        return tree

    @cached_property
    def external(self) -> dict[EntityClass, ExternalScenarios]:
        """The scenarios of those classes whose trajectories follow some."""
        return external_scenarios(self.case, self.source, self.statistics, self.process)

    @cached_property
    def windows(self) -> HistoricalWindows | None:
        """The years that trajectories repeat, if they do."""
        if self.source.inflow != "historical":
            return None
        return historical_windows(self.case, self.source, self.process)

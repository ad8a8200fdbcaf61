"""What is random in a case, put together: the inflow process, given scenarios and years of the history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.core.case import Case
from cobre.core.config import ScenarioSource
from cobre.core.horizon import Stage
from cobre.core.scenarios import EntityClass, GivenScenarios
from cobre.errors import ValidationError
from cobre.stochastic.entities import ENTITY_CLASSES
from cobre.stochastic.external import (
    ExternalScenarios,
    InflowInversion,
    Inversion,
    NormalInversion,
    clamp_openings,
)
from cobre.stochastic.historical import HistoricalWindows
from cobre.stochastic.inflows import InflowModel
from cobre.stochastic.lags import LagTransition
from cobre.stochastic.moments import NoiseStatistics
from cobre.stochastic.past import PastRecord

__all__ = [
    "InflowProcess",
    "external_classes",
    "external_scenarios",
    "historical_windows",
    "stages_with_openings",
]


@dataclass(frozen=True, eq=False)
class InflowProcess:
    """The inflow model, how its lags move on, and the components (components, hydros) that they start from."""

    model: InflowModel
    transition: LagTransition
    start: Floats

    @classmethod
    def of(cls, case: Case, statistics: NoiseStatistics) -> InflowProcess:
        """Of a case with these statistics."""
        horizon, scenarios, n_hydros = case.horizon, case.scenarios, len(case.system.hydros)
        seasons = horizon.season_definitions
        model = InflowModel.build(
            horizon.stages,
            n_hydros,
            statistics.inflow,
            scenarios.lags,
            scenarios.annual,
            seasons,
            horizon.pre_study_stages,
            counts_seasons=case.conventions.counts_seasons,
        )
        past = PastRecord.of(n_hydros, case.initial.past_inflows, case.initial.observations)
        transition = LagTransition.build(horizon.stages, model.n_lags, seasons, past=past, psi=model.psi)
        return cls(model, transition, transition.initial(past))

    @property
    def inversion(self) -> InflowInversion:
        """What turns inflows into the noise that gives them."""
        return InflowInversion(self.model, self.transition, self.start)


def external_classes(source: ScenarioSource) -> set[EntityClass]:
    """The classes whose trajectories follow scenarios of a file."""
    return {name for name in ENTITY_CLASSES if getattr(source, name) == "external"}


def external_scenarios(
    case: Case, source: ScenarioSource, statistics: NoiseStatistics, process: InflowProcess
) -> dict[EntityClass, ExternalScenarios]:
    """The scenarios of those classes whose trajectories follow some; a class without noise follows none."""
    given, of = case.scenarios, statistics
    buses, sources = list(of.entities.load_buses), list(of.entities.ncs_sources)
    parts: dict[EntityClass, tuple[GivenScenarios | None, list[int], Inversion]] = {
        "inflow": (given.external_inflow, list(range(of.entities.n_hydros)), process.inversion),
        "load": (
            given.external_load,
            buses,
            NormalInversion(of.load_mean_mw[buses].T, of.load_std_mw[buses].T),
        ),
        "ncs": (given.external_ncs, sources, NormalInversion(of.ncs_mean[sources].T, of.ncs_std[sources].T)),
    }
    system = case.system
    names = {
        "inflow": [f"hydro {hydro.id}" for hydro in system.hydros],
        "load": [f"bus {system.buses[i].id}" for i in buses],
        "ncs": [f"source {system.non_controllables[i].id}" for i in sources],
    }
    return {
        name: _given(name, *parts[name], case.horizon.stages, names[name])
        for name in ENTITY_CLASSES
        if name in external_classes(source) and (parts[name][1] or parts[name][0] is None)
    }


def historical_windows(case: Case, source: ScenarioSource, process: InflowProcess) -> HistoricalWindows:
    """The years of the history that may be repeated."""
    horizon, history = case.horizon, case.scenarios.history
    if history is None:
        raise _without_file("inflow_history", "historical")
    return HistoricalWindows.of(
        history,
        len(case.system.hydros),
        horizon.stages,
        horizon.season_definitions,
        process.inversion,
        source.historical_years,
    )


def stages_with_openings(
    case: Case, statistics: NoiseStatistics, process: InflowProcess
) -> tuple[tuple[Stage, ...], HistoricalWindows | None]:
    """The stages with the number of openings that they get, and the years that openings repeat, if some do.

    There are no more openings than training has external scenarios, or the history windows.
    """
    source, stages = case.config.training.scenario_source, case.horizon.stages
    for scenarios in external_scenarios(case, source, statistics, process).values():
        stages = tuple(clamp_openings(stages, scenarios.counts.tolist()))
    is_historical = [stage.sampling_method == "historical_residuals" for stage in stages]
    if not any(is_historical) or case.scenarios.openings is not None:
        return stages, None
    windows = historical_windows(case, source, process)
    counts = [
        windows.n_windows if historical else stage.n_openings
        for historical, stage in zip(is_historical, stages, strict=True)
    ]
    return tuple(clamp_openings(stages, counts)), windows


def _given(
    name: EntityClass,
    given: GivenScenarios | None,
    members: list[int],
    inversion: Inversion,
    stages: tuple[Stage, ...],
    names: list[str],
) -> ExternalScenarios:
    """Scenarios of those entities that have noise; the others follow no scenario but their mean."""
    file = f"external_{name}_scenarios"
    if given is None:
        raise _without_file(file, "external")
    position = np.full(max([*members, *given.entity.tolist()], default=-1) + 1, -1)
    position[members] = np.arange(len(members))
    chosen = position[given.entity] >= 0
    rows = GivenScenarios(
        given.stage[chosen], given.scenario[chosen], position[given.entity[chosen]], given.value[chosen]
    )
    return ExternalScenarios.of(rows, file, stages, len(members), inversion, names)


def _without_file(file: str, scheme: str) -> ValidationError:
    return ValidationError(
        f"the scenario source is {scheme}, but the case has no scenarios/{file}.parquet",
        kind="MissingFile",
        context={"file": f"scenarios/{file}.parquet", "scheme": scheme},
        suggestion="add the file",
    )

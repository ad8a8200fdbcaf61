"""What the case says about randomness, as `cobre.core.scenarios` has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Ints
from cobre.core.case import DatedValue, InitialState
from cobre.core.horizon import Horizon
from cobre.core.scenarios import (
    AnnualComponent,
    Correlation,
    CorrelationGroup,
    GivenOpenings,
    GivenScenarios,
    InflowRecords,
    InflowResiduals,
    InflowStatistics,
    LagCoefficients,
    PastInflows,
    Scenarios,
)
from cobre.io.assemble.filling import initial_storage
from cobre.io.assemble.inflow_fitting.records import records_of
from cobre.io.assemble.inflow_fitting.seeds import observations_of
from cobre.io.assemble.system import entity_indices
from cobre.io.read.columns import Table
from cobre.io.read.files import CaseFiles
from cobre.io.read.scenarios.correlation import CorrelationFile, CorrelationGroupRecord

CLASS_ENTITIES = {"inflow": "hydro", "load": "bus", "ncs": "non-controllable source"}
DEFAULT_PROFILE = "default"


def build_scenarios(files: CaseFiles, horizon: Horizon) -> Scenarios:
    """All statistics, coefficients, correlations and given values."""
    index = entity_indices(files)
    hydro, tables = index["hydro"], files.tables
    stats, lags, annual = (
        _in_order(tables[name], hydro) for name in ("inflow_stats", "inflow_lags", "inflow_annual")
    )
    return Scenarios(
        inflow=InflowStatistics(*_rows(stats, hydro, "mean_m3s", "std_m3s")),
        lags=LagCoefficients(*_rows(lags, hydro, "lag", "coefficient", "residual_std_ratio")),
        annual=AnnualComponent(
            *_rows(annual, hydro, "annual_coefficient", "annual_mean_m3s", "annual_std_m3s")
        )
        if len(annual)
        else None,
        residuals=_residuals(files, horizon),
        correlation=None if files.correlation is None else _correlation(files.correlation, horizon, index),
        openings=_openings(files, horizon),
        external_inflow=_given(tables["external_inflow"], horizon, "hydro_id", "value_m3s", hydro),
        external_load=_given(tables["external_load"], horizon, "bus_id", "value_mw", index["bus"]),
        external_ncs=_given(
            tables["external_ncs"],
            horizon,
            "ncs_id",
            "availability_factor",
            index["non-controllable source"],
        ),
        history=_history(files),
        external_sets_statistics=files.generation.is_018,
    )


def _rows(table: Table, hydro: Mapping[int, int], *names: str) -> list[NDArray[Any]]:
    """Indices of hydros, stage ids, and the columns of these names."""
    return [_positions(table["hydro_id"], hydro), table["stage_id"], *(table[name] for name in names)]


def _in_order(table: Table, hydro: Mapping[int, int]) -> Table:
    """Rows by hydro index; the rest of their order stays."""
    return table.take(np.argsort(_positions(table["hydro_id"], hydro), kind="stable"))


def build_initial_state(files: CaseFiles) -> InitialState:
    """Stored water (zero where the case is silent), past inflows and observations in order of hydros."""
    hydro = entity_indices(files)["hydro"]
    past = sorted(files.past_inflows, key=lambda entry: hydro[entry.hydro_id])
    return InitialState(
        initial_storage(files),
        tuple(PastInflows(hydro[entry.hydro_id], tuple(map(float, entry.values_m3s))) for entry in past),
        observations_of(files),
        dated_values(files, "defluences"),
        dated_values(files, "commitments"),
    )


def dated_values(files: CaseFiles, kind: Literal["defluences", "commitments"]) -> tuple[DatedValue, ...]:
    """Past releases or commitments in order of plants and dates; releases only of rivers that take time."""
    index, initial = entity_indices(files), files.initial_conditions
    if kind == "defluences":
        delayed = {h.id for h in files.hydros.hydros if h.travel_time_hours and h.downstream_id is not None}
        found = [
            DatedValue(index["hydro"][each.hydro_id], each.start_date, each.end_date, float(each.value_m3s))
            for each in initial.past_defluences
            if each.hydro_id in delayed
        ]
    else:
        ahead = {t.id for t in files.thermals.thermals if t.anticipated_config is not None}
        found = [
            DatedValue(
                index["thermal"][each.thermal_id], each.start_date, each.end_date, float(each.value_mw)
            )
            for each in initial.past_anticipated_commitments
            if each.thermal_id in ahead
        ]
    return tuple(sorted(found, key=lambda each: (each.entity, each.start_date)))


def _residuals(files: CaseFiles, horizon: Horizon) -> InflowResiduals | None:
    """The distribution of the inflows' noise; a bootstrap takes the history's, which validation has fitted."""
    kind = "normal" if files.config.estimation is None else files.config.estimation.residuals
    if kind == "normal":
        return None
    if kind != "bootstrap":
        return InflowResiduals(kind)
    if files.inflow_fit is None:
        return None
    seasons = {stage.season_id for stage in horizon.stages}
    by_season = {season: files.inflow_fit.residual_years(season) for season in seasons}
    return InflowResiduals(
        "bootstrap", {t: by_season[stage.season_id] for t, stage in enumerate(horizon.stages)}
    )


def _history(files: CaseFiles) -> InflowRecords | None:
    if not len(files.tables["inflow_history"]):
        return None
    history, _ = records_of(files)
    return InflowRecords(history.hydro, history.start_day, history.end_day, history.value_m3s)


def _positions(ids: NDArray[Any], index: Mapping[int, int]) -> Ints:
    known = np.array(sorted(index), np.int64)
    places = np.array([index[each] for each in known.tolist()], np.int64)
    return places[np.searchsorted(known, ids)] if len(known) else np.empty(0, np.int64)


def _correlation(
    record: CorrelationFile, horizon: Horizon, index: Mapping[str, Mapping[int, int]]
) -> Correlation:
    names = sorted(record.profiles)
    scheduled = {horizon.index_of[entry.stage_id]: entry.profile_name for entry in record.schedule or ()}
    return Correlation(
        {
            name: tuple(
                sorted(
                    (_group(group, index) for group in record.profiles[name].correlation_groups),
                    key=lambda group: group.entities,
                )
            )
            for name in names
        },
        DEFAULT_PROFILE if DEFAULT_PROFILE in names else names[0],
        dict(sorted(scheduled.items())),
    )


def _group(record: CorrelationGroupRecord, index: Mapping[str, Mapping[int, int]]) -> CorrelationGroup:
    """Entities in order of ids, the matrix arranged likewise, so that the order in the file does not matter."""
    entities = [(entity.type, index[CLASS_ENTITIES[entity.type]][entity.id]) for entity in record.entities]
    order = sorted(range(len(entities)), key=lambda position: entities[position])
    return CorrelationGroup(
        record.name,
        tuple(entities[position] for position in order),
        tuple(tuple(float(record.matrix[row][column]) for column in order) for row in order),
    )


def _openings(files: CaseFiles, horizon: Horizon) -> GivenOpenings | None:
    if not files.has_given_openings:
        return None
    table = files.tables["noise_openings"]
    return GivenOpenings(
        _positions(table["stage_id"], horizon.index_of),
        table["opening_index"],
        table["entity_index"],
        table["value"],
        None if np.isnan(table["probability"]).all() else table["probability"],
    )


def _given(
    table: Table, horizon: Horizon, key: str, column: str, index: Mapping[int, int]
) -> GivenScenarios | None:
    if not len(table):
        return None
    stage, entity = _positions(table["stage_id"], horizon.index_of), _positions(table[key], index)
    order = np.lexsort((entity, table["scenario_id"], stage))
    return GivenScenarios(stage[order], table["scenario_id"][order], entity[order], table[column][order])

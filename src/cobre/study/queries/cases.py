"""Facts of a case: its files, entities, stages and scenarios, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

from cobre._lazy import collecting_garbage_later
from cobre.core.case import Case
from cobre.errors import CobreError
from cobre.io.loading import examine
from cobre.io.problems import ValidationReport, raise_if_invalid

__all__ = ["ENTITY_KINDS", "Examination", "entity_rows", "examine_case", "inflow_rows", "scenario_facts"]

ENTITY_KINDS = (
    "buses", "lines", "thermals", "hydros", "non_controllables", "pumping_stations", "contracts",
    "generic_constraints",
)  # fmt: skip


@dataclass(frozen=True)
class Examination:
    """A case folder as the checks found it."""

    report: ValidationReport
    files: list[str]
    """Paths of the files of the format that are there."""
    generation: str
    case: Case | None
    """None if there is an error."""

    def valid_case(self, name: str) -> Case:
        """The study; raises an error with all problems if there is one."""
        raise_if_invalid(self.report, name)
        if self.case is None:
            raise AssertionError("a case without errors was not assembled")
        return self.case


def examine_case(path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None) -> Examination:
    """Read and check a case folder; raises only if there is no such folder or it may not be read."""
    with collecting_garbage_later():
        checked, report = examine(Path(path), config_overrides)
    generation = "0.18" if checked.files.generation.is_018 else "0.5.1"
    return Examination(report, sorted(checked.files.present), generation, checked.case)


def entity_counts(case: Case) -> dict[str, int]:
    """How many entities of each kind there are."""
    return {kind: len(getattr(case.system, kind)) for kind in ENTITY_KINDS}


def entity_rows(case: Case, kind: str) -> list[dict[str, Any]]:
    """The entities of a kind, one row each; references are ids and not positions."""
    if kind not in ENTITY_KINDS:
        raise CobreError(
            f"there are no entities of the kind {kind[:40]!r}",
            kind="InvalidEnum",
            suggestion=f"use one of {', '.join(ENTITY_KINDS)}",
        )
    return [_with_ids(case, _flat(entity)) for entity in getattr(case.system, kind)]


_TARGETS = {
    "bus": "buses", "source_bus": "buses", "target_bus": "buses", "downstream": "hydros",
    "source_hydro": "hydros", "target_hydro": "hydros",
}  # fmt: skip


def _with_ids(case: Case, row: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for key, value in row.items():
        if key in _TARGETS and isinstance(value, int):
            found[f"{key}_id"] = getattr(case.system, _TARGETS[key])[value].id
        elif key == "more_buses":
            found["more_bus_ids"] = [case.system.buses[each].id for each in value]
        else:
            found[key] = value
    return found


def _flat(entity: Any) -> dict[str, Any]:
    """Fields that are values or lists; parts that are objects become objects."""
    return {part.name: _plain(getattr(entity, part.name)) for part in fields(entity)}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {key: _plain(each) for key, each in asdict(value).items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def stage_rows(case: Case) -> list[dict[str, Any]]:
    """The stages in order."""
    return [
        {
            "stage_id": stage.id,
            "start_date": stage.start_date.isoformat(),
            "end_date": stage.end_date.isoformat(),
            "season_id": stage.season_id,
            "blocks": len(stage.blocks),
            "hours": sum(block.hours for block in stage.blocks),
            "openings": stage.n_openings,
        }
        for stage in case.horizon.stages
    ]


def scenario_facts(case: Case) -> dict[str, Any]:
    """Where noise comes from, and how large the inflow model is."""
    lags, correlation = case.scenarios.lags, case.scenarios.correlation
    definitions = case.horizon.season_definitions
    profiles = {} if correlation is None else correlation.profiles
    simulated = case.config.simulation.scenario_source or case.config.training.scenario_source
    return {
        "scenario_source": {
            "training": asdict(case.config.training.scenario_source),
            "simulation": asdict(simulated),
        },
        "count": case.config.simulation.n_scenarios,
        "stages": len(case.horizon.stages),
        "openings_per_stage": [stage.n_openings for stage in case.horizon.stages],
        "entities": [{"kind": "hydro", "id": plant.id, "name": plant.name} for plant in case.system.hydros],
        "par_model": {
            "max_ar_order": int(lags.lag.max()) if len(lags.lag) else 0,
            "seasons": len(definitions.seasons) if definitions is not None else 0,
            "correlation_groups": sum(len(groups) for groups in profiles.values()),
        },
    }


def inflow_rows(case: Case, hydro_id: int) -> list[dict[str, Any]]:
    """Statistics of the inflow of a hydro, one row per stage that has some."""
    places = {plant.id: place for place, plant in enumerate(case.system.hydros)}
    if hydro_id not in places:
        raise CobreError(
            f"there is no hydro {hydro_id}",
            kind="MissingReference",
            suggestion=f"the hydros have the ids {', '.join(map(str, list(places)[:50]))}",
        )
    inflow, lags = case.scenarios.inflow, case.scenarios.lags
    place = places[hydro_id]
    coefficients: dict[int, list[float]] = {}
    for row in sorted((lags.hydro == place).nonzero()[0].tolist(), key=lambda each: int(lags.lag[each])):
        coefficients.setdefault(int(lags.stage_id[row]), []).append(float(lags.coefficient[row]))
    return [
        {
            "stage_id": int(inflow.stage_id[row]),
            "mean_m3s": float(inflow.mean_m3s[row]),
            "std_m3s": float(inflow.std_m3s[row]),
            "ar_coefficients": coefficients.get(int(inflow.stage_id[row]), []),
        }
        for row in (inflow.hydro == place).nonzero()[0].tolist()
    ]

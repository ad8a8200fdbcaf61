"""Checks of the rows of external scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.core.scenarios import EntityClass
from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.validate.naming import listed
from cobre.io.validate.noise_members import CLASSES, KEYS, members_of, sources_of, unused_ids

STATISTICS: dict[str, EntityClass] = {
    "inflow_stats": "inflow",
    "load_stats": "load",
    "non_controllable_stats": "ncs",
}


def check_external_rows(files: CaseFiles, problems: Problems) -> None:
    """Where a class takes its noise from a file, every stage has every entity of it in every scenario."""
    if "stages.json" in files.damaged:
        return
    used = [name for name in CLASSES if _is_used(files, name) and len(files.tables[f"external_{name}"])]
    counts = {name: _check_class(files, name, problems) for name in used}
    for stage in sorted(stage.id for stage in files.stages.stages):
        different = {name: found[stage] for name, found in counts.items() if found.get(stage)}
        if len(set(different.values())) > 1:
            words = " and ".join(f"{n} of {name}" for name, n in different.items())
            report = problems.error if files.generation.is_018 else problems.warn
            report(
                "CoverageMismatch",
                Place(
                    files.tables[f"external_{next(iter(different))}"].file.path,
                    f"stage {stage}",
                    "scenario_id",
                    sorted(set(different.values())),
                ),
                f"there are {words} scenarios, so that trajectories combine scenarios of different numbers",
                "give all external classes as many scenarios",
                rule="5b.45",
            )
    if files.generation.is_018:
        _check_lengths(files, counts, problems)
        _check_constant_inflows(files, problems)


def stated_by_scenarios(files: CaseFiles, statistics: str) -> set[tuple[int, int]]:
    """Entities and stages that external scenarios give mean and deviation, where statistics do not."""
    name = STATISTICS[statistics]
    if not _is_used(files, name):
        return set()
    table = files.tables[f"external_{name}"]
    return set(zip(table[KEYS[name]].tolist(), table["stage_id"].tolist(), strict=True))


def _is_used(files: CaseFiles, name: EntityClass) -> bool:
    return any(getattr(source, name).scheme == "external" for source in sources_of(files).values())


def _check_class(files: CaseFiles, name: EntityClass, problems: Problems) -> dict[int, int]:
    """Report gaps of one class; the number of scenarios by stage."""
    table = files.tables[f"external_{name}"]
    if table.file.path in files.damaged:
        return {}
    ids, wanted, counts = table[KEYS[name]], members_of(files, name, is_external=True), {}
    for stage in sorted(stage.id for stage in files.stages.stages):
        mine = (table["stage_id"] == stage) & np.isin(ids, sorted(wanted))
        scenarios = np.unique(table["scenario_id"][mine])
        counts[stage] = len(scenarios)
        is_counted = np.array_equal(scenarios, np.arange(len(scenarios)))
        if wanted and not (
            len(scenarios) and is_counted and np.count_nonzero(mine) == len(scenarios) * len(wanted)
        ):
            problems.error(
                "CoverageMismatch",
                Place(table.file.path, f"stage {stage}", "scenario_id", len(scenarios)),
                _fault(table["scenario_id"][mine], ids[mine], sorted(wanted), KEYS[name]),
                "number scenarios from 0 and give every entity once in each",
                rule="5b.46",
            )
    idle = unused_ids(files, name)
    if idle:
        problems.warn(
            "IncompatibleSettings",
            table.file.path,
            f"the scenarios of {KEYS[name]} {listed(idle)} are not used: the given statistics have no deviation",
            "give a deviation above 0, or remove the statistics to have them taken from the scenarios",
            field=KEYS[name],
            value=idle[:8],
        )
    return counts


def _check_lengths(
    files: CaseFiles, counts: Mapping[EntityClass, dict[int, int]], problems: Problems
) -> None:
    """Warn where stages have different numbers of scenarios: a trajectory cannot keep its number."""
    for name, found in counts.items():
        if len(set(found.values())) > 1:
            problems.warn(
                "CoverageMismatch",
                files.tables[f"external_{name}"].file.path,
                f"stages have {listed(sorted(set(found.values())))} scenarios, so that trajectories change theirs",
                "give every stage as many scenarios",
                field="scenario_id",
                value=sorted(set(found.values())),
                rule="5b.48",
            )


def _check_constant_inflows(files: CaseFiles, problems: Problems) -> None:
    """A plant whose inflow follows its past cannot take external inflows that do not vary: no noise gives them."""
    table, lags = files.tables["external_inflow"], files.tables["inflow_lags"]
    if not _is_used(files, "inflow"):
        return
    for hydro_id, stage in sorted(
        set(zip(lags["hydro_id"].tolist(), lags["stage_id"].tolist(), strict=True))
    ):
        values = table["value_m3s"][(table["hydro_id"] == hydro_id) & (table["stage_id"] == stage)]
        if len(values) > 1 and np.ptp(values) == 0.0:
            problems.error(
                "PhysicalConstraint",
                Place(table.file.path, f"hydro {hydro_id}, stage {stage}", "value_m3s", float(values[0])),
                f"all {len(values)} scenarios have {values[0]:g} m3/s, but the inflow follows its lags",
                "give scenarios that differ, or remove the hydro's rows from inflow_ar_coefficients",
                rule="5b.50",
            )


def _fault(scenarios: NDArray[Any], ids: NDArray[Any], wanted: Sequence[int], key: str) -> str:
    """The first thing that is wrong with the scenarios of a stage."""
    numbers = np.unique(scenarios)
    if not len(numbers):
        return "has no scenarios"
    if numbers[0] < 0:
        return f"has a scenario {numbers[0]}"
    absent = np.setdiff1d(np.arange(len(numbers)), numbers).tolist()
    if absent:
        return f"has {len(numbers)} scenarios up to number {numbers[-1]}, without number {listed(absent)}"
    found = set(zip(scenarios.tolist(), ids.tolist(), strict=True))
    scenario, entity = next((n, i) for n in numbers.tolist() for i in wanted if (n, i) not in found)
    return f"scenario {scenario} has no value of {key} {entity}"

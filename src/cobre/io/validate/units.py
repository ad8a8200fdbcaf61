"""Checks of unit groups: ids, limits against those of the plant, rows of groups that do not exist."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cobre.io.problems import Place, Problems
from cobre.io.read.columns import Table
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord, TurbineLimits
from cobre.io.validate.naming import called, known
from cobre.io.validate.notes import report_repeated

HYDROS = "system/hydros.json"
QUANTITIES = ("turbined_m3s", "generation_mw")
ROUNDING = 1e-9
"""Relative: sums of decimal fractions miss their value by so much."""


def check_units(files: CaseFiles, problems: Problems) -> None:
    """Report groups that contradict themselves or their plant."""
    if not files.generation.is_018:
        return
    for hydro in files.hydros.hydros:
        entity = called("hydro", hydro)
        ids = [group.id for group in hydro.unit_groups]
        report_repeated(
            ids,
            problems,
            (HYDROS, entity, "unit_groups.id"),
            "unit_groups has two groups with id {}",
            "give each group of a plant its own id",
            rule="5a.39",
        )
        for field, value, message, rule in _contradictions(hydro):
            problems.error(
                "PhysicalConstraint",
                Place(HYDROS, entity, field, value),
                message,
                "correct the limits of the groups or those of the plant",
                rule=rule,
            )
    _check_rows(files, problems)
    _warn_of_plant_minima(files, problems)


def _contradictions(hydro: HydroRecord) -> Iterator[tuple[str, float, str, str]]:
    for group in hydro.unit_groups:
        for name in QUANTITIES:
            low, high = getattr(group, f"min_{name}"), getattr(group, f"max_{name}")
            if low > high:
                text = f"min_{name} = {low:g} of group {group.id} is above its max_{name} = {high:g}"
                yield f"unit_groups.min_{name}", low, text, "5a.40"
    for name in QUANTITIES:
        least = sum(getattr(group, f"min_{name}") for group in hydro.unit_groups)
        most = sum(getattr(group, f"max_{name}") for group in hydro.unit_groups)
        low, high = getattr(hydro.generation, f"min_{name}"), getattr(hydro.generation, f"max_{name}")
        if most > high * (1.0 + ROUNDING):
            text = f"max_{name} of its groups is {most:g} in all, above the plant's {high:g}"
            yield f"unit_groups.max_{name}", most, text, "5a.41"
        if least < low * (1.0 - ROUNDING):
            text = f"min_{name} of its groups is {least:g} in all, below the plant's {low:g}"
            yield f"unit_groups.min_{name}", least, text, "5a.44"


def _check_rows(files: CaseFiles, problems: Problems) -> None:
    table = files.tables["unit_group_bounds"]
    groups = {hydro.id: {group.id: group for group in hydro.unit_groups} for hydro in files.hydros.hydros}
    for row in range(len(table)):
        mine, group_id = groups.get(int(table["hydro_id"][row])), int(table["hydro_unit_group_id"][row])
        if mine is None:
            continue
        if group_id not in mine:
            problems.error(
                "MissingReference",
                table.at(row, "hydro_unit_group_id", group_id),
                f"hydro_unit_group_id = {group_id}, but the hydro has no such group",
                known(mine),
                rule="referential.3",
            )
            continue
        for name in QUANTITIES:
            _check_capacity(
                table, row, f"max_{name}", mine[group_id], ("group", "the group's own", "5a.45"), problems
            )


def _check_capacity(
    table: Table, row: int, field: str, owner: TurbineLimits, words: tuple[str, str, str], problems: Problems
) -> None:
    kind, whose, rule = words
    value, most = float(table[field][row]), float(getattr(owner, field))
    if value > most:
        problems.error(
            "PhysicalConstraint",
            table.at(row, field, value),
            f"{field} = {value:g} is above {whose} {most:g}",
            f"a stage can only lower the capacity of a {kind}",
            rule=rule,
        )


def _warn_of_plant_minima(files: CaseFiles, problems: Problems) -> None:
    table = files.tables["hydro_bounds"]
    plants = {hydro.id: hydro for hydro in files.hydros.hydros}
    for name in QUANTITIES:
        for row in np.flatnonzero(~np.isnan(table[f"min_{name}"])).tolist():
            value = float(table[f"min_{name}"][row])
            problems.warn(
                "IncompatibleSettings",
                table.at(row, f"min_{name}", value),
                f"min_{name} = {value:g} of a plant has no effect: the least of a plant is that of its unit groups",
                "write it to constraints/hydro_unit_group_bounds.parquet",
                rule="5a.44",
            )
        for row in range(len(table)):
            plant = plants.get(int(table["hydro_id"][row]))
            if plant is not None:
                words = ("plant", "the plant's", "5a.43")
                _check_capacity(table, row, f"max_{name}", plant.generation, words, problems)

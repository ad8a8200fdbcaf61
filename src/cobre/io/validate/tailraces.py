"""Checks of tail water: points and curves that contradict themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from cobre.core.distinct import distinct
from cobre.io.assemble.plants import HYDROS
from cobre.io.problems import Place, Problems
from cobre.io.read.columns import Table
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord, PiecewiseTailrace
from cobre.io.read.system.tailrace_curves import COEFFICIENTS
from cobre.io.validate.naming import called

LARGEST_GAP_M3S = 1e-6
LARGEST_JUMP_M, LARGEST_JUMP_SHARE = 1e-3, 1e-4
"""Difference of height where segments meet: in m, or as a share of the height if that is more."""


def check_tailraces(files: CaseFiles, problems: Problems) -> frozenset[int]:
    """Report tailraces that do not say one height for each outflow; the ids of their hydros."""
    wrong = {hydro.id for hydro in files.hydros.hydros if not _has_good_points(hydro, problems)}
    table = files.tables["tailrace_curves"]
    if table.file.path not in files.damaged:
        for hydro_id in distinct(table["hydro_id"]):
            families: dict[int, list[int]] = {}
            for row in np.flatnonzero(table["hydro_id"] == hydro_id).tolist():
                families.setdefault(int(table["family_id"][row]), []).append(row)
            have_levels = _have_good_levels(table, families, problems)
            meet = [_have_good_segments(table, rows, problems) for rows in families.values()]
            if not (have_levels and all(meet)):
                wrong.add(hydro_id)
    return frozenset(wrong)


def _has_good_points(hydro: HydroRecord, problems: Problems) -> bool:
    if not isinstance(hydro.tailrace, PiecewiseTailrace):
        return True
    flows = sorted(point.outflow_m3s for point in hydro.tailrace.points)
    twice = sorted({one for one, other in pairwise(flows) if one == other})
    for flow in twice:
        problems.error(
            "DuplicateId",
            Place(HYDROS, called("hydro", hydro), "tailrace.points.outflow_m3s", flow),
            f"two points of its tailrace have outflow_m3s = {flow:g}",
            "keep one of the points",
        )
    return not twice


def _have_good_levels(table: Table, families: Mapping[int, Sequence[int]], problems: Problems) -> bool:
    is_good = True
    seen: dict[float, int] = {}
    for family, rows in families.items():
        levels = np.unique(table["downstream_reference_level_m"][rows])
        level = float(levels[0])
        if len(levels) > 1:
            kind, value = "IncompatibleSettings", levels.tolist()
            message = f"its segments have the levels {', '.join(f'{each:g}' for each in levels)}"
        elif np.isnan(level) and len(families) > 1:
            kind, value = "CoverageMismatch", None
            message = f"it has no level, but the plant has {len(families)} families"
        elif level in seen:
            kind, value = "DuplicateId", level
            message = f"the families {seen[level]} and {family} have the same level, {level:g} m"
        else:
            seen[level] = family
            continue
        is_good = False
        problems.error(
            kind,
            Place(
                table.file.path,
                f"hydro {table['hydro_id'][rows[0]]}, family {family}",
                "downstream_reference_level_m",
                value,
            ),
            message,
            "give each family one level of the reservoir below, and no two the same",
        )
    return is_good


def _have_good_segments(table: Table, rows: Sequence[int], problems: Problems) -> bool:
    low, high, is_good = table["outflow_min_m3s"], table["outflow_max_m3s"], True
    for row in rows:
        if not low[row] < high[row]:
            is_good = False
            problems.error(
                "OutOfRange",
                table.at(row, "outflow_min_m3s", float(low[row])),
                f"outflow_min_m3s = {low[row]:g} is not below outflow_max_m3s = {high[row]:g}",
                "let the segment end at more outflow than it begins with",
            )
    ordered = sorted(rows, key=lambda row: float(low[row]))
    meet = [_meet(table, before, after, problems) for before, after in pairwise(ordered)] if is_good else []
    return is_good and all(meet)


def _meet(table: Table, before: int, after: int, problems: Problems) -> bool:
    """Whether a segment begins where the one before it ends, at the same height."""
    begin, end = float(table["outflow_min_m3s"][after]), float(table["outflow_max_m3s"][before])
    if abs(begin - end) > LARGEST_GAP_M3S:
        word = "a gap" if begin > end else "an overlap"
        kind, place = "CoverageMismatch", table.at(after, "outflow_min_m3s", begin)
        message = f"it begins at {begin:g} m3/s and the segment before it ends at {end:g}: {word}"
        remedy = "let each segment begin where the one before it ends"
    else:
        left, right = (_height(table, row, begin) for row in (before, after))
        if abs(right - left) <= max(LARGEST_JUMP_M, LARGEST_JUMP_SHARE * abs(left)):
            return True
        kind, place = "PhysicalConstraint", table.at(after, "coefficient_0", right)
        message = f"the height jumps from {left:g} to {right:g} m at {begin:g} m3/s"
        remedy = "correct the coefficients so that the segments meet"
    problems.error(kind, place, message, remedy)
    return False


def _height(table: Table, row: int, outflow: float) -> float:
    from cobre.production.tailrace import polynomial

    return polynomial(tuple(float(table[name][row]) for name in COEFFICIENTS), outflow)

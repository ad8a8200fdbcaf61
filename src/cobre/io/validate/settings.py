"""Checks of ``config.json``: settings that need each other."""

from __future__ import annotations

from cobre.io.problems import Problems
from cobre.io.read.files import CaseFiles
from cobre.io.validate.settings_018 import check_settings_018

CONFIG = "config.json"


def check_settings(files: CaseFiles, problems: Problems) -> None:
    """Report settings without the others that they need."""
    if CONFIG in files.unusable:
        return
    older = files.older_config
    selection = None if older is None else older.training.cut_selection
    if selection is not None and selection.enabled and selection.method is None:
        problems.error(
            "SchemaViolation",
            CONFIG,
            "cut selection is enabled without a method",
            "set training.cut_selection.method to level1, lml1 or domination",
            field="training.cut_selection.method",
            value=None,
        )
    _check_penalty(files, problems)
    if files.generation.is_018:
        check_settings_018(files, problems)


def _check_penalty(files: CaseFiles, problems: Problems) -> None:
    modeling = None if files.older_config is None else files.older_config.modeling
    method = None if modeling is None else modeling.inflow_non_negativity
    used = files.penalties.hydro.inflow_nonnegativity_cost
    if method is None or method.penalty_cost is None or "penalties.json" in files.unusable:
        return
    if method.penalty_cost != used:
        problems.warn(
            "PenaltyConsistency",
            CONFIG,
            f"penalty_cost = {method.penalty_cost:g} is not used; the price is {used:g}",
            "set hydro.inflow_nonnegativity_cost in penalties.json",
            field="modeling.inflow_non_negativity.penalty_cost",
            value=method.penalty_cost,
        )

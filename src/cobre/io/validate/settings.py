"""Checks of ``config.json``: settings that need each other."""

from __future__ import annotations

from cobre.io.problems import Problems
from cobre.io.read.files import CaseFiles

CONFIG = "config.json"


def check_settings(files: CaseFiles, problems: Problems) -> None:
    """Report settings without the others that they need."""
    if CONFIG in files.unusable:
        return
    training = files.config.training
    selection, source = training.cut_selection, training.scenario_source
    if selection is not None and selection.enabled and selection.method is None:
        problems.error(
            "SchemaViolation",
            CONFIG,
            "cut selection is enabled without a method",
            "set training.cut_selection.method to level1, lml1 or domination",
            field="training.cut_selection.method",
            value=None,
        )
    if source is not None and source.seed is None:
        for name in ("inflow", "load", "ncs"):
            if getattr(source, name).scheme == "out_of_sample":
                problems.error(
                    "SchemaViolation",
                    CONFIG,
                    f"{name}.scheme is out_of_sample, but there is no seed",
                    "set training.scenario_source.seed",
                    field="training.scenario_source.seed",
                    value=None,
                )
                break
    _check_external(files, problems)
    _check_penalty(files, problems)


def _check_external(files: CaseFiles, problems: Problems) -> None:
    source = files.config.training.scenario_source
    for name, attribute in (
        ("inflow", "external_inflow"),
        ("load", "external_load"),
        ("ncs", "external_ncs"),
    ):
        table = files.tables[attribute]
        is_wanted = source is not None and getattr(source, name).scheme == "external"
        if is_wanted and table.file.path not in files.present:
            problems.error(
                "MissingFile",
                table.file.path,
                f"is missing, but training.scenario_source.{name}.scheme is external",
                "add the file",
                field=f"training.scenario_source.{name}.scheme",
                value="external",
            )
        elif not is_wanted and table.file.path in files.present:
            problems.warn(
                "IncompatibleSettings",
                table.file.path,
                f"is not used: training.scenario_source.{name}.scheme is not external",
                f"set that scheme to external in {CONFIG}, or remove the file",
                field=f"training.scenario_source.{name}.scheme",
                value=None if source is None else getattr(source, name).scheme,
            )


def _check_penalty(files: CaseFiles, problems: Problems) -> None:
    modeling = files.config.modeling
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

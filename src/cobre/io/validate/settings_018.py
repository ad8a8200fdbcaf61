"""Checks of ``config.json`` of 0.18: what needs each other, and what has no effect here."""

from __future__ import annotations

from pydantic import BaseModel

from cobre.io.problems import Place, Problems, shown
from cobre.io.read.config import (
    DynamicSelection,
    EnumeratedRecord,
    GapRecord,
    IterationLimitRecord,
)
from cobre.io.read.files import CaseFiles
from cobre.io.validate.notes import Notes

CONFIG = "config.json"
SANE_SCALES, USUAL_SCALE = (1.0, 1e12), 1e6
SOLVER_HERE = {
    "scale": "off",
    "presolve": "off",
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "cost_perturbation": 0.0,
    "use_warm_start": True,
}
"""How the solver is set up in every phase."""


def check_settings_018(files: CaseFiles, problems: Problems) -> None:
    """Report settings without the others that they need, those that are not modelled, and those without effect."""
    notes = Notes(problems)
    training = files.config.training
    if not any(isinstance(rule, IterationLimitRecord) for rule in training.stopping_rules):
        problems.error(
            "SchemaViolation",
            CONFIG,
            "stopping_rules has no iteration_limit",
            'add {"type": "iteration_limit", "limit": 100}',
            field="training.stopping_rules",
            value=[rule.type for rule in training.stopping_rules],
        )
    _check_gap(files, problems)
    _check_cuts(files, problems)
    _check_checkpointing(files, problems)
    _check_without_effect(files, notes)


def _check_gap(files: CaseFiles, problems: Problems) -> None:
    """The rule gap needs a true upper bound."""
    training = files.config.training
    for rule in training.stopping_rules:
        if not isinstance(rule, GapRecord):
            continue
        place = {"field": "training.stopping_rules.type", "value": "gap"}
        if rule.tolerance is None and rule.relative_tolerance is None:
            message = "the stopping rule gap says neither tolerance ($) nor relative_tolerance (%)"
            problems.error("SchemaViolation", CONFIG, message, "give one of them", **place)
        if not isinstance(training.selection, EnumeratedRecord):
            message = (
                "the stopping rule gap needs a true upper bound, and sampled paths give only an estimate"
            )
            remedy = "use selection enumerated where the graph is a tree"
            problems.error("IncompatibleSettings", CONFIG, message, remedy, **place)


def _check_cuts(files: CaseFiles, problems: Problems) -> None:
    """Selection compares cuts of one function; with several of them each would need its own."""
    training = files.config.training
    selection = training.cut_selection
    if training.cut_formulation == "single" or selection is None:
        return
    is_dynamic = isinstance(selection.selection, DynamicSelection)
    if (selection.selection is None or is_dynamic) and selection.max_active_per_stage is None:
        return
    problems.error(
        "IncompatibleSettings",
        Place(CONFIG, field="training.cut_selection"),
        "cut_formulation = 'multi' keeps the cuts of all outcomes, and cut_selection would drop some",
        "remove training.cut_selection, or use cut_formulation single",
    )


def _check_checkpointing(files: CaseFiles, problems: Problems) -> None:
    policy = files.config.policy
    given = None if policy is None else policy.checkpointing
    if given is not None and given.enabled and given.interval_iterations is None:
        field = "policy.checkpointing.interval_iterations"
        message = "checkpointing is enabled without interval_iterations"
        remedy = f"give {field} a value of 1 or more"
        problems.error("SchemaViolation", Place(CONFIG, field=field), message, remedy)


def _check_without_effect(files: CaseFiles, notes: Notes) -> None:
    config, training = files.config, files.config.training
    for field, profile in (
        ("training.solver.forward", None if training.solver is None else training.solver.forward),
        ("training.solver.backward", None if training.solver is None else training.solver.backward),
        ("simulation.solver", None if config.simulation is None else config.simulation.solver),
    ):
        for name in _given(profile):
            value = getattr(profile, name)
            if name in SOLVER_HERE and value == SOLVER_HERE[name]:
                continue
            here = f"; here it is {shown(SOLVER_HERE[name])}" if name in SOLVER_HERE else ""
            notes.warn(
                CONFIG,
                f"{field}.{name}",
                value,
                f"{field}.{name} = {shown(value)} has no effect: the solver is set up so that every solve depends on "
                f"its data alone{here}",
                "remove it; the optimum is the same",
            )
    if training.parallelism is not None and training.parallelism.backward_scheduler != "by_scenario":
        notes.warn(
            CONFIG,
            "training.parallelism.backward_scheduler",
            "by_node",
            "backward_scheduler = by_node has no effect: trial points are shared among workers; results are the same",
            "remove it",
        )
    chosen = None if training.cut_selection is None else training.cut_selection.selection
    if isinstance(chosen, DynamicSelection):
        notes.warn(
            CONFIG,
            "training.cut_selection.selection.method",
            "dynamic",
            "dynamic keeps all cuts in the stage problems; the solutions are the same",
            "use domination or level1 to have fewer cuts",
        )
    scale = None if config.modeling is None else config.modeling.cost_scale_factor
    if scale is not None and scale != USUAL_SCALE:
        word = "" if SANE_SCALES[0] <= scale <= SANE_SCALES[1] else "is unusual, and "
        notes.warn(
            CONFIG,
            "modeling.cost_scale_factor",
            scale,
            f"cost_scale_factor = {scale:g} {word}has no effect here: costs are scaled by powers of two",
            "remove it; the optimum is the same",
        )


def _given(record: BaseModel | None) -> list[str]:
    """Fields that the case sets to something."""
    if record is None:
        return []
    return sorted(name for name in record.model_fields_set if getattr(record, name) is not None)

"""Checks of a horizon without end: the last stage leads back to an earlier one."""

from __future__ import annotations

from typing import Any

from cobre.io.assemble.graph import back_transition
from cobre.io.problems import Problems
from cobre.io.read.config import EnumeratedRecord, SimulationRuleRecord
from cobre.io.read.files import CaseFiles
from cobre.io.validate.noise_members import CLASSES, sources_of

FILE, CONFIG = "stages.json", "config.json"


def check_cycle(files: CaseFiles, problems: Problems) -> None:
    """Report a cycle that would cost without limit, and what cannot be combined with one."""
    graph = files.stages.policy_graph
    if graph.nodes:
        _refuse(
            problems,
            FILE,
            "policy_graph.nodes",
            len(graph.nodes),
            "policy_graph.type = 'cyclic' with nodes is not modelled: a cycle is a chain of stages that leads back",
            "use finite_horizon with nodes, or cyclic without",
        )
        return
    _check_return(files, problems)
    if files.post_study.stages:
        message = "what follows the last stage of a cycle is its first stage, not other ones"
        count = len(files.post_study.stages)
        _refuse(problems, "post_study_stages.json", "stages", count, message, "remove the file")
    if CONFIG not in files.unusable:
        _check_settings(files, problems)


def _refuse(problems: Problems, file: str, field: str, value: Any, message: str, remedy: str) -> None:
    problems.error("IncompatibleSettings", file, message, remedy, field=field, value=value)


def _check_return(files: CaseFiles, problems: Problems) -> None:
    graph = files.stages.policy_graph
    ids = sorted(stage.id for stage in files.stages.stages)
    back = back_transition(files.stages)
    if back.target_id not in ids:
        return  # an unknown stage is reported elsewhere
    first = ids.index(back.target_id)
    in_cycle = [stage for stage in files.stages.stages if stage.id in ids[first:]]
    rates = {
        edge.source_id: edge.annual_discount_rate_override
        for edge in graph.transitions
        if edge.annual_discount_rate_override is not None
    }
    is_discounted = any(
        next(
            rate
            for rate in (stage.annual_discount_rate_override, rates.get(stage.id), graph.annual_discount_rate)
            if rate is not None
        )
        > 0.0
        for stage in in_cycle
    )
    if back.probability >= 1.0 and not is_discounted:
        _refuse(
            problems,
            FILE,
            "policy_graph.annual_discount_rate",
            graph.annual_discount_rate,
            "a cycle that neither ends nor discounts has no finite cost",
            "give annual_discount_rate a value above 0, or the transition back a probability below 1",
        )
    if back.probability <= 0.0:
        place = ("policy_graph.transitions.probability", back.probability)
        _refuse(problems, FILE, *place, "the transition back is never taken", "use finite_horizon")


def _check_settings(files: CaseFiles, problems: Problems) -> None:
    config = files.config
    for phase, selection in (
        ("training", config.training.selection),
        ("simulation", None if config.simulation is None else config.simulation.selection),
    ):
        if isinstance(selection, EnumeratedRecord):
            message = "the paths of a cycle cannot all be enumerated"
            _refuse(problems, CONFIG, f"{phase}.selection.method", "enumerated", message, "use sampled")
    for phase, source in sources_of(files).items():
        other = [name for name in CLASSES if getattr(source, name).scheme != "in_sample"]
        if other and phase == "training":
            _refuse(
                problems,
                CONFIG,
                f"{phase}.scenario_source.{other[0]}.scheme",
                getattr(source, other[0]).scheme,
                "paths through a cycle are drawn from the openings",
                "use in_sample; a simulation may have any scheme",
            )
    for rule in config.training.stopping_rules:
        if isinstance(rule, SimulationRuleRecord):
            message = "the stopping rule simulation needs a horizon that ends"
            _refuse(
                problems, CONFIG, "training.stopping_rules.type", "simulation", message, "use bound_stalling"
            )
    if config.policy is not None and config.policy.boundary is not None:
        message = "what follows the last stage of a cycle is its first stage, not another study"
        _refuse(problems, CONFIG, "policy.boundary", str(config.policy.boundary), message, "remove it")
    method = None if config.modeling is None else config.modeling.inflow_non_negativity
    has_lags = len(files.tables["inflow_lags"]) + len(files.tables["inflow_annual"]) > 0
    if has_lags and method is not None and method.method.startswith("truncation"):
        message = "truncation of inflows with lags has no valid bound in a cycle"
        place = ("modeling.inflow_non_negativity.method", method.method)
        _refuse(problems, CONFIG, *place, message, "use penalty")

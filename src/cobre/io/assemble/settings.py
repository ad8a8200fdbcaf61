"""The settings of ``config.json`` that this version acts upon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cobre.core.config import (
    BoundaryConfig,
    BoundStalling,
    Checkpointing,
    Config,
    CutSelection,
    Gap,
    IterationLimit,
    PolicyConfig,
    ScenarioSource,
    SimulationConfig,
    SimulationStopping,
    SolverRetries,
    StoppingRule,
    TimeLimit,
    TrainingConfig,
    UpperBoundEvaluation,
)
from cobre.io.assemble.graph import build_graph
from cobre.io.read.config import (
    BoundStallingRecord,
    CheckpointingRecord,
    ConfigRecord,
    CutSelectionRecord,
    DominationSelection,
    DynamicSelection,
    EnumeratedRecord,
    GapRecord,
    IterationLimitRecord,
    LipschitzRecord,
    PolicyRecord,
    ScenarioFields,
    SimulationRecord,
    StoppingRuleRecord,
    TimeLimitRecord,
    TrainingRecord,
    UpperBoundRecord,
    YearRange,
)
from cobre.io.read.files import CaseFiles

if TYPE_CHECKING:
    from cobre.io.read.older.config import OlderCutSelection

DEFAULT_SEED = 42
DEFAULT_INTERVAL = 10
"""Iterations from one checkpoint, or inner bound, to the next where one is enabled without an interval."""


def build_config(files: CaseFiles) -> Config:
    """Settings with every default filled in."""
    record = files.config
    training = record.training
    older = None if files.older_config is None else files.older_config.training.cut_selection
    method = None if record.modeling is None else record.modeling.inflow_non_negativity
    return Config(
        TrainingConfig(
            forward_passes=n_paths(files) if is_enumerated(training.selection) else training.forward_passes,
            is_enumerated=is_enumerated(training.selection),
            stopping_rules=_build_rules(training),
            stop_when_all=training.stopping_mode == "all",
            iteration_limit_is_cap=files.generation.is_018,
            tree_seed=DEFAULT_SEED if training.tree_seed is None else abs(training.tree_seed),
            scenario_source=_build_source(training.scenario_source),
            cut_selection=_build_selection(training.cut_selection)
            if older is None
            else _older_selection(older),
            upper_bound=_build_upper_bound(record.upper_bound_evaluation),
            is_multi_cut=training.cut_formulation == "multi",
            retries=SolverRetries()
            if training.solver is None
            else SolverRetries(
                training.solver.retry_max_attempts, float(training.solver.retry_time_budget_seconds)
            ),
        ),
        _build_simulation(record, n_paths(files)),
        _build_policy(record.policy),
        training.enabled,
        inflow_non_negativity="penalty" if method is None else method.method,
        exports_stochastic=record.exports is not None and record.exports.stochastic,
        writes_fit_deviations=record.exports is None or record.exports.fpha_deviation_points,
    )


def _build_upper_bound(record: UpperBoundRecord | None) -> UpperBoundEvaluation | None:
    if record is None or not record.enabled:
        return None
    every = DEFAULT_INTERVAL if record.interval_iterations is None else record.interval_iterations
    slopes = LipschitzRecord() if record.lipschitz is None else record.lipschitz
    return UpperBoundEvaluation(
        every if record.initial_iteration is None else record.initial_iteration,
        every,
        _number(slopes.fallback_value),
        1.0 if slopes.scale_factor is None else float(slopes.scale_factor),
        UpperBoundEvaluation().max_vertices if record.max_vertices is None else record.max_vertices,
    )


def is_enumerated(selection: object) -> bool:
    """Whether all paths of the policy graph are taken."""
    return isinstance(selection, EnumeratedRecord)


def n_paths(files: CaseFiles) -> int:
    """Ways through the policy graph, if it is a tree."""
    graph = build_graph(files.stages)
    return 1 if graph is None else max(1, len(graph.leaves))


def _build_simulation(record: ConfigRecord, n_paths: int) -> SimulationConfig:
    simulation, exports = record.simulation, record.exports
    if simulation is None:
        simulation = SimulationRecord()
    is_census = is_enumerated(simulation.selection)
    return SimulationConfig(
        is_enabled=simulation.enabled,
        n_scenarios=n_paths if is_census else simulation.num_scenarios,
        is_enumerated=is_census,
        scenario_source=None
        if simulation.scenario_source is None
        else _build_source(simulation.scenario_source),
        max_waiting=simulation.io_channel_capacity,
        layout="by_scenario" if exports is None else exports.layout,
    )


def _build_policy(record: PolicyRecord | None) -> PolicyConfig:
    if record is None:
        return PolicyConfig()
    given = record.boundary
    boundary = None if given is None else BoundaryConfig(given.path, given.source_stage, given.strict)
    return PolicyConfig(record.mode, record.path, _build_checkpointing(record.checkpointing), boundary)


def _build_checkpointing(record: CheckpointingRecord | None) -> Checkpointing:
    if record is None or record.enabled is None:
        return Checkpointing()
    interval = record.interval_iterations
    return Checkpointing(
        is_enabled=record.enabled,
        interval_iterations=DEFAULT_INTERVAL if interval is None else interval,
        initial_iteration=record.initial_iteration,
        is_compressed=bool(record.compress),
    )


def _build_rules(training: TrainingRecord) -> tuple[StoppingRule, ...]:
    return tuple(sorted(map(_build_rule, training.stopping_rules), key=repr))


def _build_rule(record: StoppingRuleRecord) -> StoppingRule:
    if isinstance(record, IterationLimitRecord):
        return IterationLimit(record.limit)
    if isinstance(record, TimeLimitRecord):
        return TimeLimit(float(record.seconds))
    if isinstance(record, BoundStallingRecord):
        return BoundStalling(record.iterations, float(record.tolerance))
    if isinstance(record, GapRecord):
        return Gap(_number(record.tolerance), _number(record.relative_tolerance))
    return SimulationStopping(
        record.replications,
        record.period,
        record.bound_window,
        float(record.distance_tol),
        float(record.bound_tol),
    )


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def build_sources(record: ConfigRecord) -> dict[str, ScenarioSource]:
    """Where the trajectories of training and, if the case says so, of simulation take their noise from."""
    simulation = None if record.simulation is None else record.simulation.scenario_source
    sources = {"training": _build_source(record.training.scenario_source)}
    return sources if simulation is None else {**sources, "simulation": _build_source(simulation)}


def _build_source(record: ScenarioFields | None) -> ScenarioSource:
    if record is None:
        return ScenarioSource()
    years = record.historical_years
    if isinstance(years, YearRange):
        years = tuple(range(years.first, years.last + 1))
    return ScenarioSource(
        record.inflow.scheme,
        record.load.scheme,
        record.ncs.scheme,
        record.seed,
        None if years is None else tuple(sorted(set(years))),
    )


def _build_selection(record: CutSelectionRecord | None) -> CutSelection:
    if record is None:
        return CutSelection()
    common: dict[str, Any] = {
        "activity_tolerance": float(record.row_activity_tolerance),
        "max_active_per_stage": record.max_active_per_stage,
    }
    chosen = record.selection
    if chosen is None or isinstance(chosen, DynamicSelection):
        return CutSelection(**common)  # rows that are only added when violated change no solution
    tolerance = (
        chosen.domination_tolerance if isinstance(chosen, DominationSelection) else chosen.tie_tolerance
    )
    return CutSelection(
        method="value_lml1" if chosen.method == "lml1" else "value_level1",
        check_frequency=chosen.check_frequency,
        domination_epsilon=float(tolerance),
        **common,
    )


def _older_selection(record: OlderCutSelection) -> CutSelection:
    window, epsilon = record.memory_window, record.domination_epsilon
    return CutSelection(
        method=record.method if record.enabled else None,
        check_frequency=record.check_frequency,
        memory_window=record.threshold if window is None else window,
        domination_epsilon=float(record.threshold) if epsilon is None else float(epsilon),
        threshold=record.threshold,
        activity_tolerance=float(record.cut_activity_tolerance),
        max_active_per_stage=record.max_active_per_stage,
    )

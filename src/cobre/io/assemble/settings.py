"""The settings of ``config.json`` that this version acts upon."""

from __future__ import annotations

from cobre.core.config import (
    BoundaryConfig,
    BoundStalling,
    Checkpointing,
    Config,
    CutSelection,
    IterationLimit,
    PolicyConfig,
    ScenarioSource,
    SimulationConfig,
    SimulationStopping,
    SolverRetries,
    StoppingRule,
    TimeLimit,
    TrainingConfig,
)
from cobre.io.read.config import (
    BoundStallingRecord,
    CheckpointingRecord,
    ConfigRecord,
    CutSelectionRecord,
    IterationLimitRecord,
    PolicyRecord,
    ScenarioSourceRecord,
    SimulationRecord,
    StoppingRuleRecord,
    TimeLimitRecord,
    TrainingRecord,
    YearRange,
)

DEFAULT_SEED = 42
DEFAULT_INTERVAL = 10
"""Iterations from one checkpoint to the next where checkpointing is enabled without an interval."""


def build_config(record: ConfigRecord) -> Config:
    """Settings with every default filled in."""
    training = record.training
    method = None if record.modeling is None else record.modeling.inflow_non_negativity
    return Config(
        TrainingConfig(
            forward_passes=training.forward_passes,
            stopping_rules=_build_rules(training),
            stop_when_all=training.stopping_mode == "all",
            tree_seed=DEFAULT_SEED if training.tree_seed is None else abs(training.tree_seed),
            scenario_source=_build_source(training.scenario_source),
            cut_selection=_build_selection(training.cut_selection),
            retries=SolverRetries()
            if training.solver is None
            else SolverRetries(
                training.solver.retry_max_attempts, float(training.solver.retry_time_budget_seconds)
            ),
        ),
        _build_simulation(record),
        _build_policy(record.policy),
        training.enabled,
        inflow_non_negativity="penalty" if method is None else method.method,
        exports_stochastic=record.exports is not None and record.exports.stochastic,
        writes_fit_deviations=record.exports is None or record.exports.fpha_deviation_points,
    )


def _build_simulation(record: ConfigRecord) -> SimulationConfig:
    simulation, exports = record.simulation, record.exports
    if simulation is None:
        simulation = SimulationRecord()
    return SimulationConfig(
        is_enabled=simulation.enabled,
        n_scenarios=simulation.num_scenarios,
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
    if training.stopping_rules is None:
        return TrainingConfig().stopping_rules
    return tuple(sorted(map(_build_rule, training.stopping_rules), key=repr))


def _build_rule(record: StoppingRuleRecord) -> StoppingRule:
    if isinstance(record, IterationLimitRecord):
        return IterationLimit(record.limit)
    if isinstance(record, TimeLimitRecord):
        return TimeLimit(float(record.seconds))
    if isinstance(record, BoundStallingRecord):
        return BoundStalling(record.iterations, float(record.tolerance))
    return SimulationStopping(
        record.replications,
        record.period,
        record.bound_window,
        float(record.distance_tol),
        float(record.bound_tol),
    )


def build_sources(record: ConfigRecord) -> dict[str, ScenarioSource]:
    """Where the trajectories of training and, if the case says so, of simulation take their noise from."""
    simulation = None if record.simulation is None else record.simulation.scenario_source
    sources = {"training": _build_source(record.training.scenario_source)}
    return sources if simulation is None else {**sources, "simulation": _build_source(simulation)}


def _build_source(record: ScenarioSourceRecord | None) -> ScenarioSource:
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

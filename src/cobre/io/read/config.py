"""``config.json``: how to run the study."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from cobre.io.read.documents import Document
from cobre.io.read.records import ClosedRecord, Count, NonNegative, Positive, Record

WholeNumber = Annotated[int, Field(ge=0, le=2**31 - 1)]
Seed = Annotated[int, Field(gt=-(2**63), lt=2**64)]


class IterationLimitRecord(Record):
    """Stop after a number of iterations."""

    type: Literal["iteration_limit"]
    limit: Count


class TimeLimitRecord(Record):
    """Stop after some time."""

    type: Literal["time_limit"]
    seconds: Positive


class BoundStallingRecord(Record):
    """Stop when the lower bound no longer moves."""

    type: Literal["bound_stalling"]
    iterations: Count
    tolerance: NonNegative


class SimulationRuleRecord(Record):
    """Stop when the bound is stable and two simulations in a row cost about the same."""

    type: Literal["simulation"]
    replications: Count
    period: Count
    bound_window: Count
    distance_tol: NonNegative
    bound_tol: NonNegative


StoppingRuleRecord = Annotated[
    IterationLimitRecord | TimeLimitRecord | BoundStallingRecord | SimulationRuleRecord,
    Field(discriminator="type"),
]


class SchemeRecord(ClosedRecord):
    """Where one class of noise comes from in forward trajectories."""

    scheme: Literal["in_sample", "out_of_sample", "external", "historical"] = "in_sample"


Year = Annotated[int, Field(ge=1, le=9998)]


class YearRange(Record):
    """First and last year of history to draw from."""

    first: Annotated[Year, Field(alias="from")]
    last: Annotated[Year, Field(alias="to")]


def _years_form(value: Any) -> str:
    return "list" if isinstance(value, list | tuple) else "range"


class ScenarioSourceRecord(Record):
    """Where trajectories take their noise from."""

    seed: Seed | None = None
    historical_years: (
        Annotated[
            Annotated[tuple[Year, ...], Tag("list")] | Annotated[YearRange, Tag("range")],
            Discriminator(_years_form),
        ]
        | None
    ) = None
    inflow: SchemeRecord = SchemeRecord()
    load: SchemeRecord = SchemeRecord()
    ncs: SchemeRecord = SchemeRecord()


class CutSelectionRecord(Record):
    """Which cuts stay."""

    enabled: bool = False
    method: Literal["level1", "lml1", "domination"] | None = None
    check_frequency: Count = 5
    memory_window: WholeNumber | None = None
    domination_epsilon: NonNegative | None = None
    threshold: WholeNumber = 0
    cut_activity_tolerance: NonNegative = 0.0
    max_active_per_stage: Count | None = None
    basis_activity_window: Annotated[int, Field(ge=1, le=31)] = 5


class SolverRecord(Record):
    """Retries of an LP that gives numerical trouble."""

    retry_max_attempts: WholeNumber = 5
    retry_time_budget_seconds: Positive = 30.0


class ForwardPassRecord(Record):
    """A choice the public Cobre reads and does not use."""

    type: str | None = None


class TrainingRecord(Record):
    """The training loop."""

    enabled: bool = True
    forward_passes: Count = 1
    stopping_rules: Annotated[tuple[StoppingRuleRecord, ...], Field(min_length=1)] | None = None
    stopping_mode: Literal["any", "all"] = "any"
    tree_seed: Seed | None = None
    scenario_source: ScenarioSourceRecord | None = None
    cut_formulation: Literal["single", "multi"] | None = None
    forward_pass: ForwardPassRecord | None = None
    cut_selection: CutSelectionRecord | None = None
    solver: SolverRecord | None = None


class SimulationRecord(Record):
    """The simulation after training."""

    enabled: bool = False
    num_scenarios: Count = 2000
    policy_type: Literal["outer"] = "outer"
    io_channel_capacity: Count = 64
    output_path: str | None = None
    output_mode: str | None = None
    scenario_source: ScenarioSourceRecord | None = None


class NonNegativityRecord(Record):
    """What is done about negative inflows."""

    method: Literal["none", "penalty", "truncation", "truncation_with_penalty"] = "penalty"
    penalty_cost: NonNegative | None = None


class ModelingRecord(Record):
    """Modelling choices."""

    inflow_non_negativity: NonNegativityRecord | None = None


class EstimationRecord(Record):
    """How inflow models are fitted to history."""

    max_order: Annotated[int, Field(ge=0, le=52)] = 6
    order_selection: Literal["pacf", "pacf_annual", "aic", "bic", "fixed"] = "pacf"
    min_observations_per_season: WholeNumber = 30
    max_coefficient_magnitude: Positive | None = None
    residuals: Literal["normal", "lognormal", "lognormal_nonnegative", "bootstrap"] = "normal"


class BoundaryRecord(Record):
    """Another study's cuts as the value of what comes after the horizon."""

    path: str
    source_stage: WholeNumber | None = None
    strict: bool = False


class CheckpointingRecord(Record):
    """When to save the policy during training."""

    enabled: bool | None = None
    initial_iteration: WholeNumber | None = None
    interval_iterations: Count | None = None
    store_basis: bool | None = None
    compress: bool | None = None


class PolicyRecord(Record):
    """Where the policy is kept and how training starts."""

    path: str = "./policy"
    mode: Literal["fresh", "warm_start", "resume"] = "fresh"
    validate_compatibility: bool = True
    boundary: BoundaryRecord | None = None
    checkpointing: CheckpointingRecord | None = None


class ExportsRecord(Record):
    """What else to write."""

    states: bool = False
    stochastic: bool = False
    fpha_deviation_points: bool = True
    layout: Literal["by_scenario", "by_table"] = "by_scenario"


class ConfigRecord(Record):
    """The whole file."""

    training: TrainingRecord
    simulation: SimulationRecord | None = None
    modeling: ModelingRecord | None = None
    estimation: EstimationRecord | None = None
    policy: PolicyRecord | None = None
    exports: ExportsRecord | None = None
    upper_bound_evaluation: dict[str, Any] | None = None


FILE = Document("config.json", ConfigRecord, "config", is_required=True)

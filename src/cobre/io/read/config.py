"""``config.json``: how to run the study."""

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


class GapRecord(Record):
    """Stop when the bounds are close: by an amount of money, or by percent of the lower one."""

    type: Literal["gap"]
    tolerance: NonNegative | None = None
    relative_tolerance: NonNegative | None = None


StoppingRuleRecord = Annotated[
    IterationLimitRecord | TimeLimitRecord | BoundStallingRecord | SimulationRuleRecord | GapRecord,
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


class ScenarioFields(Record):
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


class OpeningsRecord(Record):
    """Whether openings are generated or read from ``scenarios/noise_openings.parquet``."""

    source: Literal["generated", "file"]


class ScenarioSourceRecord(ScenarioFields):
    """Of training; ``openings`` is about the tree, not about trajectories."""

    openings: OpeningsRecord | None = None


class SampledPassesRecord(Record):
    """Some trajectories per iteration."""

    method: Literal["sampled"]
    forward_passes: Count


class SampledScenariosRecord(Record):
    """Some scenarios of a simulation."""

    method: Literal["sampled"]
    num_scenarios: Count = 2000


class EnumeratedRecord(Record):
    """Every path of the policy graph once."""

    method: Literal["enumerated"]


class LevelSelection(Record):
    """Keep cuts that are the highest, or (lml1) the oldest of the highest, at some visited state."""

    method: Literal["level1", "lml1"]
    tie_tolerance: NonNegative = 1e-10
    check_frequency: Count = 5


class DominationSelection(Record):
    """Keep cuts that come within a tolerance of the highest at some visited state."""

    method: Literal["domination"]
    domination_tolerance: NonNegative
    check_frequency: Count = 5


class DynamicSelection(Record):
    """Load cuts into an LP only as they are violated."""

    method: Literal["dynamic"]
    start_iteration: WholeNumber = 2
    seed_window: WholeNumber = 5
    candidate_recency: WholeNumber | None = None
    max_added_per_round: Count = 10
    violation_tolerance: NonNegative = 1e-10


class CutSelectionRecord(Record):
    """Which cuts stay."""

    row_activity_tolerance: NonNegative = 0.0
    max_active_per_stage: Count | None = None
    selection: (
        Annotated[LevelSelection | DominationSelection | DynamicSelection, Field(discriminator="method")]
        | None
    ) = None


class SolverProfileRecord(Record):
    """How HiGHS is set up in one phase."""

    dual_edge_weight: Literal["devex", "steepest_edge", "dantzig"] | None = None
    scale: Literal["off", "solver_scaling"] | None = None
    price: Literal["row", "row_hyper_sparse"] | None = None
    primal_feasibility_tolerance: Positive | None = None
    dual_feasibility_tolerance: Positive | None = None
    presolve: Literal["on", "off", "choose"] | None = None
    simplex_update_limit: Count | None = None
    cost_perturbation: NonNegative | None = None
    refactor_error_tolerance: Positive | None = None
    factor_pivot_threshold: Positive | None = None
    use_warm_start: bool | None = None
    steepest_edge_devex_fallback_threshold: NonNegative | None = None


class RetryRecord(Record):
    """Retries of an LP that gives numerical trouble."""

    retry_max_attempts: WholeNumber = 5
    retry_time_budget_seconds: Positive = 30.0


class SolverRecord(RetryRecord):
    """The solver of training."""

    forward: SolverProfileRecord | None = None
    backward: SolverProfileRecord | None = None


class NodeSchedulerRecord(Record):
    """Openings of a point are split in blocks."""

    method: Literal["by_node"]
    block_size: Count | None = None


def _scheduler_form(value: Any) -> str:
    return "name" if isinstance(value, str) else "by_node"


class ParallelismRecord(Record):
    """How the backward pass is shared among workers; results do not depend on it."""

    backward_scheduler: Annotated[
        Annotated[Literal["by_scenario"], Tag("name")] | Annotated[NodeSchedulerRecord, Tag("by_node")],
        Discriminator(_scheduler_form),
    ] = "by_scenario"


class TrainingRecord(Record):
    """The training loop."""

    enabled: bool = True
    selection: Annotated[SampledPassesRecord | EnumeratedRecord, Field(discriminator="method")]
    stopping_rules: Annotated[tuple[StoppingRuleRecord, ...], Field(min_length=1)]
    stopping_mode: Literal["any", "all"] = "any"
    tree_seed: Seed | None = None
    scenario_source: ScenarioSourceRecord | None = None
    cut_formulation: Literal["single", "multi"] = "single"
    cut_selection: CutSelectionRecord | None = None
    solver: SolverRecord | None = None
    parallelism: ParallelismRecord | None = None

    @property
    def forward_passes(self) -> int:
        """Trajectories of an iteration."""
        return self.selection.forward_passes if isinstance(self.selection, SampledPassesRecord) else 1


class SimulationFields(Record):
    """What both generations of the format say of the simulation."""

    enabled: bool = False
    io_channel_capacity: Count | None = None
    scenario_source: ScenarioFields | None = None


class SimulationRecord(SimulationFields):
    """The simulation after training."""

    selection: Annotated[SampledScenariosRecord | EnumeratedRecord, Field(discriminator="method")] = (
        SampledScenariosRecord(method="sampled")
    )
    solver: SolverProfileRecord | None = None

    @property
    def num_scenarios(self) -> int:
        """Scenarios that are simulated."""
        return self.selection.num_scenarios if isinstance(self.selection, SampledScenariosRecord) else 1


class NonNegativityRecord(Record):
    """What is done about negative inflows."""

    method: Literal["none", "penalty", "truncation", "truncation_with_penalty"] = "penalty"


class ModelingRecord(Record):
    """Modelling choices."""

    inflow_non_negativity: NonNegativityRecord | None = None
    cost_scale_factor: Positive | None = None


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


class LipschitzRecord(Record):
    """How steep the future cost may be."""

    mode: Literal["auto"] | None = None
    fallback_value: Positive | None = None
    scale_factor: Annotated[float, Field(ge=1)] | None = None


class RecurringRecord(Record):
    """What is done now and then during training."""

    enabled: bool | None = None
    initial_iteration: WholeNumber | None = None
    interval_iterations: Count | None = None


class CheckpointingRecord(RecurringRecord):
    """When to save the policy during training."""

    store_basis: bool | None = None
    compress: bool | None = None


class UpperBoundRecord(RecurringRecord):
    """When the inner bound is computed."""

    initial_iteration: Count | None = None
    lipschitz: LipschitzRecord | None = None
    max_vertices: Count | None = None


class PolicyFields(Record):
    """Where the policy is kept and how training starts."""

    path: str = "./policy"
    mode: Literal["fresh", "warm_start", "resume"] = "fresh"
    boundary: BoundaryRecord | None = None
    checkpointing: CheckpointingRecord | None = None


class PolicyRecord(PolicyFields):
    """Of this generation."""


class ExportsRecord(Record):
    """What else to write."""

    states: bool = False
    stochastic: bool = False
    fpha_deviation_points: bool = True
    layout: Literal["by_scenario", "by_table"] = "by_scenario"


class ConfigFields(Record):
    """What both generations of the format have."""

    estimation: EstimationRecord | None = None
    exports: ExportsRecord | None = None
    upper_bound_evaluation: UpperBoundRecord | None = None


class ConfigRecord(ConfigFields):
    """The whole file."""

    training: TrainingRecord
    simulation: SimulationRecord | None = None
    modeling: ModelingRecord | None = None
    policy: PolicyRecord | None = None


FILE = Document("config.json", ConfigRecord, "config", is_required=True)

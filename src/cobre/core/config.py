"""How to run: the settings of ``config.json`` that this version acts upon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, Protocol

from cobre.core.representation import changed_fields

Scheme = Literal["in_sample", "out_of_sample", "external", "historical"]
NonNegativity = Literal["none", "penalty", "truncation", "truncation_with_penalty"]


@dataclass(frozen=True, slots=True)
class IterationLimit:
    """Stop after ``limit`` iterations."""

    limit: int


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """Stop at the end of the iteration that passes ``seconds``."""

    seconds: float


@dataclass(frozen=True, slots=True)
class BoundStalling:
    """Stop when the lower bound moved by less than ``tolerance`` (relative) over ``iterations`` bounds."""

    iterations: int
    tolerance: float


@dataclass(frozen=True, slots=True)
class SimulationStopping:
    """Stop when the lower bound is stable and two simulations in a row cost about the same in every stage."""

    replications: int
    """Trajectories of each simulation."""
    period: int
    """Iterations from one check to the next."""
    bound_window: int
    """The bound is stable if it moved by less than ``bound_tolerance`` (relative) within this many iterations."""
    distance_tolerance: float
    """Greatest distance of the mean costs by stage from those of the simulation before, relative."""
    bound_tolerance: float


@dataclass(frozen=True, slots=True)
class Gap:
    """Stop when an exact upper bound is within an amount of money, or a percentage, of the lower bound."""

    tolerance: float | None = None
    relative_tolerance: float | None = None


StoppingRule = IterationLimit | TimeLimit | BoundStalling | SimulationStopping | Gap
RULE_NAMES: dict[type[Any], str] = {
    IterationLimit: "iteration_limit",
    TimeLimit: "time_limit",
    BoundStalling: "bound_stalling",
    SimulationStopping: "simulation",
    Gap: "gap",
}


def rule_name(rule: StoppingRule) -> str:
    """The name of a rule, as ``config.json`` and the reason of an end spell it."""
    return RULE_NAMES[type(rule)]


CutSelectionMethod = Literal["level1", "lml1", "domination", "value_level1", "value_lml1"]


class OwnCutSelection(Protocol):
    """A method that a program defines: a frozen dataclass, so that checkpoints can compare it with another."""

    def cuts_to_drop(self, pool: Any, iteration: int) -> Any:
        """True for each cut of a `cobre.sddp.cuts.CutPool` that leaves the stage problem after ``iteration``."""
        ...


class Settings:
    """Shows those settings that differ from their defaults."""

    __slots__ = ()
    __repr__ = changed_fields


@dataclass(frozen=True, slots=True, repr=False)
class CutSelection(Settings):
    """Which cuts stay in the stage problems."""

    method: CutSelectionMethod | OwnCutSelection | None = None
    """None keeps all. The first three are those of 0.5.1. The last two are those of 0.18: they judge the values of all
    cuts at visited states, within ``domination_epsilon`` of the highest, so that a dropped cut may return."""
    check_frequency: int = 5
    memory_window: int = 0
    domination_epsilon: float = 0.0
    threshold: int = 0
    activity_tolerance: float = 0.0
    max_active_per_stage: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ScenarioSource(Settings):
    """Where the trajectories of training or of a simulation take their noise from."""

    inflow: Scheme = "in_sample"
    load: Scheme = "in_sample"
    ncs: Scheme = "in_sample"
    seed: int | None = None
    """Of fresh noise."""
    historical_years: tuple[int, ...] | None = None
    """Years of the inflow history that may be repeated; None: all that are complete."""

    @property
    def is_in_sample(self) -> bool:
        """Whether all noise is that of the openings."""
        return {self.inflow, self.load, self.ncs} == {"in_sample"}


@dataclass(frozen=True, slots=True, repr=False)
class SolverRetries(Settings):
    """How hard to try when an LP gives numerical trouble."""

    max_attempts: int = 5
    time_budget_seconds: float = 30.0


@dataclass(frozen=True, slots=True, repr=False)
class UpperBoundEvaluation(Settings):
    """When the inner bound is computed, and how steep the future cost may be."""

    first_iteration: int = 10
    interval_iterations: int = 10
    fallback_value: float | None = None
    """Slope of the future cost by a component of the state where the study itself does not limit it."""
    scale_factor: float = 1.0
    """Of all slopes; more than 1 is on the safe side, and loosens the bound."""
    max_vertices: int = 200
    """Visited states of a node that are used: the newest. More tighten the bound, and cost their square in time."""


@dataclass(frozen=True, slots=True, repr=False)
class TrainingConfig(Settings):
    """Settings of the training loop."""

    forward_passes: int = 1
    """Trajectories of an iteration; where they are enumerated, all paths of the tree."""
    is_enumerated: bool = False
    """Whether each iteration takes every path of the tree once, in place of sampled ones."""
    stopping_rules: tuple[StoppingRule, ...] = (IterationLimit(100),)
    stop_when_all: bool = False
    """True: every rule must agree; False: the first one stops."""
    iteration_limit_is_cap: bool = False
    """Whether the largest iteration limit stops although the other rules do not agree."""
    tree_seed: int = 42
    scenario_source: ScenarioSource = field(default_factory=ScenarioSource)
    cut_selection: CutSelection = field(default_factory=CutSelection)
    upper_bound: UpperBoundEvaluation | None = None
    """None: no inner bound."""
    is_multi_cut: bool = False
    """Whether a trial point makes a cut for every outcome of what comes next, beside the one of their risk."""
    retries: SolverRetries = field(default_factory=SolverRetries)


Layout = Literal["by_scenario", "by_table"]


@dataclass(frozen=True, slots=True, repr=False)
class SimulationConfig(Settings):
    """Settings of the simulation."""

    is_enabled: bool = False
    n_scenarios: int = 2000
    is_enumerated: bool = False
    """Whether the scenarios are all paths of the tree, each with its probability."""
    scenario_source: ScenarioSource | None = None
    """None takes the one of training."""
    max_waiting: int | None = None
    """Scenarios that may wait to be written; None: as many as are fastest and fit the memory."""
    layout: Layout = "by_scenario"
    """One file per table and scenario, or one file per table."""


@dataclass(frozen=True, slots=True, repr=False)
class Checkpointing(Settings):
    """When training saves where it stands."""

    is_enabled: bool = True
    interval_iterations: int | None = None
    """None saves by time alone."""
    initial_iteration: int | None = None
    interval_s: float = 600.0
    is_compressed: bool = False


PolicyMode = Literal["fresh", "warm_start", "resume"]


@dataclass(frozen=True, slots=True, repr=False)
class BoundaryConfig(Settings):
    """Cuts of another study that price what follows the last stage."""

    path: str
    """Folder of its policy, looked for in the output folder and then in the case folder."""
    source_stage: int | None = None
    """Its stage that ends with this study, counted from 0; None finds it by date."""
    is_strict: bool = False
    """Whether a component of the state that the policy lacks is an error."""


@dataclass(frozen=True, slots=True, repr=False)
class PolicyConfig(Settings):
    """Where training starts and what it saves."""

    mode: PolicyMode = "fresh"
    path: str = "policy"
    """Folder of the policy that ``warm_start`` begins with, relative to the output folder."""
    checkpointing: Checkpointing = field(default_factory=Checkpointing)
    boundary: BoundaryConfig | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Config(Settings):
    """The whole configuration."""

    training: TrainingConfig = field(default_factory=TrainingConfig)
    simulation: SimulationConfig = field(default_factory=SimulationConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    is_training_enabled: bool = True
    inflow_non_negativity: NonNegativity = "penalty"
    exports_stochastic: bool = False
    """Whether training writes its noise and inflow model as files of a case."""
    writes_fit_deviations: bool = True
    """Whether results hold the errors of fitted production planes."""

    @property
    def simulated_source(self) -> ScenarioSource:
        """Where simulated scenarios take their noise from."""
        return self.simulation.scenario_source or self.training.scenario_source


def plain_settings(settings: Any) -> Any:
    """``settings`` as JSON has them: objects, lists, numbers, text; code of the user's own by its name."""
    if is_dataclass(settings) and not isinstance(settings, type):
        found = {each.name: plain_settings(getattr(settings, each.name)) for each in fields(settings)}
        name = RULE_NAMES.get(type(settings))
        return found if name is None else {"type": name, **found}
    if settings is None or isinstance(settings, bool | int | float | str):
        return settings
    if isinstance(settings, Sequence):
        return [plain_settings(each) for each in settings]
    return f"{type(settings).__module__}.{type(settings).__qualname__}"

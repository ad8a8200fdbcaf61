"""How to run: the settings of ``config.json`` that this version acts upon."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

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


StoppingRule = IterationLimit | TimeLimit | BoundStalling


@dataclass(frozen=True, slots=True)
class CutSelection:
    """Which cuts stay in the stage problems."""

    method: Literal["level1", "lml1", "domination"] | None = None
    """None keeps all."""
    check_frequency: int = 5
    memory_window: int = 0
    domination_epsilon: float = 0.0
    threshold: int = 0
    activity_tolerance: float = 0.0
    max_active_per_stage: int | None = None


@dataclass(frozen=True, slots=True)
class ScenarioSource:
    """Where the trajectories of training or of a simulation take their noise from."""

    inflow: Scheme = "in_sample"
    load: Scheme = "in_sample"
    ncs: Scheme = "in_sample"
    seed: int | None = None
    """Of fresh noise."""
    historical_years: tuple[int, ...] | None = None
    """Years of the inflow history that may be repeated; None: all that are complete."""


@dataclass(frozen=True, slots=True)
class SolverRetries:
    """How hard to try when an LP gives numerical trouble."""

    max_attempts: int = 5
    time_budget_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Settings of the training loop."""

    forward_passes: int = 1
    stopping_rules: tuple[StoppingRule, ...] = (IterationLimit(100),)
    stop_when_all: bool = False
    """True: every rule must agree; False: the first one stops."""
    tree_seed: int = 42
    scenario_source: ScenarioSource = field(default_factory=ScenarioSource)
    cut_selection: CutSelection = field(default_factory=CutSelection)
    retries: SolverRetries = field(default_factory=SolverRetries)


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration."""

    training: TrainingConfig = field(default_factory=TrainingConfig)
    inflow_non_negativity: NonNegativity = "penalty"

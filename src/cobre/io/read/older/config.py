"""``config.json`` of 0.5.1."""

from typing import Annotated, Literal

from pydantic import Field

from cobre.io.read import config
from cobre.io.read.config import (
    BoundStallingRecord,
    ConfigFields,
    IterationLimitRecord,
    NonNegativityRecord,
    PolicyFields,
    RetryRecord,
    ScenarioFields,
    Seed,
    SimulationFields,
    SimulationRuleRecord,
    TimeLimitRecord,
    WholeNumber,
)
from cobre.io.read.documents import Document
from cobre.io.read.records import Count, NonNegative, Record

OlderRule = Annotated[
    IterationLimitRecord | TimeLimitRecord | BoundStallingRecord | SimulationRuleRecord,
    Field(discriminator="type"),
]


class OlderCutSelection(Record):
    """Which cuts stay, by how often they bind."""

    enabled: bool = False
    method: Literal["level1", "lml1", "domination"] | None = None
    check_frequency: Count = 5
    memory_window: WholeNumber | None = None
    domination_epsilon: NonNegative | None = None
    threshold: WholeNumber = 0
    cut_activity_tolerance: NonNegative = 0.0
    max_active_per_stage: Count | None = None
    basis_activity_window: Annotated[int, Field(ge=1, le=31)] = 5


class ForwardPassRecord(Record):
    """A choice the public Cobre reads and does not use."""

    type: str | None = None


class OlderTraining(Record):
    """The training loop."""

    enabled: bool = True
    forward_passes: Count = 1
    stopping_rules: Annotated[tuple[OlderRule, ...], Field(min_length=1)] | None = None
    stopping_mode: Literal["any", "all"] = "any"
    tree_seed: Seed | None = None
    scenario_source: ScenarioFields | None = None
    cut_formulation: Literal["single", "multi"] | None = None
    forward_pass: ForwardPassRecord | None = None
    cut_selection: OlderCutSelection | None = None
    solver: RetryRecord | None = None


class OlderSimulation(SimulationFields):
    """The simulation after training."""

    num_scenarios: Count = 2000
    policy_type: Literal["outer"] = "outer"
    output_path: str | None = None
    output_mode: str | None = None


class OlderNonNegativity(NonNegativityRecord):
    """What is done about negative inflows."""

    penalty_cost: NonNegative | None = None


class OlderModeling(Record):
    """Modelling choices."""

    inflow_non_negativity: OlderNonNegativity | None = None


class OlderPolicy(PolicyFields):
    """Where the policy is kept and how training starts."""

    validate_compatibility: bool = True


class OlderConfig(ConfigFields):
    """The whole file."""

    training: OlderTraining
    simulation: OlderSimulation | None = None
    modeling: OlderModeling | None = None
    policy: OlderPolicy | None = None


FILE = Document(config.FILE.path, OlderConfig, "config", is_required=True)

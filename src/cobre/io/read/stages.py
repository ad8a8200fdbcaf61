"""``stages.json``: the horizon, its blocks, seasons, discounting and risk measures."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from cobre.core.horizon import SamplingMethod
from cobre.io.read.documents import Document
from cobre.io.read.records import Count, Id, IsoDate, NonNegative, Positive, Record, StageId


class TransitionRecord(Record):
    """An arc of the policy graph."""

    source_id: StageId
    target_id: StageId
    probability: Annotated[float, Field(ge=0, le=1)]
    annual_discount_rate_override: NonNegative | None = None


class NodeRecord(Record):
    """A node of the policy graph; ``scenario_id`` pins it to one of the external scenarios.

    ``opening_probabilities`` says how likely each opening of the stage is here: a climate that is wet or dry.
    """

    id: Annotated[int, Field(ge=0, le=2**31 - 1)]
    stage_id: StageId
    scenario_id: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    label: str | None = None
    opening_probabilities: tuple[Annotated[float, Field(ge=0, le=1)], ...] | None = None


class PolicyGraphFields(Record):
    """How stages follow each other, and the yearly discount rate."""

    type: Literal["finite_horizon", "cyclic"]
    annual_discount_rate: NonNegative
    transitions: tuple[TransitionRecord, ...] = ()


class PolicyGraphRecord(PolicyGraphFields):
    """The graph; without ``nodes`` the stages are a chain."""

    nodes: tuple[NodeRecord, ...] = ()


class SeasonRecord(Record):
    """One period of the yearly cycle."""

    id: Annotated[int, Field(ge=0, le=2**31 - 1)]
    label: str = ""
    month_start: Annotated[int, Field(ge=1, le=12)]
    day_start: Annotated[int, Field(ge=1, le=31)] | None = None
    month_end: Annotated[int, Field(ge=1, le=12)] | None = None
    day_end: Annotated[int, Field(ge=1, le=31)] | None = None


class SeasonDefinitionsRecord(Record):
    """The calendar of seasons."""

    cycle_type: Literal["monthly", "weekly", "custom"]
    seasons: tuple[SeasonRecord, ...]


class Period(Record):
    """Days from the first to before the last, and the season they belong to."""

    id: Id
    start_date: IsoDate
    end_date: IsoDate
    season_id: Id | None = None


class PreStudyStageRecord(Period):
    """A stage before the study, for the statistics that lags refer to."""

    id: Annotated[int, Field(lt=0, ge=-(2**31))]


class BlockRecord(Record):
    """A share of the stage's hours."""

    id: Annotated[int, Field(ge=0, le=2**31 - 1)]
    name: str = ""
    hours: Positive


class StateVariablesRecord(Record):
    """What the public Cobre lets a case say about state; the inflow model decides."""

    storage: bool = True
    inflow_lags: bool = False


class CvarRecord(Record):
    """CVaR over the worst ``alpha`` of outcomes, weighted ``lambda`` against the expectation."""

    alpha: Annotated[float, Field(gt=0, le=1)]
    weight: Annotated[float, Field(ge=0, le=1, alias="lambda")]


class RiskRecord(Record):
    """The object form of a risk measure."""

    cvar: CvarRecord


def _risk_form(value: Any) -> str | None:
    return "name" if isinstance(value, str) else "cvar"


def _refuse_other_names(value: Any) -> Any:
    if value == "expectation":
        return value
    raise PydanticCustomError(
        "InvalidEnum",
        "names no risk measure",
        {"remedy": 'use "expectation" or {"cvar": {"alpha": 0.5, "lambda": 0.5}}'},
    )


def _refuse_old_location(value: Any) -> Any:
    raise PydanticCustomError(
        "SchemaViolation",
        "is an old place for it",
        {"remedy": "move scenario_source to training.scenario_source in config.json"},
    )


class StageFields(Period):
    """What both generations of the format say of a decision period."""

    id: StageId
    blocks: Annotated[tuple[BlockRecord, ...], Field(min_length=1)]
    block_mode: Literal["parallel", "chronological"] = "parallel"
    state_variables: StateVariablesRecord = StateVariablesRecord()
    risk_measure: Annotated[
        Annotated[Literal["expectation"], BeforeValidator(_refuse_other_names), Tag("name")]
        | Annotated[RiskRecord, Tag("cvar")],
        Discriminator(_risk_form),
    ] = "expectation"
    sampling_method: SamplingMethod = "saa"


class StageRecord(StageFields):
    """One decision period."""

    num_openings: Count | None = None
    """Only a policy graph with nodes may do without."""
    annual_discount_rate_override: NonNegative | None = None

    @property
    def n_openings(self) -> int:
        """How many openings the stage asks for."""
        return self.num_openings or 1


class StagesFields(Record):
    """What both generations of the format have beside graph and stages."""

    season_definitions: SeasonDefinitionsRecord | None = None
    pre_study_stages: tuple[PreStudyStageRecord, ...] = ()
    scenario_source: Annotated[None, BeforeValidator(_refuse_old_location)] = None


class StagesRecord(StagesFields):
    """The whole file."""

    policy_graph: PolicyGraphRecord
    stages: Annotated[tuple[StageRecord, ...], Field(min_length=1)]


FILE = Document(
    "stages.json",
    StagesRecord,
    "stages",
    is_required=True,
    unique={"stages": ("id",), "pre_study_stages": ("id",)},
)

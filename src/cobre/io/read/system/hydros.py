"""``system/hydros.json``."""

from typing import Annotated, Literal

from pydantic import Field

from cobre.io.read.documents import listing
from cobre.io.read.records import EntityRecord, Id, IsoDate, Limit, NonNegative, Number, Record


class ReservoirRecord(Record):
    """Hard limits of the storage at the end of a stage."""

    min_storage_hm3: NonNegative
    max_storage_hm3: Limit


class OutflowRecord(Record):
    """Soft limits of the total outflow of each block; null means no upper limit."""

    min_outflow_m3s: NonNegative
    max_outflow_m3s: Limit | None = None


class TurbineLimits(Record):
    """Limits that all production models share: hard above, soft below."""

    min_turbined_m3s: NonNegative
    max_turbined_m3s: Limit
    min_generation_mw: NonNegative
    max_generation_mw: Limit


class GenerationRecord(TurbineLimits):
    """The plant's limits; productivities and planes are in the files of production models."""

    model: Literal["constant_productivity", "linearized_head", "fpha"]


class UnitGroupRecord(TurbineLimits):
    """Units of a plant that feed one bus; the id is unique within the plant."""

    id: Id
    name: str
    bus_id: Id


class EvaporationRecord(Record):
    """Monthly evaporation, optionally with the volume around which it is linearised."""

    coefficients_mm: Annotated[tuple[Number, ...], Field(min_length=12, max_length=12)]
    reference_volumes_hm3: Annotated[tuple[NonNegative, ...], Field(min_length=12, max_length=12)] | None = (
        None
    )


class DiversionRecord(Record):
    """A canal to another hydro."""

    downstream_id: Id
    max_flow_m3s: Limit


class PolynomialTailrace(Record):
    """Height of the tail water as a polynomial of the outflow."""

    type: Literal["polynomial"]
    coefficients: Annotated[tuple[Number, ...], Field(min_length=1)]


class TailracePoint(Record):
    """A point of a piecewise tailrace."""

    outflow_m3s: Number
    height_m: Number


class PiecewiseTailrace(Record):
    """Height of the tail water between points."""

    type: Literal["piecewise"]
    points: Annotated[tuple[TailracePoint, ...], Field(min_length=1)]


class FactorLosses(Record):
    """Head lost in proportion."""

    type: Literal["factor"]
    value: Annotated[float, Field(ge=0, lt=1)]


class ConstantLosses(Record):
    """Head lost by a constant."""

    type: Literal["constant"]
    value_m: NonNegative


class EfficiencyRecord(Record):
    """Efficiency of the turbines."""

    type: Literal["constant"]
    value: Annotated[float, Field(gt=0, le=1)]


class FillingRecord(Record):
    """A reservoir that is being filled for the first time."""

    start_stage_id: Id
    filling_min_rate_m3s: NonNegative = 0.0


class HydroPenaltyOverrideFields(Record):
    """Prices of a plant in both generations; null keeps the system's."""

    spillage_cost: NonNegative | None = None
    diversion_cost: NonNegative | None = None
    turbined_violation_below_cost: NonNegative | None = None
    outflow_violation_below_cost: NonNegative | None = None
    outflow_violation_above_cost: NonNegative | None = None
    generation_violation_below_cost: NonNegative | None = None
    evaporation_violation_cost: NonNegative | None = None
    water_withdrawal_violation_cost: NonNegative | None = None
    storage_violation_below_cost: NonNegative | None = None
    filling_target_violation_cost: NonNegative | None = None
    water_withdrawal_violation_pos_cost: NonNegative | None = None
    water_withdrawal_violation_neg_cost: NonNegative | None = None
    evaporation_violation_pos_cost: NonNegative | None = None
    evaporation_violation_neg_cost: NonNegative | None = None
    inflow_nonnegativity_cost: NonNegative | None = None


class HydroPenaltyOverrides(HydroPenaltyOverrideFields):
    """Prices of this plant."""

    turbined_cost: NonNegative | None = None


class HydroFields(EntityRecord):
    """What both generations of the format say of a hydro."""

    downstream_id: Id | None = None
    reservoir: ReservoirRecord
    outflow: OutflowRecord
    evaporation: EvaporationRecord | None = None
    diversion: DiversionRecord | None = None
    tailrace: Annotated[PolynomialTailrace | PiecewiseTailrace, Field(discriminator="type")] | None = None
    hydraulic_losses: Annotated[FactorLosses | ConstantLosses, Field(discriminator="type")] | None = None
    efficiency: EfficiencyRecord | None = None
    specific_productivity_mw_per_m3s_per_m: NonNegative | None = None


class HydroRecord(HydroFields):
    """A reservoir with turbines."""

    operational_start_date: IsoDate
    generation: GenerationRecord
    unit_groups: Annotated[tuple[UnitGroupRecord, ...], Field(min_length=1)]
    travel_time_hours: NonNegative | None = None
    filling: FillingRecord | None = None
    penalties: HydroPenaltyOverrides | None = None


class HydrosRecord(Record):
    """The whole file."""

    hydros: tuple[HydroRecord, ...]


FILE = listing("system/hydros.json", HydrosRecord, "id", is_required=True)

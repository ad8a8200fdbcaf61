"""``penalties.json``: the prices of everything undesirable, per unit and hour, for the whole system."""

from cobre.io.read.documents import Document
from cobre.io.read.records import Limit, NonNegative, Record


class DeficitSegmentRecord(Record):
    """Unserved load up to ``depth_mw`` (null: any amount) at ``cost`` $/MWh."""

    depth_mw: Limit | None = None
    cost: NonNegative


class BusPenalties(Record):
    """Prices at buses."""

    deficit_segments: tuple[DeficitSegmentRecord, ...]
    excess_cost: NonNegative


class LinePenalties(Record):
    """Prices on lines."""

    exchange_cost: NonNegative


class HydroPenaltyFields(Record):
    """Prices at hydros of both generations. One-sided prices fall back to the two-sided one."""

    spillage_cost: NonNegative
    diversion_cost: NonNegative
    turbined_violation_below_cost: NonNegative
    outflow_violation_below_cost: NonNegative
    outflow_violation_above_cost: NonNegative
    generation_violation_below_cost: NonNegative
    evaporation_violation_cost: NonNegative
    water_withdrawal_violation_cost: NonNegative
    storage_violation_below_cost: NonNegative
    filling_target_violation_cost: NonNegative
    inflow_nonnegativity_cost: NonNegative = 1000.0
    water_withdrawal_violation_pos_cost: NonNegative | None = None
    water_withdrawal_violation_neg_cost: NonNegative | None = None
    evaporation_violation_pos_cost: NonNegative | None = None
    evaporation_violation_neg_cost: NonNegative | None = None


class HydroPenalties(HydroPenaltyFields):
    """Prices at hydros; turbined water of every plant has one."""

    turbined_cost: NonNegative


class NonControllablePenalties(Record):
    """Prices at non-controllable sources."""

    curtailment_cost: NonNegative


class PenaltiesRecord(Record):
    """The whole file."""

    bus: BusPenalties
    line: LinePenalties
    hydro: HydroPenalties
    non_controllable_source: NonControllablePenalties


FILE = Document("penalties.json", PenaltiesRecord, "penalties", is_required=True)

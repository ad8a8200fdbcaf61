"""The other JSON files of 0.5.1 that changed since."""

from typing import Annotated, Literal

from pydantic import Field

from cobre.io.read import initial_conditions, penalties, stages
from cobre.io.read.constraints import generic_constraints
from cobre.io.read.constraints.generic_constraints import GenericConstraintRecord
from cobre.io.read.documents import Document
from cobre.io.read.initial_conditions import InitialFields
from cobre.io.read.penalties import HydroPenaltyFields, PenaltiesRecord
from cobre.io.read.records import Count, Id, NonNegative, Number, Record
from cobre.io.read.stages import PolicyGraphFields, StageFields, StagesFields
from cobre.io.read.system import (
    buses,
    energy_contracts,
    hydro_production_models,
    hydros,
    lines,
    non_controllable_sources,
    pumping_stations,
    thermals,
)
from cobre.io.read.system.buses import BusFields
from cobre.io.read.system.energy_contracts import ContractFields
from cobre.io.read.system.hydro_production_models import (
    BySeasons,
    ByStages,
    ChoiceFields,
    PlaneReductionRecord,
    StageRangeFields,
)
from cobre.io.read.system.hydros import HydroFields, HydroPenaltyOverrideFields, TurbineLimits
from cobre.io.read.system.lines import LineFields
from cobre.io.read.system.non_controllable_sources import NonControllableFields
from cobre.io.read.system.pumping_stations import PumpingStationFields
from cobre.io.read.system.thermals import ThermalFields


class OlderHydroPenalties(HydroPenaltyFields):
    """Prices at hydros; only plants with planes pay for turbined water."""

    fpha_turbined_cost: NonNegative


class OlderPenalties(PenaltiesRecord):
    """The whole file."""

    hydro: OlderHydroPenalties  # type: ignore[assignment]


class OlderStage(StageFields):
    """One decision period."""

    num_scenarios: Count


class OlderStages(StagesFields):
    """The whole file."""

    policy_graph: PolicyGraphFields
    stages: Annotated[tuple[OlderStage, ...], Field(min_length=1)]


class PastInflowsRecord(Record):
    """Inflows of one hydro before the study, most recent first."""

    hydro_id: Id
    values_m3s: tuple[Number, ...]
    season_ids: tuple[Id, ...] | None = None


class OlderInitialConditions(InitialFields):
    """The whole file."""

    past_inflows: tuple[PastInflowsRecord, ...] = ()


class OlderBuses(Record):
    """The whole file."""

    buses: tuple[BusFields, ...]


class OlderLines(Record):
    """The whole file."""

    lines: tuple[LineFields, ...]


class GnlRecord(Record):
    """Fuel that must be ordered stages ahead."""

    lag_stages: int


class OlderThermal(ThermalFields):
    """A thermal plant."""

    gnl_config: GnlRecord | None = None


class OlderThermals(Record):
    """The whole file."""

    thermals: tuple[OlderThermal, ...]


class OlderNonControllables(Record):
    """The whole file."""

    non_controllable_sources: tuple[NonControllableFields, ...] = ()


class OlderPumpingStations(Record):
    """The whole file."""

    pumping_stations: tuple[PumpingStationFields, ...] = ()


class OlderContracts(Record):
    """The whole file."""

    contracts: tuple[ContractFields, ...] = ()


class ConstantProductivityRecord(TurbineLimits):
    """Power proportional to turbined flow; linearised head is treated alike."""

    model: Literal["constant_productivity", "linearized_head"]
    productivity_mw_per_m3s: NonNegative


class FphaRecord(TurbineLimits):
    """Power below a set of planes."""

    model: Literal["fpha"]


class OlderFilling(Record):
    """A reservoir that is being filled for the first time."""

    start_stage_id: Id
    filling_inflow_m3s: Number = 0.0


class OlderHydroPenaltyOverrides(HydroPenaltyOverrideFields):
    """Prices of this plant."""

    fpha_turbined_cost: NonNegative | None = None


class OlderHydro(HydroFields):
    """A reservoir with turbines at one bus."""

    bus_id: Id
    generation: Annotated[ConstantProductivityRecord | FphaRecord, Field(discriminator="model")]
    filling: OlderFilling | None = None
    penalties: OlderHydroPenaltyOverrides | None = None


class OlderHydros(Record):
    """The whole file."""

    hydros: tuple[OlderHydro, ...]


class OlderModelChoice(ChoiceFields):
    """A choice where the plant's productivity may be replaced."""

    productivity_override: NonNegative | None = None


class OlderStageRange(OlderModelChoice, StageRangeFields):
    """The model of some stages."""


class OlderSeasonModel(OlderModelChoice):
    """The model of a season."""

    season_id: Id


class OlderStageRanges(ByStages):
    """Models chosen by stage."""

    stage_ranges: tuple[OlderStageRange, ...]


class OlderSeasonal(BySeasons):
    """Models chosen by season."""

    seasons: tuple[OlderSeasonModel, ...]


class OlderProductionModels(Record):
    """The whole file."""

    production_models: tuple[
        Annotated[OlderStageRanges | OlderSeasonal, Field(discriminator="selection_mode")], ...
    ] = ()
    fpha_plane_reduction: Annotated[PlaneReductionRecord, Field(discriminator="method")] | None = None


class OlderConstraint(GenericConstraintRecord):
    """One relation."""

    sense: Literal["<=", ">=", "=="]


class OlderConstraints(Record):
    """The whole file."""

    constraints: tuple[OlderConstraint, ...] = ()


def _like(document: Document, record: type[Record], **unique: tuple[str, ...]) -> Document:
    """``document`` with the shape of 0.5.1; ``unique`` replaces the keys that no two entries may share."""
    return Document(
        document.path, record, document.attribute, document.is_required, unique or document.unique
    )


FILES = (
    _like(penalties.FILE, OlderPenalties),
    _like(stages.FILE, OlderStages),
    _like(
        initial_conditions.FILE,
        OlderInitialConditions,
        storage=("hydro_id",),
        filling_storage=("hydro_id",),
        past_inflows=("hydro_id",),
        recent_observations=("hydro_id", "start_date"),
    ),
    _like(buses.FILE, OlderBuses),
    _like(lines.FILE, OlderLines),
    _like(thermals.FILE, OlderThermals),
    _like(non_controllable_sources.FILE, OlderNonControllables),
    _like(pumping_stations.FILE, OlderPumpingStations),
    _like(energy_contracts.FILE, OlderContracts),
    _like(hydros.FILE, OlderHydros),
    _like(hydro_production_models.FILE, OlderProductionModels),
    _like(generic_constraints.FILE, OlderConstraints, constraints=("id",)),
)
"""Every JSON file of both generations whose shape differs, except ``config.json``."""

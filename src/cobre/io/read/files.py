"""A case directory as read: one attribute per file, nothing resolved yet."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cobre.io.read.columns import ABSENT, Table
from cobre.io.read.config import ConfigRecord, IterationLimitRecord, SampledPassesRecord, TrainingRecord
from cobre.io.read.constraints.generic_constraints import GenericConstraintsFile
from cobre.io.read.constraints.generic_parameters import GenericParametersFile
from cobre.io.read.generation import FORMAT_018, Generation
from cobre.io.read.initial_conditions import InitialConditionsRecord
from cobre.io.read.older.exchange_factors import ExchangeFactorsFile
from cobre.io.read.penalties import (
    BusPenalties,
    HydroPenalties,
    LinePenalties,
    NonControllablePenalties,
    PenaltiesRecord,
)
from cobre.io.read.post_study_stages import PostStudyRecord
from cobre.io.read.scenarios.correlation import CorrelationFile
from cobre.io.read.scenarios.load_factors import LoadFactorsFile
from cobre.io.read.scenarios.non_controllable_factors import NonControllableFactorsFile
from cobre.io.read.stages import PolicyGraphRecord, StagesRecord
from cobre.io.read.system.buses import BusesRecord
from cobre.io.read.system.energy_contracts import ContractsRecord
from cobre.io.read.system.hydro_production_models import (
    ProductionModelsRecord,
    SeasonalRecord,
    StageRangesRecord,
)
from cobre.io.read.system.hydros import HydrosRecord
from cobre.io.read.system.lines import LinesRecord
from cobre.io.read.system.non_controllable_sources import NonControllablesRecord
from cobre.io.read.system.pumping_stations import PumpingStationsRecord
from cobre.io.read.system.thermals import ThermalsRecord

if TYPE_CHECKING:
    from cobre.io.read.older.config import OlderConfig
    from cobre.stochastic.fitting import InflowFit


SPECIFIC_COLUMN = "specific_productivity_mw_per_m3s_per_m"


class _Identified(Protocol):
    @property
    def id(self) -> int: ...


class PastInflows(NamedTuple):
    """Inflows of one hydro before the study, most recent first, as 0.5.1 gives them or as the history has them."""

    hydro_id: int
    values_m3s: tuple[float, ...]
    season_ids: tuple[int, ...] | None = None


def _is_id(value: object) -> bool:
    return isinstance(value, int) and abs(value) < 2**31


def _no_penalties() -> PenaltiesRecord:
    costs: dict[str, Any] = {
        name: 0.0 for name, each in HydroPenalties.model_fields.items() if each.is_required()
    }
    return PenaltiesRecord.model_construct(
        bus=BusPenalties.model_construct(deficit_segments=(), excess_cost=0.0),
        line=LinePenalties.model_construct(exchange_cost=0.0),
        hydro=HydroPenalties.model_construct(**costs),
        non_controllable_source=NonControllablePenalties.model_construct(curtailment_cost=0.0),
    )


def _no_stages() -> StagesRecord:
    graph = PolicyGraphRecord.model_construct(type="finite_horizon", annual_discount_rate=0.0)
    return StagesRecord.model_construct(policy_graph=graph, stages=())


def _no_config() -> ConfigRecord:
    rules = (IterationLimitRecord.model_construct(type="iteration_limit", limit=1),)
    selection = SampledPassesRecord.model_construct(method="sampled", forward_passes=1)
    training = TrainingRecord.model_construct(selection=selection, stopping_rules=rules)
    return ConfigRecord.model_construct(training=training)


@dataclass
class CaseFiles:
    """What the files say. A document that is not there or not usable is blank; ``unusable`` tells.

    Blank documents are made without a check, which would first have to be built.
    """

    folder: Path
    generation: Generation = FORMAT_018
    """Of the format; everything else has the shape of 0.18 whatever it is."""
    config: ConfigRecord = field(default_factory=_no_config)
    older_config: OlderConfig | None = None
    """``config.json`` of a case of 0.5.1, for the settings that 0.18 does not have."""
    idle_lead_times: tuple[int, ...] = ()
    """Ids of thermals whose fuel needs no time in 0.5.1, although they say how much."""
    reserved_rows: int = 0
    """Rows of limits of thermals with a block id in 0.5.1, which reserved that column: they are left out."""
    penalties: PenaltiesRecord = field(default_factory=_no_penalties)
    stages: StagesRecord = field(default_factory=_no_stages)
    initial_conditions: InitialConditionsRecord = field(
        default_factory=lambda: InitialConditionsRecord.model_construct(storage=(), filling_storage=())
    )
    buses: BusesRecord = field(default_factory=lambda: BusesRecord.model_construct(buses=()))
    lines: LinesRecord = field(default_factory=lambda: LinesRecord.model_construct(lines=()))
    hydros: HydrosRecord = field(default_factory=lambda: HydrosRecord.model_construct(hydros=()))
    thermals: ThermalsRecord = field(default_factory=lambda: ThermalsRecord.model_construct(thermals=()))
    non_controllables: NonControllablesRecord = field(default_factory=NonControllablesRecord.model_construct)
    pumping_stations: PumpingStationsRecord = field(default_factory=PumpingStationsRecord.model_construct)
    contracts: ContractsRecord = field(default_factory=ContractsRecord.model_construct)
    production_models: ProductionModelsRecord = field(default_factory=ProductionModelsRecord.model_construct)
    load_factors: LoadFactorsFile = field(default_factory=LoadFactorsFile.model_construct)
    non_controllable_factors: NonControllableFactorsFile = field(
        default_factory=NonControllableFactorsFile.model_construct
    )
    past_inflows: tuple[PastInflows, ...] = ()
    """Of 0.5.1's initial conditions, completed by the history; sorted by nothing."""
    post_study: PostStudyRecord = field(default_factory=PostStudyRecord.model_construct)
    correlation: CorrelationFile | None = None
    inflow_fit: InflowFit | None = None
    """What was fitted to the history; its rows are in ``tables`` then, as if they had been read."""
    exchange_factors: ExchangeFactorsFile = field(default_factory=ExchangeFactorsFile.model_construct)
    generic_constraints: GenericConstraintsFile = field(
        default_factory=GenericConstraintsFile.model_construct
    )
    generic_parameters: GenericParametersFile = field(default_factory=GenericParametersFile.model_construct)
    tables: dict[str, Table] = field(default_factory=dict)
    """By attribute name of the table's file; a file that is not there gives an empty table."""
    present: set[str] = field(default_factory=set)
    """Paths of the files that are there."""
    damaged: set[str] = field(default_factory=set)
    """Paths of the files of which something could not be used."""
    unusable: set[str] = field(default_factory=set)
    """Paths of the files of which nothing could be used, required ones that are missing included."""
    ambiguous: set[str] = field(default_factory=set)
    """Paths of the files in which two entries have the same id."""
    dropped: dict[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """List entries that were left out because they are wrong, by path."""
    fit_seconds: dict[str, float] = field(default_factory=dict)
    """Wall time of what was fitted, by kind: see `cobre.core.provenance.SetupSeconds`."""

    productions: dict[tuple[int, int | None], Any] = field(default_factory=dict)
    """What `cobre.io.assemble.production.production_of` has found: checks and assembly ask again and again."""

    @contextmanager
    def timing(self, kind: str) -> Iterator[None]:
        """Add the time of the ``with`` block to that of a kind of fit."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.fit_seconds[kind] = self.fit_seconds.get(kind, 0.0) + time.perf_counter() - began

    @property
    def has_given_openings(self) -> bool:
        """Whether the tree of noises is that of the file; 0.18 has to be asked for it."""
        source = self.config.training.scenario_source
        is_wanted = source is not None and source.openings is not None and source.openings.source == "file"
        return len(self.tables["noise_openings"]) > 0 and (is_wanted or not self.generation.is_018)

    @property
    def lacks_fit(self) -> bool:
        """Whether statistics of inflows were to be fitted and could not be; the reason has been reported."""
        return (
            "scenarios/inflow_history.parquet" in self.present
            and "scenarios/inflow_seasonal_stats.parquet" not in self.present
            and self.inflow_fit is None
        )

    @cached_property
    def production_model_of(self) -> dict[int, StageRangesRecord | SeasonalRecord]:
        """Entries of the production models, by hydro id."""
        return {entry.hydro_id: entry for entry in self.production_models.production_models}

    @cached_property
    def hydros_with_production_by_stage(self) -> frozenset[int]:
        """Ids of the hydros whose production may differ between stages."""
        by_stage = {hydro_id for hydro_id, stage_id, _ in self._energy_values if stage_id != ABSENT}
        return frozenset(by_stage | self.production_model_of.keys())

    def energy_value(self, column: str, hydro_id: int, stage_id: int) -> float | None:
        """What ``hydro_energy_productivity`` says of a hydro in a stage, or of all its stages; None if nothing."""
        values = self._energy_values
        return values.get((hydro_id, stage_id, column), values.get((hydro_id, ABSENT, column)))

    @cached_property
    def _energy_values(self) -> dict[tuple[int, int, str], float]:
        table = self.tables["energy_productivity"]
        keys = list(zip(table["hydro_id"].tolist(), table["stage_id"].tolist(), strict=True))
        return {
            (*key, name): value
            for name in ("equivalent_productivity_mw_per_m3s", "reference_outflow_m3s", SPECIFIC_COLUMN)
            for key, value in zip(keys, table[name].tolist(), strict=True)
            if value == value  # not null
        }

    @cached_property
    def known_ids(self) -> dict[str, frozenset[int] | None]:
        """Ids of each kind of entity, those of wrong entries included; None where they are not known."""
        every = self._ids("stages.json", (*self.stages.stages, *self.stages.pre_study_stages))
        return {
            "bus": self._ids("system/buses.json", self.buses.buses),
            "line": self._ids("system/lines.json", self.lines.lines),
            "hydro": self._ids("system/hydros.json", self.hydros.hydros),
            "thermal": self._ids("system/thermals.json", self.thermals.thermals),
            "non-controllable source": self._ids(
                "system/non_controllable_sources.json", self.non_controllables.non_controllable_sources
            ),
            "pumping station": self._ids(
                "system/pumping_stations.json", self.pumping_stations.pumping_stations
            ),
            "contract": self._ids("system/energy_contracts.json", self.contracts.contracts),
            "generic constraint": self._ids(
                "constraints/generic_constraints.json", self.generic_constraints.constraints
            ),
            "stage": every and frozenset(stage_id for stage_id in every if stage_id >= 0),
            "any stage": every,
        }

    def _ids(self, path: str, entries: Sequence[_Identified]) -> frozenset[int] | None:
        wrong: list[Any] = [entry.get("id") for entry in self.dropped.get(path, ())]
        if path in self.unusable | self.ambiguous or not all(map(_is_id, wrong)):
            return None  # the ids are not known, so references to them cannot be checked
        return frozenset({entry.id for entry in entries} | set(wrong))

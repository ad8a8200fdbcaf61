"""Small studies for tests: ``make_case`` turns a few words about plants into a whole :class:`~cobre.core.case.Case`.

The words are those of ``sddp.specs``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np

from cobre.core.case import Case, InitialState
from cobre.core.config import Config, NonNegativity, TrainingConfig
from cobre.core.entities import (
    Bus,
    ConstraintTerm,
    DeficitSegment,
    Diversion,
    EnergyContract,
    GenericConstraint,
    Hydro,
    Line,
    NonControllableSource,
    PumpingStation,
    System,
    Thermal,
)
from cobre.core.horizon import Block, Horizon, Season, SeasonDefinitions, Stage
from cobre.core.scenarios import (
    Correlation,
    GivenOpenings,
    InflowStatistics,
    LagCoefficients,
    PastInflows,
    Scenarios,
)
from cobre.core.tables import (
    BusTables,
    ConstraintTables,
    ContractTables,
    HydroCosts,
    HydroTables,
    LineTables,
    NonControllableTables,
    PumpingTables,
    Tables,
    ThermalTables,
)
from sddp.specs import (
    INFINITE,
    UNIT_HOURS,
    BusSpec,
    ByStage,
    ConstraintSpec,
    ContractSpec,
    HydroSpec,
    LineSpec,
    PumpSpec,
    SourceSpec,
    StageSpec,
    ThermalSpec,
)

__all__ = [
    "UNIT_HOURS",
    "BusSpec",
    "ConstraintSpec",
    "ContractSpec",
    "HydroSpec",
    "LineSpec",
    "PumpSpec",
    "SourceSpec",
    "StageSpec",
    "ThermalSpec",
    "make_case",
]


def make_case(
    stages: int | Sequence[StageSpec] = 1,
    *,
    buses: Sequence[BusSpec] = (BusSpec(),),
    thermals: Sequence[ThermalSpec] = (),
    lines: Sequence[LineSpec] = (),
    hydros: Sequence[HydroSpec] = (),
    sources: Sequence[SourceSpec] = (),
    pumps: Sequence[PumpSpec] = (),
    contracts: Sequence[ContractSpec] = (),
    constraints: Sequence[ConstraintSpec] = (),
    hours: float | Sequence[float] = 1.0,
    openings: int = 1,
    discount: float = 1.0,
    non_negativity: NonNegativity = "none",
    training: TrainingConfig | None = None,
    correlation: Correlation | None = None,
    given_openings: Sequence[Sequence[Sequence[float]]] | None = None,
) -> Case:
    """A study; ``given_openings[stage][opening][entity]`` replaces the generated noises.

    With an integer ``stages``, that many months have ``hours``, ``openings`` and ``discount`` each.
    """
    specs = (
        [StageSpec(hours, openings, discount) for _ in range(stages)] if isinstance(stages, int) else stages
    )
    horizon = _horizon(specs)
    return Case(
        name="test",
        system=_system(buses, lines, thermals, hydros, sources, pumps, contracts, constraints),
        horizon=horizon,
        tables=Tables(
            hydro=_hydro_tables(hydros, horizon.n_stages),
            hydro_costs=_hydro_costs(hydros, horizon.n_stages),
            thermal=_thermal_tables(thermals, horizon.n_stages),
            line=_line_tables(lines, horizon),
            bus=_bus_tables(buses, horizon),
            non_controllable=_source_tables(sources, horizon),
            pumping=_pumping_tables(pumps, horizon.n_stages),
            contract=_contract_tables(contracts, horizon.n_stages),
            constraint=_constraint_tables(constraints, horizon),
        ),
        scenarios=_scenarios(hydros, horizon, correlation, given_openings),
        initial=InitialState(
            storage_hm3=np.array([h.initial for h in hydros], dtype=np.float64),
            past_inflows=tuple(PastInflows(i, tuple(h.past)) for i, h in enumerate(hydros) if h.past),
        ),
        config=Config(training=training or TrainingConfig(), inflow_non_negativity=non_negativity),
    )


def _table(values: Sequence[ByStage], width: int) -> np.ndarray:
    rows = [np.broadcast_to(np.asarray(value, dtype=np.float64), (width,)) for value in values]
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def _horizon(specs: Sequence[StageSpec]) -> Horizon:
    stages = []
    for index, spec in enumerate(specs):
        hours = [spec.hours] if isinstance(spec.hours, int | float) else spec.hours
        year, month = 2030 + index // 12, index % 12
        following = dt.date(year + (month == 11), (month + 1) % 12 + 1, 1)
        blocks = tuple(Block(k, f"block{k}", float(h)) for k, h in enumerate(hours))
        stages.append(
            Stage(
                id=index,
                start_date=dt.date(year, month + 1, 1),
                end_date=following,
                blocks=blocks,
                n_openings=spec.openings,
                season_id=month,
                risk=spec.risk,
                sampling_method=spec.sampling,
                discount=spec.discount,
            )
        )
    seasons = tuple(Season(month, f"month{month + 1}", month + 1) for month in range(12))
    return Horizon(tuple(stages), season_definitions=SeasonDefinitions("monthly", seasons))


def _system(buses, lines, thermals, hydros, sources, pumps, contracts, constraints) -> System:
    return System(
        buses=tuple(
            Bus(i, f"B{i}", tuple(DeficitSegment(depth, cost) for depth, cost in b.deficit))
            for i, b in enumerate(buses)
        ),
        lines=tuple(Line(i, f"L{i}", x.source, x.target, x.losses_percent) for i, x in enumerate(lines)),
        thermals=tuple(Thermal(i, f"T{i}", x.bus) for i, x in enumerate(thermals)),
        hydros=tuple(
            Hydro(
                id=i,
                name=f"H{i}",
                bus=h.bus,
                downstream=h.downstream,
                diversion=None if h.diversion is None else Diversion(h.diversion),
                has_evaporation=h.evaporation is not None,
                min_storage_hm3=float(np.ravel(h.min_storage)[0]),
            )
            for i, h in enumerate(hydros)
        ),
        non_controllables=tuple(NonControllableSource(i, f"W{i}", x.bus) for i, x in enumerate(sources)),
        pumping_stations=tuple(
            PumpingStation(i, f"P{i}", x.bus, x.source, x.destination, x.consumption)
            for i, x in enumerate(pumps)
        ),
        contracts=tuple(EnergyContract(i, f"C{i}", x.bus, x.is_import) for i, x in enumerate(contracts)),
        generic_constraints=tuple(
            GenericConstraint(i, f"G{i}", tuple(ConstraintTerm(*term) for term in x.terms), x.penalty)
            for i, x in enumerate(constraints)
        ),
    )


def _hydro_tables(hydros: Sequence[HydroSpec], n_stages: int) -> HydroTables:
    def table(name: str) -> np.ndarray:
        return _table([getattr(h, name) for h in hydros], n_stages)

    planes_of = [
        [h.planes[t] if isinstance(h.planes, tuple) and h.planes else h.planes for t in range(n_stages)]
        for h in hydros
    ]
    counts = [len(planes) for by_stage in planes_of for planes in by_stage]
    planes = [plane for by_stage in planes_of for of_stage in by_stage for plane in of_stage]
    has_planes = np.array(counts, dtype=bool).reshape(len(hydros), n_stages)
    evaporation = [h.evaporation or (0.0, 0.0) for h in hydros]
    return HydroTables(
        min_storage_hm3=table("min_storage"),
        max_storage_hm3=table("max_storage"),
        min_turbined_m3s=table("min_turbined"),
        max_turbined_m3s=table("max_turbined"),
        min_outflow_m3s=table("min_outflow"),
        max_outflow_m3s=table("max_outflow"),
        min_generation_mw=table("min_generation"),
        max_generation_mw=table("max_generation"),
        max_diversion_m3s=table("max_diversion"),
        withdrawal_m3s=table("withdrawal"),
        productivity_mw_per_m3s=np.where(has_planes, np.nan, table("productivity")),
        evaporation_base_m3s=_table([base for base, _ in evaporation], n_stages),
        evaporation_slope=_table([slope for _, slope in evaporation], n_stages),
        plane_offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        planes=np.array(planes, dtype=np.float64).reshape(-1, 4),
    )


def _hydro_costs(hydros: Sequence[HydroSpec], n_stages: int) -> HydroCosts:
    names = HydroCosts.__dataclass_fields__
    unknown = {name for h in hydros for name in h.costs} - set(names)
    assert not unknown, f"no such cost: {unknown}"
    return HydroCosts(**{name: _table([h.costs.get(name, 0.0) for h in hydros], n_stages) for name in names})


def _thermal_tables(thermals: Sequence[ThermalSpec], n_stages: int) -> ThermalTables:
    return ThermalTables(
        min_generation_mw=_table([x.min_mw for x in thermals], n_stages),
        max_generation_mw=_table([x.max_mw for x in thermals], n_stages),
        cost_per_mwh=_table([x.cost for x in thermals], n_stages),
    )


def _line_tables(lines: Sequence[LineSpec], horizon: Horizon) -> LineTables:
    return LineTables(
        direct_mw=_table([x.direct_mw for x in lines], horizon.n_stage_blocks),
        reverse_mw=_table([x.reverse_mw for x in lines], horizon.n_stage_blocks),
        exchange_cost_per_mwh=_table([x.cost for x in lines], horizon.n_stages),
    )


def _bus_tables(buses: Sequence[BusSpec], horizon: Horizon) -> BusTables:
    return BusTables(
        excess_cost_per_mwh=_table([x.excess_cost for x in buses], horizon.n_stages),
        load_mean_mw=_table([x.load for x in buses], horizon.n_stages),
        load_std_mw=_table([x.load_std for x in buses], horizon.n_stages),
        load_factor=_table([x.load_factor for x in buses], horizon.n_stage_blocks),
    )


def _source_tables(sources: Sequence[SourceSpec], horizon: Horizon) -> NonControllableTables:
    return NonControllableTables(
        installed_mw=_table([x.installed for x in sources], horizon.n_stages),
        curtailment_cost_per_mwh=_table([x.cost for x in sources], horizon.n_stages),
        mean=_table([x.mean for x in sources], horizon.n_stages),
        std=_table([x.std for x in sources], horizon.n_stages),
        factor=_table([x.factor for x in sources], horizon.n_stage_blocks),
        has_statistics=np.array([x.has_statistics for x in sources], dtype=np.bool_),
    )


def _pumping_tables(pumps: Sequence[PumpSpec], n_stages: int) -> PumpingTables:
    return PumpingTables(
        min_flow_m3s=_table([x.min_flow for x in pumps], n_stages),
        max_flow_m3s=_table([x.max_flow for x in pumps], n_stages),
    )


def _contract_tables(contracts: Sequence[ContractSpec], n_stages: int) -> ContractTables:
    return ContractTables(
        min_mw=_table([x.min_mw for x in contracts], n_stages),
        max_mw=_table([x.max_mw for x in contracts], n_stages),
        price_per_mwh=_table([x.price for x in contracts], n_stages),
    )


def _constraint_tables(constraints: Sequence[ConstraintSpec], horizon: Horizon) -> ConstraintTables:
    rows = []
    for index, x in enumerate(constraints):
        everywhere = [
            (t, k, x.bound) for t, stage in enumerate(horizon.stages) for k in range(stage.n_blocks)
        ]
        rows += [(index, *bound) for bound in sorted(everywhere if x.bounds is None else x.bounds)]

    def _sense(row: tuple[int, int, int, float]) -> str:
        return constraints[row[0]].sense

    return ConstraintTables(
        constraint=np.array([row[0] for row in rows], dtype=np.int64),
        stage=np.array([row[1] for row in rows], dtype=np.int64),
        block=np.array([row[2] for row in rows], dtype=np.int64),
        lower=np.array([-INFINITE if _sense(row) == "<=" else row[3] for row in rows], dtype=np.float64),
        upper=np.array([INFINITE if _sense(row) == ">=" else row[3] for row in rows], dtype=np.float64),
    )


def _scenarios(hydros, horizon, correlation, given_openings) -> Scenarios:
    mean = _table([h.inflow for h in hydros], horizon.n_stages)
    std = _table([h.inflow_std for h in hydros], horizon.n_stages)
    hydro, stage = (grid.ravel() for grid in np.indices(mean.shape, dtype=np.int64))
    lags = [
        (i, stage.id, lag + 1, value, h.residual_ratio)
        for i, h in enumerate(hydros)
        for stage in horizon.stages
        for lag, value in enumerate(h.lags)
    ]
    return Scenarios(
        inflow=InflowStatistics(hydro, stage, mean.ravel(), std.ravel()),
        lags=LagCoefficients(
            hydro=np.array([row[0] for row in lags], dtype=np.int64),
            stage_id=np.array([row[1] for row in lags], dtype=np.int64),
            lag=np.array([row[2] for row in lags], dtype=np.int64),
            coefficient=np.array([row[3] for row in lags], dtype=np.float64),
            residual_std_ratio=np.array([row[4] for row in lags], dtype=np.float64),
        ),
        correlation=correlation,
        openings=None if given_openings is None else _given(given_openings),
    )


def _given(openings: Sequence[Sequence[Sequence[float]]]) -> GivenOpenings:
    rows = [
        (t, opening, entity, value)
        for t, of_stage in enumerate(openings)
        for opening, noise in enumerate(of_stage)
        for entity, value in enumerate(noise)
    ]
    return GivenOpenings(
        stage=np.array([row[0] for row in rows], dtype=np.int64),
        opening=np.array([row[1] for row in rows], dtype=np.int64),
        entity=np.array([row[2] for row in rows], dtype=np.int64),
        value=np.array([row[3] for row in rows], dtype=np.float64),
    )

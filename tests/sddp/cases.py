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
from sddp import specs

HYDRO_COLUMNS = {
    "min_storage_hm3": "min_storage",
    "max_storage_hm3": "max_storage",
    "min_turbined_m3s": "min_turbined",
    "max_turbined_m3s": "max_turbined",
    "min_outflow_m3s": "min_outflow",
    "max_outflow_m3s": "max_outflow",
    "min_generation_mw": "min_generation",
    "max_generation_mw": "max_generation",
    "max_diversion_m3s": "max_diversion",
    "withdrawal_m3s": "withdrawal",
}


def make_case(
    stages: int | Sequence[specs.StageSpec] = 1,
    *,
    buses: Sequence[specs.BusSpec] = (specs.BusSpec(),),
    thermals: Sequence[specs.ThermalSpec] = (),
    lines: Sequence[specs.LineSpec] = (),
    hydros: Sequence[specs.HydroSpec] = (),
    sources: Sequence[specs.SourceSpec] = (),
    pumps: Sequence[specs.PumpSpec] = (),
    contracts: Sequence[specs.ContractSpec] = (),
    constraints: Sequence[specs.ConstraintSpec] = (),
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
    if isinstance(stages, int):
        stages = [specs.StageSpec(hours, openings, discount)] * stages
    horizon = _horizon(stages)
    return Case(
        name="test",
        system=_system(buses, lines, thermals, hydros, sources, pumps, contracts, constraints),
        horizon=horizon,
        tables=_tables(buses, lines, thermals, hydros, sources, pumps, contracts, constraints, horizon),
        scenarios=_scenarios(hydros, horizon, correlation, given_openings),
        initial=InitialState(
            storage_hm3=np.array([h.initial for h in hydros], dtype=np.float64),
            past_inflows=tuple(PastInflows(i, tuple(h.past)) for i, h in enumerate(hydros) if h.past),
        ),
        config=Config(training=training or TrainingConfig(), inflow_non_negativity=non_negativity),
    )


def hydros_beside_fuel(
    *hydros: specs.HydroSpec, load=100.0, cost=10.0, hours=specs.UNIT_HOURS, **more
) -> Case:
    """One bus; a thermal makes whatever the hydros do not give."""
    return make_case(
        buses=[specs.BusSpec(load=load)],
        thermals=[specs.ThermalSpec(max_mw=1e4, cost=cost)],
        hydros=hydros,
        hours=hours,
        **more,
    )


def _table(values: Sequence[specs.ByStage], width: int) -> np.ndarray:
    rows = [np.broadcast_to(np.asarray(value, dtype=np.float64), (width,)) for value in values]
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def _horizon(given: Sequence[specs.StageSpec]) -> Horizon:
    stages = []
    for index, spec in enumerate(given):
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


def _tables(buses, lines, thermals, hydros, sources, pumps, contracts, constraints, horizon) -> Tables:
    def by_stage(given: Sequence[object], **attributes: str) -> dict[str, np.ndarray]:
        return _columns(given, horizon.n_stages, attributes)

    def by_block(given: Sequence[object], **attributes: str) -> dict[str, np.ndarray]:
        return _columns(given, horizon.n_stage_blocks, attributes)

    return Tables(
        hydro=_hydro_tables(hydros, horizon.n_stages),
        hydro_costs=_hydro_costs(hydros, horizon.n_stages),
        thermal=ThermalTables(
            **by_stage(thermals, min_generation_mw="min_mw", max_generation_mw="max_mw", cost_per_mwh="cost")
        ),
        line=LineTables(
            **by_block(lines, direct_mw="direct_mw", reverse_mw="reverse_mw"),
            **by_stage(lines, exchange_cost_per_mwh="cost"),
        ),
        bus=BusTables(
            **by_stage(buses, excess_cost_per_mwh="excess_cost", load_mean_mw="load", load_std_mw="load_std"),
            **by_block(buses, load_factor="load_factor"),
        ),
        non_controllable=NonControllableTables(
            **by_stage(
                sources, installed_mw="installed", curtailment_cost_per_mwh="cost", mean="mean", std="std"
            ),
            **by_block(sources, factor="factor"),
            has_statistics=np.array([x.has_statistics for x in sources], dtype=np.bool_),
        ),
        pumping=PumpingTables(**by_stage(pumps, min_flow_m3s="min_flow", max_flow_m3s="max_flow")),
        contract=ContractTables(
            **by_stage(contracts, min_mw="min_mw", max_mw="max_mw", price_per_mwh="price")
        ),
        constraint=_constraint_tables(constraints, horizon),
    )


def _columns(given: Sequence[object], width: int, attributes: dict[str, str]) -> dict[str, np.ndarray]:
    return {name: _table([getattr(x, each) for x in given], width) for name, each in attributes.items()}


def _hydro_tables(hydros: Sequence[specs.HydroSpec], n_stages: int) -> HydroTables:
    planes_of = [
        [h.planes[t] if isinstance(h.planes, tuple) and h.planes else h.planes for t in range(n_stages)]
        for h in hydros
    ]
    counts = [len(planes) for by_stage in planes_of for planes in by_stage]
    planes = [plane for by_stage in planes_of for of_stage in by_stage for plane in of_stage]
    has_planes = np.array(counts, dtype=bool).reshape(len(hydros), n_stages)
    evaporation = [h.evaporation or (0.0, 0.0) for h in hydros]
    return HydroTables(
        **_columns(hydros, n_stages, HYDRO_COLUMNS),
        productivity_mw_per_m3s=np.where(
            has_planes, np.nan, _table([h.productivity for h in hydros], n_stages)
        ),
        evaporation_base_m3s=_table([base for base, _ in evaporation], n_stages),
        evaporation_slope=_table([slope for _, slope in evaporation], n_stages),
        plane_offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        planes=np.array(planes, dtype=np.float64).reshape(-1, 4),
    )


def _hydro_costs(hydros: Sequence[specs.HydroSpec], n_stages: int) -> HydroCosts:
    names = HydroCosts.__dataclass_fields__
    unknown = {name for h in hydros for name in h.costs} - set(names)
    assert not unknown, f"no such cost: {unknown}"
    return HydroCosts(**{name: _table([h.costs.get(name, 0.0) for h in hydros], n_stages) for name in names})


def _constraint_tables(constraints: Sequence[specs.ConstraintSpec], horizon: Horizon) -> ConstraintTables:
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
        lower=np.array(
            [-specs.INFINITE if _sense(row) == "<=" else row[3] for row in rows], dtype=np.float64
        ),
        upper=np.array([specs.INFINITE if _sense(row) == ">=" else row[3] for row in rows], dtype=np.float64),
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

"""Studies that several tests train. Ranks of MPI import this where there is no pytest."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np

import cobre.sddp.cuts
from cobre.core.case import DatedValue
from cobre.core.config import BoundStalling, CutSelection, IterationLimit, ScenarioSource
from cobre.core.entities import LeadTime
from cobre.core.horizon import RiskMeasure
from cobre.core.scenarios import InflowRecords
from cobre.sddp.training import train
from sddp.cases import make_case
from sddp.specs import BusSpec, HydroSpec, LineSpec, SourceSpec, StageSpec, ThermalSpec
from sddp.trained import digest, settings


def study(stages=None, *, training=None, hydro=(), load_std=0.0, source_std=0.0, **others):
    """Two reservoirs in a row, two buses, a dear and a cheap plant: four stages of three openings."""
    first = {"initial": 40.0, "max_storage": 80.0, "max_turbined": 30.0, "productivity": 0.9, **dict(hydro)}
    second = {**first, "initial": 20.0, "productivity": 0.7}
    return make_case(
        stages or [StageSpec((200.0, 100.0), 3)] * 4,
        buses=[
            BusSpec(load=30.0, load_std=load_std, load_factor=[1.0, 1.3] * 4),
            BusSpec(load=25.0, deficit=[(5.0, 300.0), (None, 900.0)]),
        ],
        lines=[LineSpec(direct_mw=15.0, reverse_mw=10.0, cost=0.5, losses_percent=3.0)],
        thermals=[
            ThermalSpec(max_mw=12.0, cost=20.0),
            ThermalSpec(max_mw=25.0, cost=[60.0, 70.0, 80.0, 90.0], bus=1),
        ],
        hydros=[
            HydroSpec(downstream=1, inflow=[20.0, 12.0, 8.0, 15.0], inflow_std=7.0, **first),
            HydroSpec(bus=1, inflow=[9.0, 4.0, 3.0, 6.0], inflow_std=3.0, **second),
        ],
        sources=[
            SourceSpec(installed=8.0, mean=0.5, std=source_std, has_statistics=source_std > 0.0, cost=1.0)
        ],
        training=training or settings(60, 3),
        **others,
    )


def stages(**others):
    return [StageSpec((200.0, 100.0), 3, **others)] * 4


def sampled(n_passes):
    """Every method that spreads points, and fresh trajectories of every class."""
    methods = ("qmc_sobol", "lhs", "qmc_halton", "qmc_sobol_lms")
    source = ScenarioSource("out_of_sample", "out_of_sample", "out_of_sample", seed=11)
    return study(
        [StageSpec((200.0, 100.0), 4, sampling=method) for method in methods],
        hydro={"costs": {"negative_inflow": 30.0}},
        load_std=4.0,
        source_std=0.2,
        training=settings(8, n_passes, scenario_source=source),
        non_negativity="penalty",
    )


def historical(n_passes, openings=3, **source):
    """Trajectories and openings that repeat years of a history of both reservoirs; the last stage has selected ones."""
    methods = ("saa", "historical_residuals", "historical_residuals", "selective")
    case = study(
        [StageSpec((200.0, 100.0), openings, sampling=method) for method in methods],
        hydro={"lags": [0.4], "residual_ratio": 0.9, "past": [9.0], "costs": {"negative_inflow": 30.0}},
        training=settings(8, n_passes, scenario_source=ScenarioSource("historical", **source)),
        non_negativity="penalty",
    )
    return replace(case, scenarios=replace(case.scenarios, history=history(2, 2001, 2009)))


def linked(n_passes):
    """Chronological blocks in two stages, water that takes time, and a thermal of each kind that is decided ahead."""
    case = study(hydro={"costs": {"spillage": 0.01}}, load_std=4.0, training=settings(9, n_passes))
    (above, below), (cheap, dear) = case.system.hydros, case.system.thermals
    start, end = case.horizon.stages[0].start_date, case.horizon.stages[0].end_date
    of_stages = [replace(stage, is_chronological=t in (1, 2)) for t, stage in enumerate(case.horizon.stages)]
    return replace(
        case,
        system=replace(
            case.system,
            hydros=(replace(above, travel_time_hours=130.0), below),
            thermals=(replace(cheap, lead=LeadTime(stages=1)), replace(dear, lead=LeadTime(hours=500.0))),
        ),
        horizon=replace(case.horizon, stages=tuple(of_stages)),
        initial=replace(
            case.initial,
            defluences=(DatedValue(0, start - dt.timedelta(days=6), start, 11.0),),
            commitments=tuple(DatedValue(t, start, end, 3.0 + t) for t in (0, 1)),
        ),
    )


def history(n_hydros, first_year, last_year):
    """A record of every month and hydro."""
    months = np.arange(f"{first_year}-01", f"{last_year + 1}-02", dtype="datetime64[M]")
    days = months.astype("datetime64[D]").astype(np.int64)
    n = len(days) - 1
    values = np.random.default_rng(3).uniform(2.0, 20.0, size=(n_hydros, n))
    return InflowRecords(
        np.repeat(np.arange(n_hydros), n),
        np.tile(days[:-1], n_hydros),
        np.tile(days[1:], n_hydros),
        values.ravel(),
    )


def split_cases():
    """Seven passes: no number of ranks here divides them, and nine ranks leave two without work."""
    risk = RiskMeasure(weight=0.5, tail=0.4)
    of_stages = [StageSpec((200.0, 100.0), n, discount=0.97, risk=risk) for n in (2, 5, 4, 3)]
    price = {"costs": {"negative_inflow": 30.0}}
    lags = {"lags": [0.5, 0.2], "residual_ratio": 0.8, "past": [12.0, 9.0], **price}
    level1 = CutSelection("level1", check_frequency=3, max_active_per_stage=40)
    domination = CutSelection("domination", check_frequency=4)
    rules = (IterationLimit(60), BoundStalling(4, 1e-5))
    pay = {"non_negativity": "penalty"}
    return {
        "sampled": sampled(7),
        "historical": historical(7),
        "linked": linked(7),
        "level1": study(
            of_stages,
            hydro=lags,
            load_std=4.0,
            training=replace(settings(12, 7), cut_selection=level1),
            **pay,
        ),
        "domination": study(
            of_stages,
            hydro=price,
            source_std=0.2,
            training=replace(settings(9, 7), cut_selection=domination),
            **pay,
        ),
        "multi-cut": study(
            of_stages, hydro=lags, load_std=4.0, training=settings(8, 7, is_multi_cut=True), **pay
        ),
        "stalling": study(
            of_stages,
            hydro=lags,
            non_negativity="truncation",
            training=replace(settings(1, 7), stopping_rules=rules),
        ),
    }


def digests(comm, threads=1):
    """Of all of them, trained on this group."""
    return {name: digest(train(comm, case, threads=threads)) for name, case in split_cases().items()}


def digests_with_shared_cuts(comm):
    """The same, where ranks share the memory of all cuts, however few."""
    cobre.sddp.cuts.SHARED_FROM_BYTES = 1  # of this process
    return digests(comm)

"""Random studies with everything that links stages in time, against their whole scenario tree as one program."""

from __future__ import annotations

import pytest

import cobre
from format_018.plans import Optimum, draw
from format_018.small import Case018
from matrices import IS_SOAK
from simulation.public_columns import UNDER_WAY
from simulation.test_columns import assert_columns

SEEDS = range(100) if IS_SOAK else range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_of_a_random_study_is_its_optimum(tmp_path, seed):
    plan = draw(seed)
    found = cobre.train(plan.write(tmp_path / "case")).final_lower_bound
    assert found == pytest.approx(Optimum(plan).value(), rel=1e-6)


def files_of(folder):
    """Bytes of every table of a simulation but those of solvers, which hold times."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*.parquet"))
        if "solver/" not in str(path)
    }


@pytest.mark.few(1)
@pytest.mark.parametrize("layout", ["by_scenario", "by_table"])
def test_tables_do_not_depend_on_who_computes_them(tmp_path, layout):
    seed = next(
        seed
        for seed in range(100)
        if any((plan := draw(seed)).is_chronological)
        and any(river.hours for river in plan.rivers)
        and any(fuel.is_ahead for fuel in plan.fuels)
    )
    case = draw(seed).write(tmp_path / "case")
    policy = cobre.train(case).policy
    settings = {"exports": {"layout": layout}, "simulation": {"io_channel_capacity": 3}}
    for name, ranks in (("alone", {}), ("apart", {"num_workers": 2, "backend": "shm"})):
        cobre.simulate(case, policy, scenarios=7, output=tmp_path / name, config_overrides=settings, **ranks)
    assert files_of(tmp_path / "alone") == files_of(tmp_path / "apart")
    for table, text in UNDER_WAY.items():
        (path, *_) = sorted((tmp_path / "alone" / "simulation" / table).rglob("*.parquet"))
        assert_columns(path, text)


def test_money_that_is_earned_later_lowers_the_floor_of_the_future(tmp_path):
    # 100 MW that must run and earn 5 $/MWh, of which 50 MW are too much at 0.01: January to March, 2160 hours.
    case = Case018([[744.0], [672.0], [744.0]], [50.0])
    case.documents["penalties.json"]["non_controllable_source"]["curtailment_cost"] = 5.0
    case.add_source(100.0, allow_curtailment=False)
    found = cobre.train(case.write(tmp_path / "case"))
    assert found.final_lower_bound == pytest.approx(-1_078_920.0)


def test_the_seeds_cover_every_element():
    plans = [draw(seed) for seed in SEEDS]
    assert sum(any(plan.is_chronological) for plan in plans) >= 3
    assert sum(any(river.hours for river in plan.rivers) for plan in plans) >= 3
    assert sum(any(river.leaves is not None for river in plan.rivers) for plan in plans) >= 1
    assert sum(any(fuel.stages for fuel in plan.fuels) for plan in plans) >= 2
    assert sum(any(fuel.hours for fuel in plan.fuels) for plan in plans) >= 2
    assert sum(any(fuel.after for fuel in plan.fuels) for plan in plans) >= 2

"""Production planes and the soft limits of hydros in each block."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.errors import ValidationError
from sddp.cases import hydros_beside_fuel
from sddp.specs import UNIT_HOURS, HydroSpec
from sddp.subproblem.dense import solve_stage

H = UNIT_HOURS


def plant(stages=1, hours=H, load=100.0, **hydro):
    return hydros_beside_fuel(HydroSpec(**hydro), load=load, stages=stages, hours=hours)


def test_power_stays_below_every_plane():
    # 20 m3/s available: plane 0 gives 2 + 20, plane 1 gives 10 + 0.5 * 20 = 20.
    case = plant(initial=20.0, planes=[(2.0, 0.0, 1.0, 0.0), (10.0, 0.0, 0.5, 0.0)])
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx(80 * 10 * H)
    assert found.value(problem.columns.hydro.generation).item() == pytest.approx(20.0)


def test_planes_use_the_mean_of_both_storages():
    # g = 0.1 (v + 40) / 2 + q with q = 40 - v: emptying gives 42, and each hm3 kept loses 0.95.
    case = plant(initial=40.0, planes=[(0.0, 0.1, 1.0, 0.0)])
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx((100 - 42) * 10 * H)
    assert found.dual(problem.rows.incoming_storage).item() == pytest.approx(-1.05 * 10 * H)


def test_spilled_water_lowers_the_head():
    case = plant(initial=100.0, inflow=30.0, max_turbined=10.0, planes=[(50.0, 0.0, 1.0, -0.5)])
    _, found = solve_stage(case)
    assert found.objective == pytest.approx((100 - (50 + 10 - 0.5 * 20)) * 10 * H)


def test_turbined_water_has_a_price_with_planes_and_without():
    costs = {"turbined": 3.0}
    with_planes = plant(initial=20.0, planes=[(0.0, 0.0, 1.0, 0.0)], costs=costs)
    assert solve_stage(with_planes)[1].objective == pytest.approx((80 * 10 + 20 * 3) * H)
    without = plant(initial=20.0, costs=costs)
    assert solve_stage(without)[1].objective == pytest.approx((80 * 10 + 20 * 3) * H)


def test_generators_limit_power_not_flow_with_planes():
    case = plant(initial=50.0, max_generation=15.0, max_turbined=40.0, planes=[(0.0, 0.0, 1.0, 0.0)])
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx(85 * 10 * H)
    bounds = problem.template.column_upper
    assert bounds[problem.columns.hydro.turbined].item() == 40.0
    assert bounds[problem.columns.hydro.generation].item() == 15.0


def test_one_stage_may_use_planes_and_another_a_productivity():
    case = plant(stages=2, initial=20.0, productivity=0.5, planes=([(5.0, 0.0, 1.0, 0.0)], []))
    costs = [solve_stage(case, stage)[1].objective for stage in (0, 1)]
    assert costs == pytest.approx([(100 - 25) * 10 * H, (100 - 10) * 10 * H])


def test_planes_hold_in_every_block():
    case = plant(initial=20.0, hours=[0.5 * H, 0.5 * H], planes=[(4.0, 0.0, 1.0, 0.0), (12.0, 0.0, 0.5, 0.0)])
    problem, found = solve_stage(case)
    # 40 block flows are shared; the second plane binds beyond 16, so both blocks turbine 20 and give 22.
    assert found.value(problem.columns.hydro.generation).sum() == pytest.approx(44.0)
    assert found.objective == pytest.approx((100 - 22) * 10 * H)


def test_a_plant_with_planes_feeds_the_plant_below():
    above = HydroSpec(initial=20.0, planes=[(1.0, 0.0, 1.0, 0.0)], downstream=1)
    case = hydros_beside_fuel(above, HydroSpec())
    assert solve_stage(case)[1].objective == pytest.approx((100 - 21 - 20) * 10 * H)


def test_too_little_turbined_is_paid_per_block():
    case = plant(initial=6.0, min_turbined=8.0, hours=[0.5 * H, 0.5 * H], costs={"turbined_below": 2.0})
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx(((100 - 6) * 10 + 2 * 2) * H)
    assert found.value(problem.columns.hydro.turbined_below).sum() == pytest.approx(4.0)


def test_too_little_outflow_is_paid_and_spilled_water_counts():
    case = plant(
        initial=30.0, max_turbined=5.0, min_outflow=20.0, costs={"outflow_below": 7.0, "spillage": 1.0}
    )
    assert solve_stage(case)[1].objective == pytest.approx((95 * 10 + 15 * 1) * H)
    dear = plant(
        initial=30.0, max_turbined=5.0, min_outflow=20.0, costs={"outflow_below": 7.0, "spillage": 9.0}
    )
    problem, found = solve_stage(dear)
    assert found.objective == pytest.approx((95 * 10 + 15 * 7) * H)
    assert found.value(problem.columns.hydro.outflow_below).item() == pytest.approx(15.0)


def test_diverted_water_counts_as_outflow():
    def case(limit):
        above = HydroSpec(initial=30.0, max_turbined=0.0, diversion=1, max_diversion=25.0, **limit)
        return hydros_beside_fuel(above, HydroSpec(productivity=0.0))

    least = {"min_outflow": 20.0, "costs": {"outflow_below": 7.0, "diversion": 0.5, "spillage": 9.0}}
    assert solve_stage(case(least))[1].objective == pytest.approx((1000 + 20 * 0.5) * H)
    most = {"max_outflow": 20.0, "min_storage": 0.0, "max_storage": 5.0}
    most["costs"] = {"outflow_above": 7.0, "spillage": 9.0}
    assert solve_stage(case(most))[1].objective == pytest.approx((1000 + 5 * 7) * H)


def test_too_much_outflow_is_paid_where_a_limit_is_given():
    case = plant(initial=30.0, max_outflow=20.0, costs={"outflow_above": 4.0})
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx((70 * 10 + 10 * 4) * H)
    assert found.value(problem.columns.hydro.outflow_above).item() == pytest.approx(10.0)
    assert solve_stage(plant(initial=30.0))[0].columns.hydro.outflow_above.tolist() == [[-1]]


def test_no_outflow_at_all_may_be_asked_for():
    _, found = solve_stage(plant(initial=30.0, max_outflow=0.0, costs={"outflow_above": 40.0}))
    assert found.objective == pytest.approx(1000 * H)


@pytest.mark.parametrize("stage", [0, 1])
def test_the_least_power_uses_the_productivity_of_the_stage(stage):
    case = plant(
        stages=2, initial=5.0, productivity=[1.0, 2.0], min_generation=12.0, costs={"generation_below": 3.0}
    )
    power = [5.0, 10.0][stage]
    problem, found = solve_stage(case, stage)
    assert found.objective == pytest.approx(((100 - power) * 10 + (12 - power) * 3) * H)
    assert found.value(problem.columns.hydro.generation_below).item() == pytest.approx(12 - power)


def test_the_least_power_of_a_plant_with_planes():
    case = plant(
        initial=5.0, planes=[(1.0, 0.0, 1.0, 0.0)], min_generation=10.0, costs={"generation_below": 3.0}
    )
    assert solve_stage(case)[1].objective == pytest.approx((94 * 10 + 4 * 3) * H)


def test_soft_limits_and_their_costs_vary_by_stage():
    case = plant(
        stages=2,
        min_turbined=[2.0, 0.0],
        min_outflow=[0.0, 3.0],
        costs={"turbined_below": [5.0, 1.0], "outflow_below": [1.0, 7.0]},
    )
    assert [solve_stage(case, t)[1].objective for t in (0, 1)] == pytest.approx([1010 * H, 1021 * H])


def test_limits_are_felt_at_the_hours_of_their_block():
    case = plant(hours=[1.0, 3.0], min_turbined=2.0, costs={"turbined_below": 5.0})
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx(100 * 10 * 4 + 2 * 5 * 4)
    assert np.all(found.value(problem.columns.hydro.turbined_below) == 2.0)


def test_a_plant_that_cannot_make_power_is_named():
    case = plant(stages=2, productivity=[1.0, float("nan")])
    with pytest.raises(ValidationError, match=r"hydro 0 \(H0\) has neither .* in stage 1"):
        solve_stage(case)

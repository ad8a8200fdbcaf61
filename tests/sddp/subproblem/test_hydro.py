"""Water: reservoirs, cascades, canals, pumps, evaporation, withdrawal. One m3/s during a stage is one hm3."""

from __future__ import annotations

import numpy as np
import pytest

from sddp.cases import hydros_beside_fuel, make_case
from sddp.specs import UNIT_HOURS, BusSpec, HydroSpec, PumpSpec, ThermalSpec
from sddp.subproblem.dense import solve_stage

H = UNIT_HOURS


def one_plant(load=100.0, thermal_cost=10.0, stages=1, hours=H, **hydro):
    """Whatever the plant does not give is made by a thermal at ``thermal_cost``; see :func:`thermal_mw`."""
    rest = {key: hydro.pop(key) for key in ("non_negativity",) if key in hydro}
    return hydros_beside_fuel(
        HydroSpec(**hydro), load=load, cost=thermal_cost, stages=stages, hours=hours, **rest
    )


def test_stored_and_flowing_water_replaces_fuel():
    problem, found = solve_stage(one_plant(initial=30.0, inflow=20.0, productivity=0.8))
    assert found.objective == pytest.approx((100 - 50 * 0.8) * 10 * H)
    assert found.value(problem.columns.state.storage).item() == pytest.approx(0.0)
    assert found.dual(problem.rows.incoming_storage).item() == pytest.approx(-0.8 * 10 * H)


def test_volume_follows_the_hours_of_the_blocks():
    case = one_plant(initial=36.0, inflow=5.0, hours=[400.0, 600.0])
    problem, found = solve_stage(case)
    flow = found.value(problem.columns.hydro.turbined)[0]
    assert 0.0036 * (400 * flow[0] + 600 * flow[1]) == pytest.approx(36.0 + 5.0 * 3.6)
    assert found.objective == pytest.approx(10 * (100 * 1000 - 36.0 / 0.0036 - 5.0 * 1000))


@pytest.mark.parametrize(("stage", "productivity"), [(0, 0.5), (1, 2.0)])
def test_productivity_may_change_by_stage(stage, productivity):
    case = one_plant(stages=2, initial=10.0, productivity=[0.5, 2.0])
    assert solve_stage(case, stage)[1].objective == pytest.approx((100 - 10 * productivity) * 10 * H)


def test_turbines_have_a_hard_limit_per_block():
    problem, found = solve_stage(one_plant(initial=80.0, max_turbined=25.0))
    assert found.objective == pytest.approx(75 * 10 * H)
    assert found.value(problem.columns.state.storage).item() == pytest.approx(55.0)


def test_generators_limit_the_flow_through_the_stages_productivity():
    case = one_plant(stages=2, initial=80.0, max_generation=30.0, productivity=[1.0, 2.0])
    flows = []
    for stage in (0, 1):
        problem, found = solve_stage(case, stage)
        flows.append(found.value(problem.columns.hydro.turbined).item())
    assert flows == pytest.approx([30.0, 15.0])


def test_storage_stays_within_hard_bounds_of_the_stage():
    case = one_plant(stages=2, initial=50.0, min_storage=[10.0, 20.0], max_storage=[60.0, 40.0], load=1000.0)
    assert [solve_stage(case, stage)[1].objective for stage in (0, 1)] == pytest.approx(
        [(1000 - 40) * 10 * H, (1000 - 30) * 10 * H]
    )


def test_excess_water_is_spilled_at_its_price():
    case = one_plant(initial=90.0, inflow=40.0, max_turbined=10.0, costs={"spillage": 0.25})
    problem, found = solve_stage(case)
    assert found.value(problem.columns.hydro.spillage).item() == pytest.approx(20.0)
    assert found.objective == pytest.approx((90 * 10 + 20 * 0.25) * H)


def test_released_water_reaches_the_plant_below():
    case = hydros_beside_fuel(
        HydroSpec(initial=12.0, max_turbined=8.0, downstream=1), HydroSpec(initial=3.0, productivity=0.5)
    )
    problem, found = solve_stage(case)
    # 8 turbined and 4 spilled above; 15 turbined below at half the productivity.
    assert found.objective == pytest.approx((100 - 8 - 7.5) * 10 * H)
    assert found.value(problem.columns.hydro.spillage).ravel() == pytest.approx([4.0, 0.0])
    duals = found.dual(problem.rows.incoming_storage)
    assert duals == pytest.approx([-0.5 * 10 * H, -0.5 * 10 * H])


def test_two_plants_may_flow_into_one():
    case = hydros_beside_fuel(
        HydroSpec(initial=5.0, productivity=0.0),
        HydroSpec(initial=7.0, productivity=0.0, downstream=2),
        HydroSpec(downstream=None),
        HydroSpec(initial=9.0, productivity=0.0, downstream=2),
    )
    assert solve_stage(case)[1].objective == pytest.approx((100 - 16) * 10 * H)


def diverting(**hydro):
    """A plant without turbines above; its canal leads to a better plant than its river."""
    return hydros_beside_fuel(
        HydroSpec(initial=20.0, max_turbined=0.0, downstream=1, diversion=2, **hydro),
        HydroSpec(productivity=0.25),
        HydroSpec(productivity=1.0),
    )


def test_a_canal_takes_water_elsewhere_up_to_its_limit():
    problem, found = solve_stage(diverting(max_diversion=12.0))
    assert found.value(problem.columns.hydro.diversion)[:, 0] == pytest.approx([12.0, 0.0, 0.0])
    assert found.objective == pytest.approx((100 - 12 - 8 * 0.25) * 10 * H)


def test_diverted_water_has_a_price():
    cheap, dear = ({"costs": {"diversion": price}, "max_diversion": 12.0} for price in (2.0, 8.0))
    assert solve_stage(diverting(**cheap))[1].objective == pytest.approx(((100 - 12 - 2) * 10 + 24) * H)
    assert solve_stage(diverting(**dear))[1].objective == pytest.approx((100 - 20 * 0.25) * 10 * H)


def test_withdrawn_water_is_lost_for_turbines():
    costs = {"withdrawal_below": 50.0, "withdrawal_above": 50.0}
    _, found = solve_stage(one_plant(initial=30.0, withdrawal=4.0, costs=costs))
    assert found.objective == pytest.approx((100 - 26) * 10 * H)


def test_a_withdrawal_may_fall_short_at_a_price():
    dry = one_plant(initial=1.0, withdrawal=4.0, costs={"withdrawal_below": 50.0})
    problem, found = solve_stage(dry)
    assert found.objective == pytest.approx((100 * 10 + 3 * 50) * H)
    assert found.value(problem.columns.hydro.withdrawal_below).item() == pytest.approx(3.0)


def test_a_withdrawal_may_exceed_its_plan_at_a_price():
    full = one_plant(
        initial=100.0,
        inflow=10.0,
        withdrawal=4.0,
        max_turbined=0.0,
        costs={"withdrawal_above": 2.0, "spillage": 3.0},
    )
    problem, found = solve_stage(full)
    assert found.objective == pytest.approx((100 * 10 + 6 * 2) * H)
    assert found.value(problem.columns.hydro.withdrawal_above).item() == pytest.approx(6.0)


def test_without_a_withdrawal_there_is_nothing_to_violate():
    problem, _ = solve_stage(one_plant(stages=2, withdrawal=[0.0, 1.0]), stage=0)
    assert problem.columns.hydro.withdrawal_above.tolist() == [-1]
    assert problem.columns.hydro.withdrawal_below.tolist() == [-1]


STRICT = {"evaporation_above": 1e4, "evaporation_below": 1e4}


def test_evaporation_follows_the_mean_of_both_storages():
    # Q = 2 + 0.1 (v + 60) / 2 and v = 60 - Q with nothing turbined: Q = 8 - 0.05 Q.
    problem, found = solve_stage(
        one_plant(initial=60.0, max_turbined=0.0, evaporation=(2.0, 0.1), costs={**STRICT, "spillage": 1.0})
    )
    assert found.value(problem.columns.hydro.evaporation).item() == pytest.approx(8 / 1.05)
    assert found.value(problem.columns.state.storage).item() == pytest.approx(60 - 8 / 1.05)


def test_evaporation_takes_water_from_turbines():
    # All water leaves: q = 60 - Q with Q = 2 + 0.1 (0 + 60) / 2 = 5.
    _, found = solve_stage(one_plant(initial=60.0, evaporation=(2.0, 0.1), costs=STRICT))
    assert found.objective == pytest.approx((100 - 55) * 10 * H)


def test_evaporating_less_than_the_formula_has_its_price_and_a_limit():
    problem, found = solve_stage(
        one_plant(
            initial=60.0, evaporation=(5.0, 0.0), costs={"evaporation_below": 3.0, "evaporation_above": 1e4}
        )
    )
    # At most twice what a full reservoir evaporates, as rain: 15 below the formula.
    assert found.objective == pytest.approx(((100 - 70) * 10 + 15 * 3) * H)
    assert found.value(problem.columns.hydro.evaporation_below).item() == pytest.approx(15.0)


def test_rain_on_the_lake_is_water():
    problem, found = solve_stage(one_plant(initial=60.0, evaporation=(-4.0, -0.05), costs=STRICT))
    # All water leaves: Q = -4 - 0.05 (0 + 60) / 2 = -5.5, within twice the 9 of a full reservoir.
    assert found.value(problem.columns.hydro.evaporation).item() == pytest.approx(-5.5)
    assert found.objective == pytest.approx((100 - 65.5) * 10 * H)


def test_evaporating_more_than_the_formula_has_its_price_and_a_limit():
    spec = {"initial": 100.0, "inflow": 30.0, "max_turbined": 0.0, "evaporation": (5.0, 0.0)}
    costs = {"evaporation_above": 3.0, "evaporation_below": 1e4, "spillage": 4.0}
    problem, found = solve_stage(one_plant(**spec, costs=costs))
    # At most twice what a full reservoir evaporates: 5 above the formula, the other 20 are spilled.
    assert found.value(problem.columns.hydro.evaporation_above).item() == pytest.approx(5.0)
    assert found.objective == pytest.approx((100 * 10 + 5 * 3 + 20 * 4) * H)


def test_evaporation_varies_by_stage():
    case = one_plant(stages=2, initial=60.0, evaporation=([2.0, 7.0], [0.1, 0.0]), costs=STRICT)
    found = [solve_stage(case, stage)[1].objective for stage in (0, 1)]
    assert found == pytest.approx([(100 - 55) * 10 * H, (100 - 53) * 10 * H])


def test_negative_inflow_without_remedy_drains_the_reservoir():
    _, found = solve_stage(one_plant(initial=30.0, inflow=-5.0))
    assert found.objective == pytest.approx(75 * 10 * H)
    with pytest.raises(RuntimeError, match="Infeasible"):
        solve_stage(one_plant(initial=3.0, inflow=-5.0))


@pytest.mark.parametrize("method", ["penalty", "truncation_with_penalty"])
def test_missing_inflow_can_be_bought(method):
    case = one_plant(initial=3.0, inflow=-5.0, costs={"negative_inflow": 400.0}, non_negativity=method)
    problem, found = solve_stage(case)
    assert found.objective == pytest.approx((100 * 10 + 2 * 400) * H)
    assert found.value(problem.columns.hydro.negative_inflow).item() == pytest.approx(2.0)


@pytest.mark.parametrize("method", ["none", "truncation"])
def test_inflow_cannot_be_bought_without_a_penalty_method(method):
    problem, _ = solve_stage(one_plant(non_negativity=method))
    assert problem.columns.hydro.negative_inflow.tolist() == [-1]


def pumped(hours=H, **pump):
    """Water below is worth nothing until it is lifted to the plant above."""
    return make_case(
        buses=[BusSpec(load=100.0), BusSpec()],
        thermals=[ThermalSpec(max_mw=1e4, cost=10.0), ThermalSpec(max_mw=1e4, cost=5.0, bus=1)],
        hydros=[HydroSpec(initial=50.0, productivity=0.0), HydroSpec(productivity=2.0)],
        pumps=[PumpSpec(source=0, destination=1, **pump)],
        hours=hours,
    )


def test_a_pump_lifts_water_for_power_at_its_bus():
    problem, found = solve_stage(pumped(max_flow=20.0, consumption=0.5, bus=1))
    assert found.objective == pytest.approx(((100 - 40) * 10 + 20 * 0.5 * 5) * H)
    assert found.value(problem.columns.network.pumping).item() == pytest.approx(20.0)
    assert found.value(problem.columns.state.storage)[0] == pytest.approx(30.0)


def test_a_pump_stands_still_where_it_does_not_pay():
    _, found = solve_stage(pumped(max_flow=20.0, consumption=2.5))
    assert found.objective == pytest.approx(100 * 10 * H)


def test_the_least_flow_of_a_pump_is_hard():
    _, found = solve_stage(pumped(max_flow=20.0, min_flow=3.0, consumption=2.5))
    assert found.objective == pytest.approx((100 - 6 + 7.5) * 10 * H)


def test_pumps_work_per_block():
    problem, found = solve_stage(pumped(hours=[0.25 * H, 0.75 * H], max_flow=20.0))
    assert found.value(problem.columns.network.pumping) == pytest.approx(np.array([[20.0, 20.0]]))
    assert found.objective == pytest.approx((100 - 40) * 10 * H)


def test_pump_limits_vary_by_stage():
    case = make_case(
        2,
        buses=[BusSpec(load=100.0)],
        thermals=[ThermalSpec(cost=10.0)],
        hydros=[HydroSpec(initial=50.0, productivity=0.0), HydroSpec()],
        pumps=[PumpSpec(max_flow=[4.0, 6.0], min_flow=[0.0, 6.0])],
        hours=H,
    )
    assert [solve_stage(case, t)[1].objective for t in (0, 1)] == pytest.approx([960 * H, 940 * H])

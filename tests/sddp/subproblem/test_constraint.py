"""Generic constraints: what each variable name means, senses, slacks, blocks and stages."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.errors import ValidationError
from cobre.sddp.subproblem.constraint import MEANINGS
from sddp.cases import make_case
from sddp.specs import (
    UNIT_HOURS,
    BusSpec,
    ConstraintSpec,
    ContractSpec,
    HydroSpec,
    LineSpec,
    PumpSpec,
    SourceSpec,
    ThermalSpec,
)
from sddp.subproblem.dense import solve_stage

H = UNIT_HOURS


def rich_case(constraints, stages=1, hours=(0.5 * H, 0.5 * H)):
    """Everything at once, so that every variable can take a range of values in either block."""
    return make_case(
        stages,
        buses=[
            BusSpec(load=60.0, deficit=[(30.0, 80.0), (None, 200.0)], excess_cost=1.0),
            BusSpec(load=30.0, deficit=[(5.0, 90.0), (None, 300.0)], excess_cost=1.0),
        ],
        thermals=[ThermalSpec(max_mw=20.0, cost=10.0), ThermalSpec(max_mw=40.0, cost=30.0, bus=1)],
        lines=[LineSpec(direct_mw=20.0, reverse_mw=20.0, cost=0.5, losses_percent=5.0)],
        hydros=[
            HydroSpec(
                initial=50.0,
                inflow=10.0,
                max_turbined=20.0,
                productivity=0.8,
                downstream=1,
                diversion=2,
                max_diversion=20.0,
                withdrawal=3.0,
                evaporation=(2.0, 0.02),
                costs={
                    "evaporation_above": 15.0,
                    "evaporation_below": 15.0,
                    "withdrawal_above": 25.0,
                    "withdrawal_below": 25.0,
                    "spillage": 0.1,
                    "diversion": 0.2,
                },
            ),
            HydroSpec(
                initial=40.0, max_turbined=30.0, planes=[(1.0, 0.01, 0.9, -0.01), (6.0, 0.0, 0.6, 0.0)], bus=1
            ),
            HydroSpec(initial=5.0, inflow=2.0, max_turbined=10.0),
        ],
        sources=[SourceSpec(installed=12.0, cost=2.0, factor=list([1.0, 0.5] * stages))],
        pumps=[PumpSpec(source=2, destination=1, max_flow=8.0, consumption=0.7)],
        contracts=[
            ContractSpec(price=25.0, max_mw=10.0),
            ContractSpec(price=-12.0, max_mw=10.0, is_import=False, bus=1),
        ],
        constraints=constraints,
        hours=list(hours),
    )


def meanings(case, problem, found):
    """``[entity, block]`` of each variable, computed from the solution as the case format describes it."""
    columns, blocks = problem.columns, len(case.horizon.stages[problem.stage].blocks)
    hydro, network = columns.hydro, columns.network
    factor = case.tables.non_controllable.factor[:, case.horizon.blocks_of(problem.stage)]
    deficit = np.zeros((len(case.system.buses), blocks))
    for segment, bus in enumerate(network.deficit_bus):
        deficit[bus] += found.value(network.deficit[segment])

    def whole_stage(values):
        return np.repeat(values[:, None], blocks, axis=1)

    own = found.value(network.non_controllable)
    withdrawn = (
        case.tables.hydro.withdrawal_m3s[:, problem.stage]
        + found.value(hydro.withdrawal_above)
        - found.value(hydro.withdrawal_below)
    )
    power = found.value(hydro.turbined) * np.array([0.8, np.nan, 1.0])[:, None]
    power[1] = found.value(hydro.generation[1])
    arriving = whole_stage(found.value(columns.state.inflow))
    arriving[1] += found.value(hydro.turbined[0]) + found.value(hydro.spillage[0])
    arriving[2] += found.value(hydro.diversion[0])
    return {
        "hydro_storage": whole_stage(found.value(columns.state.storage)),
        "hydro_storage_final": whole_stage(found.value(columns.state.storage)),
        "hydro_useful_volume_final": whole_stage(found.value(columns.state.storage)),
        "hydro_inflow": arriving,
        "hydro_evaporation": whole_stage(found.value(hydro.evaporation)),
        "hydro_withdrawal": whole_stage(withdrawn),
        "hydro_turbined": found.value(hydro.turbined),
        "hydro_spillage": found.value(hydro.spillage),
        "hydro_diversion": found.value(hydro.diversion),
        "hydro_outflow": found.value(hydro.turbined) + found.value(hydro.spillage),
        "hydro_generation": power,
        "thermal_generation": found.value(network.thermal),
        "line_direct": found.value(network.line_direct),
        "line_reverse": found.value(network.line_reverse),
        "line_exchange": found.value(network.line_direct) - found.value(network.line_reverse),
        "bus_deficit": deficit,
        "bus_excess": found.value(network.excess),
        "pumping_flow": found.value(network.pumping),
        "pumping_power": 0.7 * found.value(network.pumping),
        "contract_import": found.value(network.contract) * np.array([[1.0], [0.0]]),
        "contract_export": found.value(network.contract) * np.array([[0.0], [1.0]]),
        "non_controllable_generation": own,
        "non_controllable_curtailment": 12.0 * factor - own,
    }


PINNED = [
    ("hydro_storage", 0, 45.0),
    ("hydro_storage_final", 0, 45.0),
    ("hydro_useful_volume_final", 0, 45.0),
    ("hydro_inflow", 1, 17.0),
    ("hydro_evaporation", 0, 1.0),
    ("hydro_withdrawal", 0, 4.5),
    ("hydro_withdrawal", 0, 1.5),
    ("hydro_turbined", 0, 7.0),
    ("hydro_spillage", 0, 3.0),
    ("hydro_diversion", 0, 18.0),
    ("hydro_outflow", 0, 23.0),
    ("hydro_generation", 0, 9.0),
    ("hydro_generation", 1, 11.0),
    ("thermal_generation", 1, 13.0),
    ("line_direct", 0, 4.0),
    ("line_reverse", 0, 3.0),
    ("line_exchange", 0, -6.0),
    ("bus_deficit", 0, 33.0),
    ("bus_excess", 1, 2.0),
    ("pumping_flow", 0, 2.0),
    ("pumping_power", 0, 2.1),
    ("contract_import", 0, 3.0),
    ("contract_export", 1, 4.0),
    ("non_controllable_generation", 0, 5.5),
    ("non_controllable_curtailment", 0, 5.5),
]


def test_every_variable_is_tried():
    given = {"hydro_storage_initial", "hydro_useful_volume_initial"}  # cannot be moved
    given.add("anticipated_decision")  # tests/format_018/test_lead_times.py: no thermal here is decided ahead
    assert {name for name, *_ in PINNED} == set(MEANINGS) - given


@pytest.mark.parametrize(("variable", "entity", "value"), PINNED)
def test_a_hard_equality_pins_the_variable_it_names(variable, entity, value):
    free = rich_case([])
    problem, found = solve_stage(free)
    assert meanings(free, problem, found)[variable][entity, 1] != pytest.approx(value), "nothing to pin"

    case = rich_case([ConstraintSpec([(2.0, variable, entity)], "==", bounds=[(0, 1, 2.0 * value)])])
    problem, pinned = solve_stage(case)
    assert meanings(case, problem, pinned)[variable][entity, 1] == pytest.approx(value)
    assert pinned.objective > found.objective

    # A unit of the bound costs what its dual says.
    step = 1e-4
    moved = rich_case([ConstraintSpec([(2.0, variable, entity)], "==", bounds=[(0, 1, 2.0 * value + step)])])
    slope = (solve_stage(moved)[1].objective - pinned.objective) / step
    assert pinned.dual(problem.rows.constraint).item() == pytest.approx(slope, rel=1e-3, abs=1e-3)


def test_contracts_have_no_part_in_the_other_direction():
    case = rich_case([ConstraintSpec([(1.0, "contract_import", 1), (1.0, "contract_export", 0)], "<=", 0.0)])
    assert solve_stage(case)[1].objective == pytest.approx(solve_stage(rich_case([]))[1].objective)


def one_thermal(constraint, load=50.0, hours=1.0, stages=1):
    return make_case(
        stages,
        buses=[BusSpec(load=load, deficit=[(None, 100.0)])],
        thermals=[ThermalSpec(max_mw=100.0, cost=10.0)],
        constraints=[constraint],
        hours=hours,
    )


THERMAL = [(1.0, "thermal_generation", 0)]


@pytest.mark.parametrize(
    ("sense", "bound", "penalty", "cost"),
    [
        ("<=", 30.0, None, 30 * 10 + 20 * 100),
        ("<=", 30.0, 5.0, 50 * 10 + 20 * 5),
        ("<=", 30.0, 95.0, 30 * 10 + 20 * 100),
        (">=", 60.0, None, 60 * 10),
        (">=", 60.0, 4.0, 50 * 10 + 10 * 4),
        ("==", 30.0, None, 30 * 10 + 20 * 100),
        ("==", 30.0, 5.0, 50 * 10 + 20 * 5),
        ("==", 60.0, 4.0, 50 * 10 + 10 * 4),
    ],
)
def test_senses_and_slacks(sense, bound, penalty, cost):
    case = one_thermal(ConstraintSpec(THERMAL, sense, bound, penalty), hours=2.0)
    assert solve_stage(case)[1].objective == pytest.approx(2.0 * cost)


def test_violations_are_reported_above_and_below():
    above = one_thermal(ConstraintSpec(THERMAL, "==", 30.0, 5.0))
    problem, found = solve_stage(above)
    assert found.value(problem.columns.constraint.above).tolist() == [20.0]
    assert found.value(problem.columns.constraint.below).tolist() == [0.0]
    below = one_thermal(ConstraintSpec(THERMAL, ">=", 60.0, 4.0))
    problem, found = solve_stage(below)
    assert problem.columns.constraint.above.tolist() == [-1]
    assert found.value(problem.columns.constraint.below).tolist() == [10.0]


def test_a_constraint_holds_only_where_it_has_a_bound():
    case = one_thermal(
        ConstraintSpec(THERMAL, "<=", bounds=[(1, 0, 30.0), (1, 1, 20.0), (2, 1, 10.0)]),
        hours=[1.0, 1.0],
        stages=3,
    )
    full, costs = 50 * 10, [solve_stage(case, stage)[1].objective for stage in range(3)]
    assert costs == pytest.approx(
        [2 * full, (30 * 10 + 20 * 100) + (20 * 10 + 30 * 100), full + (10 * 10 + 40 * 100)]
    )
    problem, _ = solve_stage(case, 2)
    assert problem.columns.constraint.constraint.tolist() == [0]
    assert problem.columns.constraint.block.tolist() == [1]


def test_slack_costs_the_hours_of_the_rows_block():
    case = one_thermal(ConstraintSpec(THERMAL, "<=", 30.0, 5.0), hours=[1.0, 3.0])
    problem, _ = solve_stage(case)
    assert problem.template.column_cost[problem.columns.constraint.above].tolist() == [5.0, 15.0]


def test_a_term_may_name_another_block_than_the_rows():
    terms = [(1.0, "thermal_generation", 0), (-1.0, "thermal_generation", 0, 0)]
    case = make_case(
        buses=[BusSpec(load=50.0, load_factor=[0.4, 1.0], deficit=[(None, 100.0)])],
        thermals=[ThermalSpec(max_mw=100.0, cost=10.0)],
        constraints=[ConstraintSpec(terms, "<=", bounds=[(0, 1, 12.0)])],
        hours=[1.0, 1.0],
    )
    problem, found = solve_stage(case)
    # One MW more in block 0 costs 10 and allows one more in block 1 instead of deficit.
    assert found.value(problem.columns.network.thermal).tolist() == [[38.0, 50.0]]


def test_terms_of_several_entities_add_up():
    case = make_case(
        buses=[BusSpec(load=50.0, deficit=[(None, 100.0)])],
        thermals=[ThermalSpec(cost=10.0), ThermalSpec(cost=20.0)],
        constraints=[
            ConstraintSpec([(2.0, "thermal_generation", 0), (0.5, "thermal_generation", 1)], "<=", 40.0)
        ],
    )
    # Both at once: a + b = 50 and 2 a + b / 2 = 40.
    _, found = solve_stage(case)
    assert found.objective == pytest.approx(10 * 10 + 20 * 40)


def test_the_same_variable_twice_counts_twice():
    case = one_thermal(ConstraintSpec(THERMAL * 2, "<=", 60.0))
    assert solve_stage(case)[1].objective == pytest.approx(30 * 10 + 20 * 100)


def test_curtailment_follows_the_available_power_of_each_solve():
    case = make_case(
        buses=[BusSpec(load=5.0, excess_cost=50.0)],
        sources=[SourceSpec(installed=20.0, cost=1.0), SourceSpec(installed=20.0, cost=0.5, factor=0.5)],
        constraints=[
            ConstraintSpec(
                [(1.0, "non_controllable_curtailment", 0), (2.0, "non_controllable_curtailment", 1)],
                ">=",
                9.0,
            )
        ],
    )
    problem, found = solve_stage(case, available=[6.0, 8.0])
    # Curtailed (6 - a) + 2 (4 - b) >= 9 with a + b <= 5: a = 5 leaves 1 + 8 >= 9 with b = 0.
    assert found.value(problem.columns.network.non_controllable).ravel() == pytest.approx([5.0, 0.0])
    tight = solve_stage(case, available=[5.0, 8.0])[1]
    assert tight.objective == pytest.approx(1000.0 - 4.0)  # one MW of deficit


def test_a_block_that_the_stage_does_not_have_is_named():
    case = one_thermal(ConstraintSpec([(1.0, "thermal_generation", 0, 3)], "<=", 1.0))
    with pytest.raises(ValidationError, match=r"'G0' refers to block 3 in stage 0, which has 1 block"):
        solve_stage(case)

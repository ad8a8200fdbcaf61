"""Hydrothermal problems from the literature, written as cases; their optima were computed independently."""

from __future__ import annotations

import pytest

from cobre.core.horizon import RiskMeasure
from sddp.cases import make_case
from sddp.specs import (
    UNIT_HOURS,
    BusSpec,
    ConstraintSpec,
    ContractSpec,
    HydroSpec,
    PumpSpec,
    StageSpec,
    ThermalSpec,
)
from sddp.trained import bounds, optimum, settings, trained

PER_UNIT = 0.0036
"""With blocks of 1 / 0.0036 hours a price of this much per MWh is one per unit."""


def reservoir(passes=1, iterations=20, stages=3, **others):
    """0 <= v <= 200 from 200; load 150; thermal at 50, 100, 150; inflow 0, 50 or 100."""
    return make_case(
        [StageSpec(UNIT_HOURS, 3, **others)] * stages,
        buses=[BusSpec(load=150.0, deficit=[(None, 1000.0)])],
        thermals=[ThermalSpec(max_mw=150.0, cost=[PER_UNIT * c for c in (50, 100, 150)])],
        hydros=[HydroSpec(initial=200.0, max_storage=200.0, inflow=50.0, inflow_std=50.0)],
        given_openings=[[[-1.0], [0.0], [1.0]]] * stages,
        training=settings(iterations, passes),
    )


def test_one_reservoir_three_stages():
    result = trained(reservoir())
    assert result.final_lower_bound == pytest.approx(25000 / 3, abs=1e-6)


def test_one_reservoir_with_several_passes():
    result = trained(reservoir(passes=4, iterations=10))
    assert result.final_lower_bound == pytest.approx(25000 / 3, abs=1e-6)


def test_one_reservoir_with_risk_aversion():
    case = reservoir(risk=RiskMeasure(weight=1.0, tail=1 / 3), iterations=40)
    result = trained(case)
    assert result.final_lower_bound == pytest.approx(optimum(case), rel=1e-9)
    assert result.final_lower_bound > 25000 / 3 + 100  # the worst opening alone counts


def stock(demands):
    """Stock from 0 to 100; buy up to 200 at 100, any more at 300; 50 per unit kept; each stage one of its demands.

    The stock is a reservoir that a pump fills from a lake that never ends; the demand is inflow below zero.
    """
    middle = [sum(d) / len(d) for d in demands]
    given = [[[0.0, (d - m) / -100.0] for d in ds] for ds, m in zip(demands, middle, strict=True)]
    return make_case(
        [StageSpec(UNIT_HOURS, len(d)) for d in demands],
        buses=[BusSpec(deficit=[(None, 300.0 * PER_UNIT)])],
        thermals=[ThermalSpec(max_mw=200.0, cost=100.0 * PER_UNIT)],
        hydros=[
            HydroSpec(initial=1e5, max_storage=1e5, max_turbined=0.0, costs={"spillage": 1e3}),
            HydroSpec(
                max_storage=100.0,
                max_turbined=0.0,
                inflow=[-m for m in middle],
                inflow_std=100.0,
                costs={"spillage": 1e3},
            ),
        ],
        pumps=[PumpSpec(source=0, destination=1, max_flow=1e3, consumption=1.0)],
        constraints=[ConstraintSpec([(1.0, "hydro_storage", 1)], "<=", 0.0, penalty=50.0 * PER_UNIT)],
        given_openings=given,
        training=settings(30, 2),
    )


def test_stock_over_three_stages():
    case = stock([(100.0,), (100.0, 300.0), (100.0, 300.0)])
    assert optimum(case) == pytest.approx(62500.0, rel=1e-9)
    assert trained(case).final_lower_bound == pytest.approx(62500.0, rel=1e-7)


def test_stock_over_a_year_of_weeks():
    case = stock([(100.0, 300.0)] * 52)
    result = trained(case)
    assert result.final_lower_bound == pytest.approx(1432500.0, rel=1e-6)


def cascade(inflows):
    """Two reservoirs 0..200 from 200, power concave in the flow, sold at 1, 2 and 3; inflow that need not be taken.

    Each reservoir gets its inflow through a weir above it, which may send water to the sea instead.
    """
    planes = [(0.0, 0.0, 1.1, 0.0), (5.0, 0.0, 1.0, 0.0), (35.0, 0.0, 0.5, 0.0)]
    plants = [
        HydroSpec(
            downstream=downstream,
            initial=200.0,
            max_storage=200.0,
            max_turbined=70.0,
            max_generation=70.0,
            planes=planes,
            costs={"spillage": 1000.0 * PER_UNIT},
        )
        for downstream in (1, None)
    ]
    weirs = [
        HydroSpec(
            downstream=plant,
            diversion=4,
            max_diversion=1e3,
            max_storage=0.0,
            productivity=0.0,
            inflow_std=1.0,
        )
        for plant in (0, 1)
    ]
    sea = HydroSpec(max_storage=0.0, productivity=0.0)
    return make_case(
        [StageSpec(UNIT_HOURS, len(of_stage)) for of_stage in inflows],
        buses=[BusSpec()],
        hydros=[*plants, *weirs, sea],
        contracts=[
            ContractSpec(price=[-PER_UNIT, -2 * PER_UNIT, -3 * PER_UNIT], max_mw=1e3, is_import=False)
        ],
        given_openings=[[(0.0, 0.0, *w, 0.0) for w in of_stage] for of_stage in inflows],
        training=settings(40, 2),
    )


@pytest.mark.parametrize(
    ("later", "expected"),
    [([(0.0, 0.0)], 835.0), ([(0.0, 0.0), (20.0, 0.0), (50.0, 20.0)], 2515.0 / 3)],
)
def test_cascade_that_sells(later, expected):
    case = cascade([[(0.0, 0.0)], later, later])
    assert optimum(case) == pytest.approx(-expected, abs=1e-6)
    result = trained(case)
    assert result.final_lower_bound == pytest.approx(-expected, abs=1e-4)
    assert all(bound <= -expected + 1e-6 for bound in bounds(result))

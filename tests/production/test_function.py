"""The exact power of a plant from forebay, tailrace, losses and efficiency."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.production.curve import Curve
from cobre.production.function import Losses, ProductionFunction
from cobre.production.tailrace import (
    BackwaterTailrace,
    PiecewiseTailrace,
    PolynomialTailrace,
    Segment,
    TailraceFamily,
)

FLAT_400 = Curve((0.0,), (400.0,))


def test_power_of_a_full_turbine():
    plant = ProductionFunction(
        FLAT_400, 3000.0, 1e9, PolynomialTailrace((0.0, 5.5 / 3000.0)), Losses(constant_m=2.0), 0.92
    )
    assert plant.power(0.0, 3000.0) == pytest.approx(10627.173, abs=1e-6)


def test_losses_as_a_share_of_the_gross_head():
    points = Curve((0.0, 5000.0, 15000.0), (3.0, 4.5, 6.2))
    plant = ProductionFunction(FLAT_400, 3000.0, 1e9, PiecewiseTailrace(points), Losses(factor=0.03))
    assert plant.net_head(0.0, 2500.0) == pytest.approx(384.3625, abs=1e-12)


def test_spill_raises_the_tail_water():
    plant = ProductionFunction(FLAT_400, 3000.0, 1e9, PolynomialTailrace((0.0, 0.01)))
    assert plant.power(0.0, 100.0) == pytest.approx(0.00981 * 100.0 * 399.0, rel=1e-14)
    assert plant.power(0.0, 100.0, 50.0) == pytest.approx(0.00981 * 100.0 * 398.5, rel=1e-14)


def test_tail_water_above_the_forebay_gives_no_power():
    plant = ProductionFunction(FLAT_400, 3000.0, 1e9, PolynomialTailrace((450.0,)))
    assert plant.power(0.0, 100.0) == 0.0


def test_without_tailrace_losses_and_efficiency_the_head_is_the_forebay():
    assert ProductionFunction(FLAT_400, 10.0, 1e9).power(0.0, 10.0) == pytest.approx(39.24, rel=1e-14)


LOW = TailraceFamily(310.0, (Segment(0.0, 100.0, (300.0, 0.1)), Segment(100.0, 400.0, (305.0, 0.05))))
HIGH = TailraceFamily(320.0, (Segment(0.0, 400.0, (308.0, 0.04, 0.0, 0.0, 0.0)),))


@pytest.mark.parametrize(
    ("level", "outflow", "height"),
    [
        (310.0, 50.0, 305.0),
        (310.0, 100.0, 310.0),  # both segments hold
        (310.0, 200.0, 315.0),
        (310.0, -5.0, 300.0),  # below the first segment
        (310.0, 900.0, 325.0),  # beyond the last one
        (320.0, 200.0, 316.0),
        (315.0, 200.0, 315.5),  # halfway between two levels
        (312.5, 200.0, 315.25),
        (290.0, 200.0, 315.0),  # below the lowest level
        (400.0, 200.0, 316.0),
        (None, 200.0, 315.0),  # unknown level: the lowest family
    ],
)
def test_backwater_families_are_interpolated_by_the_level_below(level, outflow, height):
    assert BackwaterTailrace((LOW, HIGH), level).height(outflow) == pytest.approx(height, abs=1e-12)


def test_a_single_family_needs_no_level():
    family = TailraceFamily(None, (Segment(0.0, 10.0, (1.0, 2.0, 3.0, 4.0, 5.0)),))
    assert BackwaterTailrace((family,), 99.0).height(2.0) == 1.0 + 4.0 + 12.0 + 32.0 + 80.0


def test_a_grid_of_powers_has_the_bits_of_single_ones():
    plant = ProductionFunction(
        Curve((0.0, 7.0, 31.0), (80.1, 93.3, 99.9)),
        57.0,
        1e9,
        PolynomialTailrace((1.3, 0.07, 0.0003)),
        Losses(0.031, 0.7),
        0.913,
    )
    volumes, flows = np.linspace(-1.0, 33.0, 13), np.linspace(0.0, 57.0, 11)
    grid = plant.power_grid(volumes, flows)
    assert grid.tolist() == [[plant.power(v, q) for q in flows.tolist()] for v in volumes.tolist()]

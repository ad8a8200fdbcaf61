"""Evaporation as a line over the volume."""

from __future__ import annotations

import datetime as dt

import pytest

from cobre.production.curve import Curve
from cobre.production.evaporation import fills_its_month, hours_of_month, linearise_evaporation

AREA = Curve((100.0, 200.0, 300.0, 400.0, 500.0), (1.0, 1.5, 2.0, 2.5, 3.0))


def test_five_millimetres_in_january():
    constant, slope = linearise_evaporation(AREA, 5.0, hours_of_month(dt.date(2025, 1, 1)), 300.0)
    assert slope == pytest.approx(9.333930704898e-6, rel=1e-12)
    assert constant == pytest.approx(9.333930704898e-4, rel=1e-12)


def test_rain_is_negative_evaporation():
    wet = linearise_evaporation(AREA, -5.0, 744.0, 300.0)
    dry = linearise_evaporation(AREA, 5.0, 744.0, 300.0)
    assert wet == (-dry[0], -dry[1])


@pytest.mark.parametrize(
    ("day", "hours"),
    [((2024, 2, 29), 696.0), ((2025, 2, 1), 672.0), ((2025, 12, 31), 744.0), ((2025, 4, 9), 720.0)],
)
def test_hours_of_the_calendar_month(day, hours):
    assert hours_of_month(dt.date(*day)) == hours


@pytest.mark.parametrize(
    ("start", "end", "fills"),
    [
        ((2025, 1, 1), (2025, 2, 1), True),
        ((2024, 2, 1), (2024, 3, 1), True),
        ((2025, 12, 1), (2026, 1, 1), True),
        ((2025, 1, 1), (2025, 1, 8), False),
        ((2025, 1, 1), (2025, 4, 1), False),
        ((2025, 1, 4), (2025, 2, 4), False),
    ],
)
def test_which_stages_are_one_month(start, end, fills):
    assert fills_its_month(dt.date(*start), dt.date(*end)) is fills

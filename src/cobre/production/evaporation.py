"""Evaporation of a reservoir, linearised around a reference volume."""

from __future__ import annotations

import calendar
import datetime as dt

from cobre.production.curve import Curve

MM_KM2_PER_M3S_HOUR = 3.6
"""Evaporating 1 m3/s during one hour takes 3.6 mm from 1 km2: 1 mm of 1 km2 is 1000 m3, an hour 3600 s."""


def linearise_evaporation(
    area_km2: Curve, depth_mm: float, hours: float, reference_hm3: float
) -> tuple[float, float]:
    """``(k0, kv)`` of the flow ``k0 + kv * volume`` in m3/s.

    ``depth_mm`` evaporate in ``hours``; a negative depth is rain. The line touches the flow at the reference volume.
    """
    rate = depth_mm / (MM_KM2_PER_M3S_HOUR * hours)
    slope = rate * area_km2.slope(reference_hm3)
    return rate * area_km2.at(reference_hm3) - slope * reference_hm3, slope


def hours_of_month(day: dt.date) -> float:
    """Hours of the calendar month that holds ``day``."""
    return 24.0 * calendar.monthrange(day.year, day.month)[1]


def fills_its_month(start: dt.date, end: dt.date) -> bool:
    """Whether a stage from ``start`` until before ``end`` is exactly one calendar month."""
    days = calendar.monthrange(start.year, start.month)[1]
    return start.day == 1 and end == start + dt.timedelta(days=days)

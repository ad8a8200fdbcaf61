"""Productivities of cases that were made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.production.energy import PlaneProductivity, energy_of
from sddp.cases import make_case
from sddp.specs import BusSpec, HydroSpec, StageSpec

PLANES = [(0.0, 0.5, 1.0, 0.0), (30.0, 0.0, 0.5, 0.0)]


def test_a_case_that_was_not_read_has_the_productivities_of_its_tables():
    plants = [
        HydroSpec(productivity=[0.5, 0.6], downstream=1, min_storage=20.0, max_storage=120.0),
        HydroSpec(planes=PLANES, max_turbined=10.0, max_storage=40.0),
    ]
    energy = energy_of(make_case([StageSpec(), StageSpec()], buses=[BusSpec()], hydros=plants))
    assert energy.reference_volume_hm3.tolist() == [[85.0, 85.0], [26.0, 26.0]]
    # At 26 hm3 and 10 m3/s: 23 and 35 MW.
    assert energy.equivalent_productivity == pytest.approx(np.array([[0.5, 0.6], [2.3, 2.3]]))
    assert energy.accumulated_productivity == pytest.approx(np.array([[2.8, 2.9], [2.3, 2.3]]))
    # Full turbines and no spill: 10 + v / 2 MW between 0 and 40 hm3, below the other plane's 35 MW: 20 MW on average.
    assert energy.integrated_productivity == pytest.approx(np.array([[0.5, 0.6], [2.0, 2.0]]))
    assert energy.max_stored_energy == pytest.approx(np.array([[250.0, 260.0], [80.0, 80.0]]))


def test_planes_are_worth_at_most_the_generators_limit():
    assert PlaneProductivity(np.array(PLANES), 10.0, 20.0).at(26.0) == 2.0
    assert PlaneProductivity(np.array(PLANES), 0.0, 20.0).at(26.0) == 0.0
    assert PlaneProductivity(np.array(PLANES), 0.0, 20.0).mean(0.0, 40.0) == 0.0


@pytest.mark.parametrize(
    ("low", "high", "limit", "mean_mw"),
    [
        (0.0, 40.0, np.inf, 20.0),
        (40.0, 60.0, np.inf, (32.5 * 10.0 + 35.0 * 10.0) / 20.0),  # the planes cross at 50 hm3
        (0.0, 100.0, np.inf, (22.5 * 50.0 + 35.0 * 50.0) / 100.0),
        (0.0, 40.0, 15.0, (12.5 * 10.0 + 15.0 * 30.0) / 40.0),  # the generators' limit from 10 hm3 on
        (-40.0, 0.0, np.inf, 5.0 * 20.0 / 40.0),  # no power below -20 hm3
        (30.0, 30.0, np.inf, 25.0),
    ],
)
def test_the_mean_over_a_storage_range_sees_every_corner(low, high, limit, mean_mw):
    found = PlaneProductivity(np.array(PLANES), 10.0, limit).mean(low, high)
    assert found == pytest.approx(mean_mw / 10.0, rel=1e-14)

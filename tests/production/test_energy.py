"""Productivities of cases that were made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.production.energy import energy_of, plane_productivity
from sddp.cases import BusSpec, HydroSpec, StageSpec, make_case

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
    assert energy.max_stored_energy == pytest.approx(np.array([[280.0, 290.0], [92.0, 92.0]]))


def test_planes_are_worth_at_most_the_generators_limit():
    assert plane_productivity(np.array(PLANES), 26.0, 10.0, 20.0) == 2.0
    assert plane_productivity(np.array(PLANES), 26.0, 0.0, 20.0) == 0.0

"""How a backward pass is cut into units: by the study alone, all openings once, none of them too small."""

from __future__ import annotations

import pytest

from cobre.sddp.units import FEWEST_OPENINGS, UNITS, openings_per_block


@pytest.mark.parametrize("n_openings", [1, 4, 5, 9, 20, 33])
@pytest.mark.parametrize("n_trial_points", [1, 3, 5, 8, 200])
def test_blocks_are_large_enough_and_no_more_than_wanted(n_openings, n_trial_points):
    length = openings_per_block(n_openings, n_trial_points)
    assert min(n_openings, FEWEST_OPENINGS) <= length <= n_openings
    n_blocks = -(-n_openings // length)
    assert n_blocks == 1 or n_trial_points * (n_blocks - 1) < UNITS


def test_many_trial_points_keep_their_openings_in_one_chain():
    assert openings_per_block(20, UNITS) == 20

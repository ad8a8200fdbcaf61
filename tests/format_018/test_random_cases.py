"""Random mixtures of all elements: training reaches the optimum of the whole tree, and that of the public program.

``COBRE_TEST_PUBLIC`` names a program of the public Cobre 0.18; 200 cases are then run by both.
"""

from __future__ import annotations

import pytest

import cobre
from format_018.public import needs_public, public_bound
from format_018.random_cases import ELEMENTS, elements_of, random_case
from format_018.stored_bounds import stored_bounds
from format_018.whole_tree import optimum

BOUNDS = stored_bounds()
RELATIVE = 1e-6


@pytest.mark.parametrize("seed", BOUNDS)
def test_training_reaches_the_stored_optimum(seed, tmp_path):
    found = cobre.train(random_case(seed).write(tmp_path / "case")).final_lower_bound
    assert found == pytest.approx(BOUNDS[seed], rel=RELATIVE)


@pytest.mark.parametrize("seed", list(BOUNDS)[::5])
def test_a_stored_optimum_is_that_of_the_whole_tree(seed):
    assert optimum(random_case(seed)) == pytest.approx(BOUNDS[seed], rel=1e-9)


def test_every_element_is_in_several_of_the_stored_cases():
    for name in ELEMENTS:
        assert sum(name in elements_of(seed) for seed in BOUNDS) >= 3, name


@needs_public
@pytest.mark.parametrize("seed", range(200))
def test_the_public_program_has_the_same_bound(seed, tmp_path):
    """Without line losses, which it leaves out of the problem; its future cost is never below 0."""
    case = random_case(seed, leaves_out=("losses",))
    folder = case.write(tmp_path / "case")
    theirs = public_bound(folder, tmp_path / "output")
    ours = cobre.train(folder).final_lower_bound
    if theirs == pytest.approx(ours, rel=RELATIVE):
        return
    assert theirs == pytest.approx(optimum(case, has_floor=True), rel=RELATIVE)
    assert ours == pytest.approx(optimum(case), rel=RELATIVE)
    assert ours < theirs  # only a future that earns money tells them apart


@pytest.mark.parametrize("seed", [8000, 8010, 8012])
def test_a_lag_without_statistics_counts_as_none(seed, tmp_path):
    """No row of the month before the study, and no stage of its season: the public program says the same."""
    case, path = random_case(seed), "scenarios/inflow_seasonal_stats.parquet"
    assert "lags" in elements_of(seed)
    case.tables[path] = [row for row in case.tables[path] if row["stage_id"] >= 0]
    folder = case.write(tmp_path / "case")
    assert cobre.train(folder).final_lower_bound == pytest.approx(optimum(case), rel=1e-6)
    warned = {warning.message.partition(":")[0] for warning in cobre.validate(folder).warnings}
    assert any("has no deviation" in message for message in warned)

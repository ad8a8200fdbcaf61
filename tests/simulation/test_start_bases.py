"""Large programs begin from the nearest of several bases, and nobody can tell from the files who solved what."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cobre
from cobre.comm import GroupMember, LocalCommunicator, run
from cobre.sddp.simulation import start_bases
from cobre.sddp.simulation.start_bases import TRAJECTORIES, StartBases
from simulation.bits import SCENARIOS, hashes, settings, simulate_all


def simulate_as_if_large(comm: GroupMember, case: str, policy: str, target: str) -> None:
    """Collective: every variant, each program taken for a large one."""
    start_bases.LARGE_ROWS = 0
    simulate_all(comm, case, policy, target)


@pytest.fixture(scope="module")
def alone(study, policy, tmp_path_factory):
    target = tmp_path_factory.mktemp("alone")
    with pytest.MonkeyPatch.context() as patch, LocalCommunicator() as comm:
        patch.setattr(start_bases, "LARGE_ROWS", 0)
        simulate_all(comm, str(study), str(policy), str(target))
    return target


@pytest.mark.parametrize("n_ranks", [3, pytest.param(TRAJECTORIES + 1, marks=pytest.mark.soak)])
def test_any_number_of_ranks(study, policy, alone, tmp_path, n_ranks):
    """With more ranks than trajectories some ranks have none."""
    run(
        simulate_as_if_large,
        num_workers=n_ranks,
        backend="shm",
        args=(str(study), str(policy), str(tmp_path)),
    )
    assert hashes(tmp_path) == hashes(alone)


def test_a_single_process_right_after_training(study, alone, tmp_path, monkeypatch):
    monkeypatch.setattr(start_bases, "LARGE_ROWS", 0)
    case = cobre.load_case(study, settings("by_scenario"))
    cobre.simulate(case, cobre.train(case).policy, output=tmp_path, scenarios=SCENARIOS)
    assert hashes(tmp_path) == hashes(Path(alone) / "by_scenario")


def test_costs_are_those_of_the_basis_of_the_policy(study, policy, monkeypatch):
    """Where a solve starts can change which optimum it finds, not what it costs."""
    overrides = settings("by_scenario")
    few = cobre.simulate(study, policy, config_overrides=overrides, scenarios=SCENARIOS)
    monkeypatch.setattr(start_bases, "LARGE_ROWS", 0)
    many = cobre.simulate(study, policy, config_overrides=overrides, scenarios=SCENARIOS)
    ours, theirs = (each.costs.filter(each.costs["stage_id"].to_numpy() == 0) for each in (few, many))
    assert ours["total_cost"].to_pylist() == pytest.approx(theirs["total_cost"].to_pylist(), rel=1e-9)


def test_the_nearest_basis_is_taken_in_units_of_the_spread():
    parameters = np.array([[0.0, 0.0, 5.0], [10.0, 1000.0, 5.0]])
    starts = StartBases(np.array([[1], [2]], dtype=np.uint8), parameters, np.array([0.1, 0.001, 0.0]))
    rows = np.array([[1.0, 700.0, -9e9], [6.0, 600.0, 5.0], [5.0, 500.0, 5.0]])
    # Squares by hand: 0.01 + 0.49 and 0.81 + 0.09; 0.36 + 0.36 and 0.16 + 0.16; equally near: the first.
    assert starts.nearest(rows).ravel().tolist() == [1, 2, 1]
    each = [starts.nearest(row[np.newaxis]).item() for row in rows]
    assert each == starts.nearest(rows).ravel().tolist()

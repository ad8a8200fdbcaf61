"""A policy that the public Cobre 0.18 itself wrote: read, simulated, and used as warm start and boundary.

One is stored beside the tests. With ``COBRE_TEST_PUBLIC``, the path of the program, it writes another one on the spot.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import cobre
from public_study import N_STAGES, write_ours, write_public

STORED = Path(__file__).parent / "stored/public_0_18/policy"
PROGRAM = os.environ.get("COBRE_TEST_PUBLIC")
OPTIMUM = 167111.84961017358
"""Of the study; the lower bound at which both programs stop moving."""
RELATIVE = 1e-9
DEADLINE_S = 120


def limit(iterations):
    return {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": iterations}]}}


@pytest.fixture(scope="module", params=["stored", "written now"])
def folder(request, tmp_path_factory):
    if request.param == "stored":
        return STORED
    if PROGRAM is None:
        pytest.skip("COBRE_TEST_PUBLIC does not name the program")
    case = tmp_path_factory.mktemp("public")
    write_public(case, iterations=12)
    subprocess.run([PROGRAM, "run", str(case), "--quiet"], timeout=DEADLINE_S, check=True)
    return case / "output/policy"


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    case = tmp_path_factory.mktemp("ours")
    write_ours(case, iterations=12)
    return case


@pytest.fixture(scope="module")
def trained(ours):
    return cobre.train(ours)


def test_our_optimum_is_that_of_the_public_program(trained):
    assert trained.final_lower_bound == pytest.approx(OPTIMUM, rel=RELATIVE)


def test_it_is_read_with_plants_lags_and_dates(folder, trained):
    policy = cobre.Policy.load(folder)
    assert policy.state_names == ("storage:3", "storage:7", "inflow_lag1:3", "inflow_lag1:7")
    assert policy.state_names == trained.policy.state_names
    assert policy.calendar == trained.policy.calendar
    assert policy.summary()["cuts_per_stage"] == [24, 24, 24, 0]
    for column in range(4):  # every component matters somewhere
        assert np.any(policy.stages[0].coefficients[:, column] != 0.0)
    assert min(policy.water_values(0, [20.0, 10.0, 20.0, 8.0]).values()) > 0.0


def told(notes):
    """What is said about the policy: without warnings about the case."""
    return [note for note in notes if not note.startswith("warning: ")]


def test_a_simulation_under_it_costs_what_one_under_our_policy_costs(folder, ours, trained):
    notes = []
    under_theirs = cobre.simulate(ours, folder, scenarios=30, on_note=notes.append)
    under_ours = cobre.simulate(ours, trained.policy, scenarios=30)
    assert under_theirs.mean_cost == pytest.approx(under_ours.mean_cost, rel=RELATIVE)
    assert told(notes) == []


@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_warm_start_from_it_begins_at_the_optimum(folder, ours, num_workers):
    notes = []
    result = cobre.train(
        ours, num_workers, config_overrides=limit(1), warm_start=folder, on_note=notes.append
    )
    assert result.final_lower_bound == pytest.approx(OPTIMUM, rel=RELATIVE)
    assert told(notes) == [f"training starts with 72 cuts of {folder}"]


def test_as_boundary_it_prices_the_rest_of_the_year(folder, tmp_path):
    """The first two months with the cuts that the policy has for their end cost as much as all four."""
    write_ours(tmp_path, iterations=12, stage_range=range(2), boundary={"path": str(folder)})
    notes = []
    result = cobre.train(tmp_path, on_note=notes.append)
    assert result.final_lower_bound == pytest.approx(OPTIMUM, rel=RELATIVE)
    assert told(notes) == [f"24 cuts of {folder} price what follows the last stage"]


def test_a_study_that_ends_with_it_gets_no_boundary_from_it(folder, tmp_path):
    write_ours(tmp_path, stage_range=range(N_STAGES), boundary={"path": str(folder)})
    with pytest.raises(cobre.ValidationError, match="no cut for the end of the study"):
        cobre.train(tmp_path)


def test_a_simulation_of_other_months_refuses_it(folder, tmp_path):
    write_ours(tmp_path, stage_range=range(1, N_STAGES + 1))
    with pytest.raises(
        cobre.ValidationError, match="ends on 2026-03-01, and that of the policy on 2026-02-01"
    ):
        cobre.simulate(tmp_path, folder, scenarios=2)

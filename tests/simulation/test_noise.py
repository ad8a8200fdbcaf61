"""The noise of simulated scenarios, against a second implementation: iteration 0 and the plain scenario number."""

from __future__ import annotations

from dataclasses import replace

import pytest

import cobre
import noise_recipe as recipe
from cobre.core.config import ScenarioSource
from sddp.cases import StageSpec
from sddp.studies import study
from sddp.trained import settings, trained
from simulation.hand_cases import opening_of, rows_by

N = 12
SEED = 11
MEANS = ((20.0, 12.0, 8.0, 15.0), (9.0, 4.0, 3.0, 6.0))
DEVIATIONS = (7.0, 3.0)


@pytest.fixture(scope="module")
def case():
    price = {"costs": {"negative_inflow": 30.0}}
    return study(
        [StageSpec((200.0, 100.0), 5)] * 4, hydro=price, non_negativity="penalty", training=settings(2)
    )


def inflows(case, source=None):
    simulation = replace(case.config.simulation, scenario_source=source)
    case = replace(case, config=replace(case.config, simulation=simulation))
    result = cobre.simulate(case, trained(case).policy, scenarios=N)
    found = rows_by(result, "hydros", "scenario_id", "stage_id", "hydro_id", "block_id")
    return {key[:3]: row["incremental_inflow_m3s"] for key, row in found.items() if key[3] == 0}


def test_in_sample_scenarios_meet_openings_of_the_tree(case):
    found = inflows(case)
    assert len(found) == 4 * 2 * N
    for (scenario, stage, hydro), inflow in found.items():
        noise = recipe.saa(42, stage, 5, 2)[opening_of(scenario, stage, 5), hydro]
        assert inflow == pytest.approx(MEANS[hydro][stage] + DEVIATIONS[hydro] * noise, rel=1e-12, abs=1e-9)


def test_out_of_sample_scenarios_meet_noise_of_the_seed_of_the_simulation(case):
    found = inflows(case, ScenarioSource("out_of_sample", "in_sample", "in_sample", seed=SEED))
    for scenario in range(N):
        for stage in range(4):
            seed = recipe.hash_of((1, 1), (SEED, 8), (0, 4), (scenario, 4), (stage, 4))
            generator = recipe.Pcg64(seed)
            for hydro in range(2):
                expected = MEANS[hydro][stage] + DEVIATIONS[hydro] * generator.normal()
                assert found[scenario, stage, hydro] == pytest.approx(expected, rel=1e-12, abs=1e-9)

"""The noise of simulated scenarios, against a second implementation: iteration 0 and the plain scenario number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cobre
import noise_recipe as recipe
from cobre.core.config import ScenarioSource
from cobre.core.scenarios import GivenScenarios
from cobre.stochastic import external_scenario
from sddp.specs import StageSpec
from sddp.studies import historical, sampled, study
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


def external(n_passes):
    """Inflows, loads and sources of a simulation all follow scenarios, five of them in each stage."""
    values = np.random.default_rng(2).uniform(5.0, 30.0, size=(4, 5, 2))
    case = study(
        hydro={"costs": {"negative_inflow": 30.0}},
        load_std=4.0,
        source_std=0.2,
        non_negativity="penalty",
        training=settings(3, n_passes),
    )
    stage, scenario, entity = (grid.ravel() for grid in np.indices(values.shape))
    first = entity == 0
    inflow = GivenScenarios(stage, scenario, entity, values.ravel())
    load = GivenScenarios(stage[first], scenario[first], entity[first], 25.0 + values.ravel()[first])
    ncs = replace(load, value=values.ravel()[first] / 30.0)
    scenarios = replace(case.scenarios, external_inflow=inflow, external_load=load, external_ncs=ncs)
    return replace(case, scenarios=scenarios)


SOURCES = {
    "spread points": (sampled, None),
    "years of the history": (
        historical,
        ScenarioSource("historical", "out_of_sample", seed=5, historical_years=(2002, 2003, 2006)),
    ),
    "scenarios of files": (external, ScenarioSource("external", "external", "external", seed=5)),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SOURCES)
def test_two_workers_simulate_the_same_bits_as_one(name):
    make, source = SOURCES[name]
    case = make(3)
    simulation = replace(case.config.simulation, scenario_source=source)
    case = replace(case, config=replace(case.config, simulation=simulation))
    policy = trained(case).policy
    alone, together = (cobre.simulate(case, policy, n, scenarios=N + 1) for n in (1, 2))
    for table in ("costs", "hydros", "buses", "non_controllables"):
        assert alone.table(table).equals(together.table(table)), table


def test_external_scenarios_of_a_simulation_come_about_as_given():
    case = external(3)
    case = replace(
        case,
        config=replace(
            case.config,
            simulation=replace(case.config.simulation, scenario_source=SOURCES["scenarios of files"][1]),
        ),
    )
    result = cobre.simulate(case, trained(case).policy, scenarios=N)
    given = case.scenarios.external_inflow
    keys = zip(given.stage.tolist(), given.scenario.tolist(), given.entity.tolist(), strict=True)
    values = dict(zip(keys, given.value.tolist(), strict=True))
    for key, row in rows_by(result, "hydros", "scenario_id", "stage_id", "hydro_id", "block_id").items():
        scenario, stage, hydro, _ = key
        expected = values[stage, external_scenario(0, scenario, 5), hydro]
        assert row["incremental_inflow_m3s"] == pytest.approx(expected, rel=1e-9)

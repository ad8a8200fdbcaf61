"""Training and simulation of plants with fitted planes and evaporation."""

from __future__ import annotations

import json

import numpy as np
import pytest

import cobre
from case_folders import shuffled_copy
from cobre.comm import LocalCommunicator, run
from cobre.core.energy import MWH_PER_HM3
from production.fitted_runs import SETTINGS, results_of, run_study
from production.small_cases import cascade
from simulation.balances import assert_balanced, rows


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return cascade(tmp_path_factory.mktemp("study") / "case").write()


@pytest.fixture(scope="module")
def finished(study, tmp_path_factory):
    """The folder of a run by one process."""
    target = tmp_path_factory.mktemp("alone")
    with LocalCommunicator() as comm:
        run_study(comm, str(study), str(target))
    return target


def test_water_energy_money_power_and_evaporation_balance(study, finished):
    case = cobre.load_case(study, SETTINGS)
    policy = cobre.Policy.load(finished / "trained/policy")
    result = cobre.simulate(case, policy, scenarios=12)
    assert_balanced(case, result)
    assert {row["hydro_id"]: row["evaporation_m3s"] is None for row in rows(result, "hydros")} == {
        0: True,
        7: False,
    }


def test_rain_on_the_lake_is_negative_evaporation(study, finished):
    case = cobre.load_case(study, SETTINGS)
    result = cobre.simulate(case, cobre.Policy.load(finished / "trained/policy"), scenarios=3)
    below = [row for row in rows(result, "hydros") if row["hydro_id"] == 7]
    assert {row["stage_id"]: bool(row["evaporation_m3s"] < 0.0) for row in below} == {0: False, 1: True}


def test_the_tables_have_the_productivities_and_stored_energy_of_the_case(study, finished):
    case = cobre.load_case(study, SETTINGS)
    result = cobre.simulate(case, cobre.Policy.load(finished / "trained/policy"), scenarios=2)
    # Reference volumes 130 and 36 hm3 give 91 and 44.4 m; 44.4 m is 0.44 of the way between the tailrace families.
    head = np.array([(91.0 - (7.64 + 0.0156 * 50.0)) * 0.97, (44.4 - 3.5) * 0.97])
    own = 0.00981 * 0.92 * head
    for row in rows(result, "hydros"):
        plant = [0, 7].index(row["hydro_id"])
        assert row["equivalent_productivity_mw_per_m3s"] == pytest.approx(own[plant], rel=1e-12)
        assert row["accumulated_productivity_mw_per_m3s"] == pytest.approx(own[plant:].sum(), rel=1e-12)
        integrated = row["integrated_accumulated_productivity_mw_per_m3s"]
        above = row["storage_final_hm3"] - (0.0, 10.0)[plant]
        assert row["stored_energy_final_mwh"] == pytest.approx(above * integrated * MWH_PER_HM3, rel=1e-12)
        assert row["stored_energy_final_mw"] == pytest.approx(row["stored_energy_final_mwh"] / 730.0)
        energy = row["incremental_inflow_m3s"] * row["accumulated_productivity_mw_per_m3s"]
        assert row["incremental_inflow_energy_mw"] == pytest.approx(energy, rel=1e-12)


def test_the_metadata_tell_the_errors_of_the_fits(study, finished):
    fits = [each.fit for each in cobre.load_case(study).production_fits]
    metadata = json.loads((finished / "trained/training/metadata.json").read_text())
    found = metadata["production_fit_deviation"]
    worst = max(fits, key=lambda fit: fit.relative_deviation)
    assert found["n_entries"] == 2
    assert found["mean_abs"] == (fits[0].mean_deviation_mw + fits[1].mean_deviation_mw) / 2
    assert found["max_abs"] == max(fit.max_deviation_mw for fit in fits)
    assert found["worst_relative"] == found["worst_entry"]["relative"] == worst.relative_deviation
    assert found["worst_entry"]["entity_id"] == [0, 7][fits.index(worst)]
    assert found["worst_entry"]["stage_id"] is None


def test_dictionaries_describe_the_tables_of_fitted_models(finished):
    variables = (finished / "trained/training/dictionaries/variables.csv").read_text()
    for name in ("fpha_hyperplanes", "fpha_deviation_points", "evaporation_models"):
        assert f"hydro_models/{name}," in variables


@pytest.mark.few(1)
@pytest.mark.parametrize(("backend", "n_ranks"), [("shm", 3), ("tcp", 2)])
def test_any_number_of_ranks_gives_the_same_bytes(study, finished, tmp_path, backend, n_ranks):
    run(run_study, num_workers=n_ranks, backend=backend, args=(str(study), str(tmp_path)))
    assert results_of(tmp_path) == results_of(finished)


def test_the_order_of_entities_and_rows_changes_no_bit(study, finished, tmp_path):
    other = shuffled_copy(study, tmp_path / "case")
    with LocalCommunicator() as comm:
        run_study(comm, str(other), str(tmp_path))
    assert results_of(tmp_path) == results_of(finished)
    assert len(results_of(finished)) > 20

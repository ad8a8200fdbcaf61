"""Optima that the public Cobre 0.18 and an independent linear program agree on, of cases beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import cobre

ROOT = Path(os.environ.get("COBRE_CASES_018") or Path(__file__).parents[3] / "shared" / "cases-018")
OPTIMA = {
    "groups": 16452393.394985612,
    "block_line": 11177733.240795262,
    "contracts": 4433478.752424364,
    "pump": 3302647.6315293377,
    "hydro_entry": 6512628.847476717,
    "filling": 17685134.367795665,
    "must_run": 2674380.4996772087,
    "generic": 9601534.055336043,
    "generic_computed": 5057516.793528944,
    "cvar": 2220907.9623335437,
    "lags": 2136710.404688008,
    "evaporation": 2067943.6996816674,
    "turbined": 9412429.358817425,
    "external_load": 2405719.8456713497,
    "chrono": 10643997.413333328,
    "travel_short": 1672492.0227992001,
    "travel_seed_windows": 1547324.7377777789,
    "anticipated_1": 9553496.719999999,
    "anticipated_post": 14746324.19622783,
    "boundary_source": 5042833.849539435,
    "fit_history": 13835850.403082138,
    "fpha_computed": 2732291.725834374,
    "months_then_quarters": 27414645.267074086,
    "graph_enumerated": 7002102.506533335,
    "graph_sampled": 3035752.205720329,
    "gap_rule": 11556136.75248534,
}


def folder_of(name: str) -> Path:
    if not (ROOT / name).is_dir():
        pytest.skip(f"no folder {ROOT / name}; COBRE_CASES_018 names the folder of the 0.18 cases")
    return ROOT / name


@pytest.mark.parametrize("name", OPTIMA)
def test_the_bound_is_the_optimum(name):
    assert cobre.train(folder_of(name)).final_lower_bound == pytest.approx(OPTIMA[name], rel=1e-6)


def test_a_boundary_prices_water_and_commitments_under_way():
    source = cobre.train(folder_of("boundary_source"))
    found = cobre.train(folder_of("boundary"), boundary=source.policy)
    assert found.final_lower_bound == pytest.approx(OPTIMA["boundary_source"], rel=1e-6)


def test_a_fit_with_an_error_beyond_two_percent_is_a_warning():
    folder = folder_of("fpha_computed")
    (fit,) = cobre.load_case(folder).production_fits
    assert fit.fit.relative_deviation == pytest.approx(0.0218212946638, rel=1e-9)
    (warning,) = [each for each in cobre.validate(folder).warnings if each.field == "fpha_config"]
    assert warning.value == pytest.approx(0.0319607983671, rel=1e-9)

"""Productivities of hydros: at the reference volume, mean over the storage, down the river."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.core.energy import MWH_PER_HM3, accumulate
from cobre.io import load
from production.small_cases import GEOMETRY, MODELS, config_of, d07, hydro_of

TABLE = "system/hydro_energy_productivity.parquet"
SPECIFIC = "specific_productivity_mw_per_m3s_per_m"


@pytest.fixture
def case(tmp_path):
    case = d07(tmp_path / "case")
    hydro_of(case)["tailrace"] = {"type": "polynomial", "coefficients": [10.0, 0.1]}  # 15 m at 50 m3/s
    return case


def energy_of(case):
    return load(case.write()).energy


def test_planes_take_their_productivity_from_the_head_at_the_reference_volume(case):
    hydro_of(case)[SPECIFIC] = 0.009
    energy = energy_of(case)
    # 0.65 of 200 hm3 is 130 hm3: 91 m, less 15 m of tail water, less 3 %.
    assert energy.reference_volume_hm3.tolist() == [[130.0, 130.0]]
    assert energy.equivalent_productivity == pytest.approx(np.full((1, 2), 0.009 * 76.0 * 0.97), rel=1e-14)


def test_the_integrated_productivity_is_that_of_the_mean_forebay(case):
    hydro_of(case)[SPECIFIC] = 0.009
    # Mean height over 0..200 hm3: (60 + 77.5 + 90 + 97.5) / 4 m.
    expected = 0.009 * (81.25 - 15.0) * 0.97
    assert energy_of(case).integrated_productivity == pytest.approx(np.full((1, 2), expected), rel=1e-14)


def test_the_mean_is_over_the_storage_of_the_plant_and_not_of_the_stage(case):
    hydro_of(case)[SPECIFIC] = 0.009
    whole = energy_of(case).integrated_productivity
    case.tables["constraints/hydro_bounds.parquet"] = {
        "hydro_id": [0],
        "stage_id": [1],
        "max_storage_hm3": [120.0],
    }
    assert energy_of(case).integrated_productivity.tolist() == whole.tolist()


def test_the_efficiency_stands_in_for_a_specific_productivity(case):
    energy = energy_of(case)
    assert np.isnan(energy.specific_productivity).all()
    assert energy.equivalent_productivity[0, 0] == pytest.approx(0.00981 * 0.92 * 76.0 * 0.97, rel=1e-14)


@pytest.mark.parametrize(
    ("reference", "volume", "height"),
    [({"volume_hm3": 50.0}, 50.0, 70.0), ({"percentile": 0.25}, 50.0, 70.0)],
)
def test_the_reference_volume_can_be_given(case, reference, volume, height):
    hydro_of(case)[SPECIFIC] = 0.009
    case.documents[MODELS]["production_models"][0]["stage_ranges"][0]["reference_volume"] = reference
    energy = energy_of(case)
    assert energy.reference_volume_hm3.tolist() == [[volume, volume]]
    assert energy.equivalent_productivity[0, 0] == pytest.approx(0.009 * (height - 15.0) * 0.97, rel=1e-14)


def test_given_planes_without_data_of_the_head_give_their_own_productivity(case):
    for name in ("tailrace", "hydraulic_losses", "efficiency"):
        del hydro_of(case)[name]
    config_of(case)["source"] = "precomputed"
    case.tables["system/fpha_hyperplanes.parquet"] = {
        "hydro_id": [0, 0], "plane_id": [0, 1], "gamma_0": [0.0, 10.0], "gamma_v": [0.01, 0.0], "gamma_q": [0.8, 0.5],
        "gamma_s": [0.0, 0.0]
    }  # fmt: skip
    energy = energy_of(case)
    # At 130 hm3 and 50 m3/s: 41.3 and 35 MW.
    assert energy.equivalent_productivity.tolist() == [[0.7, 0.7]]
    assert energy.integrated_productivity.tolist() == [[0.7, 0.7]]


def as_constant(case, productivity=0.8):
    hydro = hydro_of(case)
    hydro["generation"].update(model="constant_productivity", productivity_mw_per_m3s=productivity)
    case.documents[MODELS]["production_models"] = []


def test_a_constant_plant_has_the_productivity_of_its_stage(case):
    as_constant(case)
    changed = {"model": "constant_productivity", "productivity_override": 0.5}
    case.documents[MODELS]["production_models"] = [
        {
            "hydro_id": 0,
            "selection_mode": "stage_ranges",
            "stage_ranges": [{"start_stage_id": 1, "end_stage_id": 1, **changed}],
        }
    ]
    energy = energy_of(case)
    assert energy.equivalent_productivity.tolist() == [[0.8, 0.5]]
    assert energy.integrated_productivity.tolist() == [[0.8, 0.5]]


def test_a_constant_plant_with_a_specific_productivity_integrates_its_head(case):
    as_constant(case)
    hydro_of(case)[SPECIFIC] = 0.009
    energy = energy_of(case)
    assert energy.equivalent_productivity.tolist() == [[0.8, 0.8]]
    assert energy.integrated_productivity[0, 0] == pytest.approx(0.009 * 66.25 * 0.97, rel=1e-14)


def test_without_a_storage_range_both_productivities_are_the_same(case):
    as_constant(case)
    hydro_of(case).update(
        {SPECIFIC: 0.009, "reservoir": {"min_storage_hm3": 100.0, "max_storage_hm3": 100.0}}
    )
    energy = energy_of(case)
    assert energy.integrated_productivity.tolist() == energy.equivalent_productivity.tolist() == [[0.8, 0.8]]


def test_the_table_wins_over_plant_and_head(case):
    hydro_of(case)[SPECIFIC] = 0.009
    case.tables[TABLE] = {
        "hydro_id": [0, 0],
        "stage_id": [None, 1],
        "equivalent_productivity_mw_per_m3s": [None, 0.66],
        "reference_outflow_m3s": [42.0, None],
        "specific_productivity_mw_per_m3s_per_m": [0.008, None],
    }
    energy = energy_of(case)
    assert energy.specific_productivity.tolist() == [[0.008, 0.008]]
    assert energy.reference_turbined_m3s.tolist() == [[42.0, 42.0]]
    assert energy.equivalent_productivity[0].tolist() == pytest.approx([0.008 * 76.0 * 0.97, 0.66], rel=1e-14)
    assert energy.integrated_productivity[0, 1] == 0.66


def test_the_reference_flow_is_the_capacity_of_the_turbines(case):
    assert energy_of(case).reference_turbined_m3s.tolist() == [[50.0, 50.0]]


def test_tail_water_above_the_forebay_is_worth_nothing(case):
    hydro_of(case)[SPECIFIC] = 0.009
    case.documents[MODELS]["production_models"][0]["stage_ranges"][0]["reference_volume"] = {
        "percentile": 0.0
    }
    hydro_of(case)["tailrace"]["coefficients"] = [60.0]
    assert energy_of(case).equivalent_productivity.tolist() == [[0.0, 0.0]]


def test_productivities_add_up_down_the_river():
    own = np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0], [1000.0, 2000.0]])
    # 2 -> 0 -> 3, 1 -> 3.
    total = accumulate(own, (3, 3, 0, None))
    assert total.tolist() == [[1001.0, 2002.0], [1010.0, 2020.0], [1101.0, 2202.0], [1000.0, 2000.0]]


def test_stored_energy_counts_all_plants_below(case):
    as_constant(case)
    below = {**hydro_of(case), "id": 5, "name": "BELOW"}
    below["generation"] = {**below["generation"], "productivity_mw_per_m3s": 0.3}
    below["reservoir"] = {"min_storage_hm3": 10.0, "max_storage_hm3": 30.0}
    hydro_of(case)["downstream_id"] = 5
    case.documents["system/hydros.json"]["hydros"].append(below)
    case.documents["initial_conditions.json"]["storage"].append({"hydro_id": 5, "value_hm3": 20.0})
    energy = energy_of(case)
    assert energy.accumulated_productivity == pytest.approx(np.array([[1.1, 1.1], [0.3, 0.3]]))
    assert energy.max_stored_energy == pytest.approx(np.array([[220.0, 220.0], [6.0, 6.0]]))
    stored = energy.stored_energy_mwh(np.array([[50.0, 10.0], [60.0, 25.0]]), stage=1)
    assert stored == pytest.approx(MWH_PER_HM3 * np.array([[55.0, 0.0], [66.0, 4.5]]))


def test_one_mw_per_m3s_turns_a_cubic_hectometre_into_278_mwh():
    assert pytest.approx(277.7777777777778) == MWH_PER_HM3


def test_tailrace_curves_count_only_where_the_plant_has_no_tailrace(case):
    hydro_of(case)[SPECIFIC] = 0.009
    case.tables["system/tailrace_curves.parquet"] = {
        "hydro_id": [0], "family_id": [0], "downstream_reference_level_m": [None], "segment_id": [0],
        "outflow_min_m3s": [0.0], "outflow_max_m3s": [90.0], "coefficient_0": [20.0],
        **{f"coefficient_{power}": [0.0] for power in (1, 2, 3, 4)},
    }  # fmt: skip
    assert energy_of(case).equivalent_productivity[0, 0] == pytest.approx(0.009 * 76.0 * 0.97, rel=1e-14)
    del hydro_of(case)["tailrace"]
    assert energy_of(case).equivalent_productivity[0, 0] == pytest.approx(0.009 * 71.0 * 0.97, rel=1e-14)


def test_a_single_row_of_geometry_is_a_constant_head(case):
    hydro_of(case)[SPECIFIC] = 0.009
    case.tables[GEOMETRY] = {"hydro_id": [0], "volume_hm3": [100.0], "height_m": [85.0], "area_km2": [1.0]}
    energy = energy_of(case)
    assert energy.equivalent_productivity[0, 0] == pytest.approx(0.009 * 70.0 * 0.97, rel=1e-14)
    assert energy.integrated_productivity[0, 0] == pytest.approx(0.009 * 70.0 * 0.97, rel=1e-14)

"""What a run says about its models: constraints as understood, models of plants, and where inflows come from."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

import cobre
from case_folders import example_case, full_case, full_documents
from cobre.io.loading import load
from cobre.io.write.generic_constraints import write_generic_constraints
from cobre.io.write.model_facts import hydro_models, provenance, write_model_facts
from history_cases import CORRELATION, LAGS, STATS, history_case

ONE = {"training": {"forward_passes": 1, "stopping_rules": [{"type": "iteration_limit", "limit": 1}]}}


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return load(full_case(tmp_path_factory.mktemp("full")).write())


@pytest.fixture(scope="module")
def constraints(full, tmp_path_factory):
    folder = tmp_path_factory.mktemp("constraints")
    write_generic_constraints(folder, full)
    return pq.read_table(folder / "generic_constraints/resolved_echo.parquet").to_pylist()


def test_constraints_are_written_term_by_term(full, constraints):
    bounds = full.tables.constraint
    n_terms = [len(constraint.terms) for constraint in full.system.generic_constraints]
    assert len(constraints) == sum(n_terms[c] for c in bounds.constraint.tolist())
    first = [row for row in constraints if row["constraint_id"] == 3][:3]
    assert [(row["term_index"], row["variable"], row["coefficient"]) for row in first] == [
        (0, "hydro_generation(id=0, bus=all, block=all)", 1.0),
        (1, "hydro_generation(id=1, bus=all, block=all)", 1.0),
        (2, "line_exchange(id=0, block=1)", -0.5),
    ]
    assert {row["constraint_name"] for row in first} == {"north"}
    assert [row["variable_kind"] for row in first] == [
        "hydro_generation",
        "hydro_generation",
        "line_exchange",
    ]


def test_constraints_have_their_bounds_on_the_side_of_their_sense(constraints):
    sense = {
        each["id"]: each["sense"]
        for each in full_documents()["constraints/generic_constraints.json"]["constraints"]
    }
    for row in constraints:
        shape, has_lower, has_upper = {
            "<=": ("cap", False, True),
            ">=": ("floor", True, False),
            "==": ("equality", True, True),
        }[sense[row["constraint_id"]]]
        assert row["derived_shape"] == shape
        assert (row["bound_lower"] is not None, row["bound_upper"] is not None) == (has_lower, has_upper)
        assert row["slack_enabled"] == (row["slack_penalty"] is not None)
    north = next(row for row in constraints if row["constraint_id"] == 3)
    reserve = next(row for row in constraints if row["constraint_id"] == 4)
    assert (north["slack_penalty"], reserve["slack_penalty"]) == (700.0, None)
    assert reserve["variable"] == "hydro_storage(id=0)"


def test_a_case_without_constraints_has_no_such_file(tmp_path):
    example_case(tmp_path / "case").write()
    write_generic_constraints(tmp_path, load(tmp_path / "case"))
    assert not (tmp_path / "generic_constraints").exists()


def test_models_of_plants_are_counted(full):
    found = hydro_models(full)
    assert found["fpha_details"] == [
        {"hydro_id": 2, "name": "SIDE", "source": "precomputed_hyperplanes", "n_planes": 2}
    ]
    assert (found["n_constant"], found["n_fpha"], found["total_planes"]) == (2, 1, 2)
    assert found["n_evaporation"] + found["n_no_evaporation"] == 3
    assert found["n_user_supplied_ref"] + found["n_default_midpoint_ref"] == found["n_evaporation"]


@pytest.mark.parametrize(
    ("given", "path", "sources", "method"),
    [
        ((), "full_estimation", ("estimated", "estimated", "estimated"), "PACF"),
        ((STATS,), "partial_estimation", ("user_file", "estimated", "estimated"), "PACF"),
        ((LAGS,), "user_ar_history_stats", ("estimated", "user_file", "estimated"), None),
        ((STATS, LAGS, CORRELATION), "user_provided_all", ("user_file", "user_file", "user_file"), None),
    ],
)
def test_models_fitted_to_a_history_are_reported(tmp_path, given, path, sources, method):
    case, files = history_case(tmp_path), example_case(tmp_path)
    for name in given:
        kind = "documents" if name.endswith(".json") else "tables"
        getattr(case, kind)[name] = getattr(files, kind)[name]
    case.write()
    found = provenance(load(tmp_path))["inflow"]
    assert found["estimation_path"] == path
    names = ("seasonal_stats_source", "ar_coefficients_source", "correlation_source")
    assert tuple(found[name] for name in names) == sources
    assert (found["ar_method"], found["ar_max_order"]) == (method, method and 6)
    assert found["opening_tree_source"] == "estimated"
    assert found["white_noise_fallbacks"] == []


def test_a_case_with_a_model_and_openings_of_its_own_needs_no_history(full):
    found = provenance(full)
    assert found["inflow"]["estimation_path"] == "user_provided_no_history"
    assert found["inflow"]["n_hydros"] == 3
    assert found["hydro_production"]["n_fpha_precomputed_hyperplanes"] == 1


def test_a_case_that_was_not_read_has_no_provenance(full, tmp_path):
    from simulation.hand_cases import one_hydro

    write_model_facts(tmp_path, one_hydro())
    assert [path.name for path in (tmp_path / "training").iterdir()] == ["hydro_models.json"]


def test_the_time_of_fits_is_reported(tmp_path):
    history_case(tmp_path / "case").write()
    cobre.train(tmp_path / "case", config_overrides=ONE, output=tmp_path / "results")
    metadata = json.loads((tmp_path / "results/training/metadata.json").read_text(encoding="utf-8"))
    setup = metadata["setup"]
    assert setup["load_seconds"] > 0.0
    assert setup["stochastic_fit_seconds"] > 0.0
    assert setup["broadcast_seconds"] == 0.0


def test_a_new_run_leaves_nothing_of_the_models_of_the_last_one(tmp_path):
    full_case(tmp_path / "full").write()
    example_case(tmp_path / "example").write()
    cobre.train(tmp_path / "full", config_overrides=ONE, output=tmp_path / "results")
    assert (tmp_path / "results/generic_constraints").exists()
    cobre.train(tmp_path / "example", config_overrides=ONE, output=tmp_path / "results")
    assert not (tmp_path / "results/generic_constraints").exists()


def test_a_warm_start_that_fails_leaves_the_policy_that_it_began_with(tmp_path):
    example_case(tmp_path / "case").write()
    results = tmp_path / "results"
    cobre.train(tmp_path / "case", config_overrides=ONE, output=results)
    before = (results / "policy/policy.cobre").read_bytes()

    def fail(event):
        raise RuntimeError("the caller had enough")

    with pytest.raises(RuntimeError, match="had enough"):
        cobre.train(
            tmp_path / "case",
            config_overrides=ONE,
            output=results,
            warm_start=results / "policy",
            progress_callback=fail,
        )
    assert (results / "policy/policy.cobre").read_bytes() == before

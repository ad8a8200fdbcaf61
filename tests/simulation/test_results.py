"""Finished simulations looked at again: loading, names, damaged and missing files."""

from __future__ import annotations

import asyncio
import json
import shutil

import numpy as np
import pyarrow as pa
import pytest

import cobre
from case_folders import full_case
from cobre.comm import LocalCommunicator
from simulation.hand_cases import one_hydro

N = 4
SHORT = {"training": {"forward_passes": 1, "stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    return cobre.train(one_hydro()).policy


@pytest.fixture
def output(policy, tmp_path):
    cobre.simulate(one_hydro(), policy, output=tmp_path, scenarios=N)
    return tmp_path


def test_a_simulation_without_training_is_loaded(output, policy):
    found = cobre.load_results(output)
    assert found.training is None
    assert found.simulation.scenarios == N
    fresh = cobre.simulate(one_hydro(), policy, scenarios=N)
    assert found.simulation.statistics == fresh.statistics
    for name in fresh.tables:
        assert found.simulation.table(name).equals(fresh.table(name))


def test_names_stand_beside_ids(tmp_path):
    full_case(tmp_path).write()
    policy = cobre.train(tmp_path, config_overrides=SHORT).policy
    result = cobre.simulate(tmp_path, policy, config_overrides=SHORT, scenarios=2)
    expected = {
        "hydros": ("hydro", {2: "SIDE"}),
        "pumping_stations": ("pumping_station", {0: "LIFT"}),
        "contracts": ("contract", {0: "BUY", 1: "SELL"}),
        "non_controllables": ("non_controllable", {5: "SUN"}),
    }
    for table, (kind, names) in expected.items():
        rows = result.table(table)
        columns = rows.column_names
        assert columns.index(f"{kind}_name") == columns.index(f"{kind}_id") + 1
        pairs = set(zip(rows[f"{kind}_id"].to_pylist(), rows[f"{kind}_name"].to_pylist(), strict=True))
        assert names.items() <= pairs
        assert f"{kind}_name" not in result.table(table, names=False).column_names
    assert result.violations.equals(result.table("violations/generic"))


def test_tables_are_read_when_asked_for(output):
    result = cobre.load_results(output).simulation
    (output / "simulation/thermals/scenario_id=0002/data.parquet").write_bytes(b"PAR1 is not all")
    assert result.hydros.num_rows == 2 * N
    with pytest.raises(cobre.ValidationError, match="thermals is damaged"):
        _ = result.thermals


def test_some_columns(output):
    result = cobre.load_results(output).simulation
    assert result.table("hydros", ["hydro_id", "storage_final_hm3"]).column_names == [
        "hydro_id",
        "hydro_name",
        "storage_final_hm3",
    ]


def test_tables_speak_the_protocol_of_arrow(output):
    table = cobre.load_results(output).simulation.hydros
    assert isinstance(table, pa.Table)
    assert hasattr(table, "__arrow_c_stream__")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"scenarios": 3, "statistics": null}',
        b'{"scenarios": {"completed": 4}}',
        b"\xff",
    ],
)
def test_damaged_metadata_is_an_error_with_the_file(output, content):
    (output / "simulation/metadata.json").write_bytes(content)
    with pytest.raises(cobre.ValidationError, match=r"simulation/metadata\.json is damaged") as caught:
        cobre.load_results(output)
    assert caught.value.suggestion


@pytest.mark.parametrize("content", [b"", b"[]", b"{}"])
def test_damaged_metadata_of_training_is_an_error_with_the_file(tmp_path, content):
    cobre.train(one_hydro(), output=tmp_path)
    (tmp_path / "training/metadata.json").write_bytes(content)
    with pytest.raises(cobre.ValidationError, match=r"training/metadata\.json is damaged"):
        cobre.load_results(tmp_path)


def test_a_missing_table_names_those_that_are_there(output):
    for path in (output / "simulation/buses").rglob("*.parquet"):
        path.unlink()
    with pytest.raises(cobre.IOError, match="has no table 'buses'") as caught:
        _ = cobre.load_results(output).simulation.buses
    assert "hydros" in caught.value.suggestion


@pytest.mark.parametrize("layout", ["lost", "empty", "foreign"])
def test_scenarios_that_a_table_lacks_or_has_beside_those_of_the_run(output, layout):
    folder = output / "simulation/hydros"
    found = cobre.load_results(output).simulation
    if layout == "lost":
        shutil.rmtree(folder / "scenario_id=0002")
    elif layout == "empty":
        (folder / "scenario_id=0002/data.parquet").unlink()
    else:
        shutil.copytree(folder / "scenario_id=0002", folder / "scenario_id=0017")
    wrong = (
        f"scenario 17, and the simulation had {N}" if layout == "foreign" else f"scenario 2 of {N} is missing"
    )
    for look in (lambda: found.hydros, lambda: found.quantiles("storage_final_hm3", by=("hydro", "stage"))):
        with pytest.raises(
            cobre.ValidationError, match=rf"simulation/hydros is damaged: .*{wrong}"
        ) as caught:
            look()
        assert caught.value.suggestion == "simulate again"


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"\xff\xfe\x00", b"stage_id,block_id,hours\nx,0,1\n"])
def test_damaged_dictionaries_are_an_error_with_the_file(output, content):
    found = cobre.load_results(output).simulation
    (output / "training/dictionaries/stages.csv").write_bytes(content)
    with pytest.raises(cobre.ValidationError, match=r"stages\.csv is damaged"):
        found.quantiles("spot_price", by=("bus", "stage"))
    (output / "training/dictionaries/entities.csv").write_bytes(content)
    with pytest.raises(cobre.ValidationError, match=r"entities\.csv is damaged"):
        _ = found.hydros


def test_hours_that_are_missing(output):
    (output / "training/dictionaries/stages.csv").unlink()
    with pytest.raises(cobre.IOError, match=r"stages\.csv"):
        cobre.load_results(output).simulation.quantiles("spot_price", by=("bus", "stage"))


def test_names_that_are_missing_are_null(output):
    (output / "training/dictionaries/entities.csv").unlink()
    assert cobre.load_results(output).simulation.hydros["hydro_name"].null_count == 2 * N


def test_a_folder_with_tables_of_a_simulation_that_was_killed(tmp_path):
    place = tmp_path / "output" / "simulation" / "costs" / "scenario_id=0000"
    place.mkdir(parents=True)
    (place / "data.parquet").write_bytes(b"of a run that was killed")
    for folder in (tmp_path, tmp_path / "output"):
        with pytest.raises(cobre.IOError, match="a simulation that did not end") as caught:
            cobre.load_results(folder)
        assert "simulate again" in str(caught.value)


def test_a_folder_without_results(tmp_path):
    with pytest.raises(cobre.IOError, match="holds no results"):
        cobre.load_results(tmp_path)
    with pytest.raises(cobre.IOError, match="is not a folder"):
        cobre.load_results(tmp_path / "nowhere")
    with pytest.raises(cobre.IOError, match="holds no simulation"):
        cobre.SimulationResult.load(tmp_path)


def test_a_group_without_a_folder_keeps_statistics_only(policy):
    with LocalCommunicator() as comm:
        result = cobre.simulate(one_hydro(), policy, comm=comm, scenarios=N)
    assert result.scenarios == N
    assert result.mean_cost > 0.0
    with pytest.raises(cobre.CobreError, match="were not kept") as caught:
        _ = result.hydros
    assert "output=" in caught.value.suggestion


def test_temporary_tables_live_as_long_as_the_result(policy):
    result = cobre.simulate(one_hydro(), policy, scenarios=N)
    folder = result.output_directory
    assert folder.exists()
    files = result.output_files
    assert all((folder / name).exists() for name in files)
    del result
    assert not folder.exists()


@pytest.mark.parametrize("given", ["progress_callback", "on_event", "on_note"])
def test_a_callback_that_is_not_callable_is_refused_before_anything_runs(given):
    for verb in (cobre.train, cobre.simulate):
        with pytest.raises(TypeError, match=f"{given} is 3\n  fix: pass a function, or nothing"):
            verb(None, **{given: 3})


def test_progress_counts_scenarios_of_all_ranks(policy):
    events = []
    case = one_hydro()
    cobre.simulate(case, policy, 2, scenarios=130, progress_callback=events.append)
    assert {event.worker_id for event in events} == {0, 1}
    for worker in (0, 1):
        mine = [event for event in events if event.worker_id == worker]
        assert [event.phase for event in mine] == ["simulation"] * len(mine)
        counts = [event.scenarios_complete for event in mine]
        assert counts == sorted(counts)
        assert counts[-1] == 130
        assert {event.scenarios_total for event in mine} == {130}
        assert {event.iteration for event in mine} == {None}
        json.dumps(mine[0].to_dict())


def test_awaited_like_called(policy):
    case = one_hydro()
    result = asyncio.run(cobre.simulate_async(case, policy, scenarios=N))
    assert result.statistics == cobre.simulate(case, policy, scenarios=N).statistics
    trained = asyncio.run(cobre.train_async(case))
    assert trained.policy == policy


def test_as_a_numpy_array(output):
    prices = cobre.load_results(output).simulation.buses["spot_price"].to_numpy()
    assert prices.dtype == np.float64


def test_completion_finds_the_tables_and_results_show_as_one_line(output):
    found = cobre.load_results(output)
    assert {"hydros", "buses", "costs", "stage_summary", "quantiles"} <= set(dir(found.simulation))
    assert "exchanges" not in dir(found.simulation)
    assert repr(found).startswith(
        f"<Results in {output}: training none, simulation <SimulationResult of {N} sc"
    )
    assert len(repr(found).splitlines()) == 1

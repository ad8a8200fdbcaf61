"""Which policies can be simulated: old files, files of other cases, damaged ones, and what to simulate at all."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import replace

import numpy as np
import pytest

import cobre
from cobre.sddp.policy import Policy
from cobre.sddp.policy_file import FILE_NAME
from cobre.sddp.stage_cuts import StageCuts
from sddp.cases import make_case
from sddp.specs import BusSpec, HydroSpec, ThermalSpec
from sddp.trained import settings
from short_runs import iterations, trained_example
from simulation.hand_cases import one_hydro

SHORT = iterations(3, forward_passes=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return trained_example(tmp_path_factory.mktemp("cases") / "example", SHORT)


def version_1(policy: Policy) -> bytes:
    """The file as it was before start bases: the layout is written out here, so that it cannot change unnoticed."""
    arrays = []
    for stage, cuts in enumerate(policy.stages):
        arrays += [
            (f"{stage}/intercepts", cuts.intercepts),
            (f"{stage}/coefficients", cuts.coefficients),
            (f"{stage}/active", cuts.active.astype("u1")),
        ]
    arrays.append(("floors", np.array([cuts.floor for cuts in policy.stages])))
    entries, blobs = [], b""
    for name, array in arrays:
        entry = {"name": name, "dtype": array.dtype.str, "shape": list(array.shape), "offset": len(blobs)}
        entries.append(entry)
        blobs += array.tobytes() + bytes(-array.nbytes % 64)
    facts = {
        "content": "policy",
        "stages": policy.n_stages,
        "state_dimension": policy.state_dimension,
        "state_names": list(policy.state_names),
        "arrays": entries,
        "bytes": len(blobs),
    }
    header = json.dumps(facts, sort_keys=True).encode()
    header += b" " * (-(16 + len(header)) % 64)
    body = struct.pack("<8sII", b"COBREPOL", 1, len(header)) + header + blobs
    return body + hashlib.sha256(body).digest()


def test_a_policy_file_of_version_1_loads_and_simulates(tmp_path):
    case = one_hydro()
    policy = cobre.train(case).policy
    (tmp_path / FILE_NAME).write_bytes(version_1(policy))
    old = Policy.load(tmp_path)
    assert all(len(cuts.basis) == 0 for cuts in old.stages)
    stripped = tuple(replace(cuts, basis=np.empty(0, dtype=np.uint8)) for cuts in policy.stages)
    assert old == replace(policy, stages=stripped, calendar=(), identity=old.identity, plants={})
    assert not old.identity
    ours, theirs = (cobre.simulate(case, each, scenarios=30) for each in (policy, tmp_path))
    # Another start of the solves may end in another vertex, of which this study has none.
    assert theirs.mean_cost == pytest.approx(ours.mean_cost, rel=1e-12)
    assert theirs.hydros["storage_final_hm3"].to_pylist() == pytest.approx(
        ours.hydros["storage_final_hm3"].to_pylist(), abs=1e-9
    )


def test_a_start_basis_of_another_size_is_not_used():
    case = one_hydro()
    policy = cobre.train(case).policy
    odd = tuple(replace(cuts, basis=np.zeros(3, dtype=np.uint8)) for cuts in policy.stages)
    ours, other = (cobre.simulate(case, each, scenarios=10) for each in (policy, replace(policy, stages=odd)))
    assert other.mean_cost == pytest.approx(ours.mean_cost, rel=1e-12)


def river(n_hydros=1, n_stages=2, lags=()):
    return make_case(
        n_stages,
        hours=100.0,
        buses=[BusSpec(load=10.0)],
        thermals=[ThermalSpec()],
        hydros=[HydroSpec(initial=50.0, lags=lags, past=[1.0] * len(lags)) for _ in range(n_hydros)],
        training=settings(2),
    )


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (river(n_stages=3), ["3 stages", "the case 2"]),
        (river(n_hydros=2), ["the case has no storage:1", "2 and 1 components"]),
        (river(lags=[0.5]), ["the case has no inflow_lag1:0"]),
    ],
    ids=["stages", "hydros", "lags"],
)
def test_a_policy_of_another_case_is_refused_with_names(other, words):
    with pytest.raises(cobre.ValidationError) as caught:
        cobre.simulate(river(), cobre.train(other).policy, scenarios=2)
    assert caught.value.kind == "IncompatibleSettings"
    for word in words:
        assert word in str(caught.value)
    assert "trained on this case" in caught.value.suggestion


def results_in(folder):
    """All files but those in which a run tells of itself while it is at work."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files if path.name not in ("run.json", "events.jsonl")}


@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_policy_that_does_not_fit_leaves_earlier_results_alone(tmp_path, num_workers):
    case, other = river(), cobre.train(river(n_hydros=2)).policy
    cobre.simulate(case, cobre.train(case).policy, scenarios=2, output=tmp_path)
    before = results_in(tmp_path)
    with pytest.raises(cobre.CobreError, match=r"the case has no storage:1"):
        cobre.simulate(case, other, num_workers, scenarios=2, output=tmp_path)
    assert results_in(tmp_path) == before
    assert tmp_path / "simulation/_SUCCESS" in before


def test_a_policy_that_lacks_a_state_is_refused_with_names():
    with pytest.raises(cobre.ValidationError, match=r"the policy has no storage:1"):
        cobre.simulate(river(n_hydros=2), cobre.train(river()).policy, scenarios=2)


def test_a_policy_of_another_case_is_refused_on_every_rank():
    policy = cobre.train(river(n_hydros=2)).policy
    with pytest.raises(cobre.WorkerError, match="has no storage:1") as caught:
        cobre.simulate(river(), policy, 2, scenarios=4)
    assert isinstance(caught.value.inner, cobre.ValidationError)


def test_a_policy_without_cuts_simulates_as_if_the_future_were_free():
    case = one_hydro()
    n = case.horizon.n_stages
    empty = StageCuts(np.empty(0), np.empty((0, 1)), np.empty(0, dtype=bool))
    result = cobre.simulate(case, Policy((empty,) * n, 1, ("storage:0",)), scenarios=5)
    first = [row for row in result.costs.to_pylist() if row["stage_id"] == 0]
    assert {row["future_cost"] for row in first} == {0.0}
    assert {row["thermal_cost"] for row in first} == {0.0}  # all from the reservoir


@pytest.mark.parametrize("scenarios", [0, -1, 2.5, True, "10", 2**31, None])
def test_numbers_of_scenarios_that_cannot_be(folder, scenarios):
    overrides = {**SHORT, "simulation": {"num_scenarios": 2**31}} if scenarios is None else SHORT
    with pytest.raises(cobre.ValidationError) as caught:
        cobre.simulate(folder, scenarios=scenarios, config_overrides=overrides)
    shown = 2**31 if scenarios is None else scenarios
    assert repr(shown).strip("'") in str(caught.value)
    assert caught.value.suggestion


def test_a_number_of_numpy_will_do(folder):
    assert cobre.simulate(folder, scenarios=np.int64(3), config_overrides=SHORT).scenarios == 3


def test_a_folder_without_a_policy(folder, tmp_path):
    with pytest.raises(cobre.IOError, match="nowhere does not exist"):
        cobre.simulate(folder, tmp_path / "nowhere", scenarios=2)
    with pytest.raises(cobre.ValidationError, match="holds no policy"):
        cobre.simulate(folder, tmp_path, scenarios=2)
    with pytest.raises(cobre.IOError, match="missing_case"):
        cobre.simulate(tmp_path / "missing_case", folder / "output" / "policy", scenarios=2)


def test_the_output_folder_of_a_run_will_do_for_its_policy(folder, tmp_path):
    output = folder / "output"
    assert Policy.load(output) == Policy.load(output / "policy")
    cobre.simulate(folder, output, scenarios=2, config_overrides=SHORT, output=tmp_path / "new")
    for name in ("hydro_models.json", "model_provenance.json"):
        assert (tmp_path / "new" / "training" / name).read_bytes() == (
            output / "training" / name
        ).read_bytes()


def test_a_case_without_a_folder_needs_a_policy():
    with pytest.raises(TypeError, match="no policy to simulate"):
        cobre.simulate(one_hydro(), scenarios=2)
    with pytest.raises(TypeError, match="5 is no policy\n  fix: pass a cobre.Policy, or the folder of one"):
        cobre.simulate(one_hydro(), 5, scenarios=2)


def test_a_damaged_policy_is_refused(folder, tmp_path):
    data = bytearray((folder / "output" / "policy" / FILE_NAME).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / FILE_NAME).write_bytes(data)
    with pytest.raises(cobre.ValidationError, match="damaged"):
        cobre.simulate(folder, tmp_path, scenarios=2)


def test_refused_before_anything_of_an_earlier_simulation_is_removed(folder, tmp_path):
    cobre.simulate(folder, config_overrides=SHORT, output=tmp_path, scenarios=2)
    for arguments in ({"scenarios": 0}, {"policy": tmp_path / "nowhere"}, {"scenarios": 2, "num_workers": 0}):
        with pytest.raises(cobre.CobreError):
            cobre.simulate(folder, config_overrides=SHORT, output=tmp_path, **arguments)
    assert (tmp_path / "simulation" / "_SUCCESS").exists()
    assert cobre.load_results(tmp_path).simulation.scenarios == 2

"""Policies in the layouts of the public Cobre 0.5 and 0.18: read for simulation, warm start and boundary."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

import numpy as np
import pytest

import cobre
from cobre.errors import ValidationError
from cobre.sddp.policy import Policy
from flatbuffer_writer import Number, write
from sddp.studies import study
from sddp.test_given_cuts import LAGS, boundary_of, cut_to, matched, replace_limit, stages
from sddp.trained import bounds, settings, trained

I32_MIN = -(2**31)


@pytest.fixture(scope="module")
def whole():
    case = study(stages(4, discount=0.95), hydro=LAGS, training=settings(12, 3))
    return case, trained(case)


def cut(fields, slot, intercept, coefficients, is_active):
    place = dict(zip(("intercept", "coefficients", "active"), fields, strict=True))
    return {
        0: Number("Q", slot),
        1: Number("I", slot),
        2: Number("I", 1 + slot // 3),
        3: Number("I", slot % 3),
        place["intercept"]: Number("d", intercept),
        place["coefficients"]: np.asarray(coefficients, dtype=np.float64),
        place["active"]: Number("?", is_active),
    }


def stage_table(number, cuts, fields, unit, empty=0):
    never = [cut(fields, k, 0.0, [], False) for k in range(empty)]
    filled = [
        cut(fields, empty + k, intercept / unit, row / unit, bool(active))
        for k, (intercept, row, active) in enumerate(
            zip(cuts.intercepts, cuts.coefficients, cuts.active, strict=True)
        )
    ]
    return {
        0: Number("I", number),
        1: Number("I", cuts.coefficients.shape[1]),
        2: Number("I", empty + len(cuts.active)),
        3: Number("I", 0),
        4: [*never, *filled],
        6: Number("I", len(cuts.active)),
    }


def write_old(folder, policy, **metadata):
    """As version 0.5.1: in thousands of dollars, with as many empty slots as an iteration has passes."""
    (folder / "cuts").mkdir(parents=True)
    for number, cuts in enumerate(policy.stages[:-1]):
        data = write(stage_table(number, cuts, (5, 6, 8), 1000.0, empty=3))
        (folder / "cuts" / f"stage_{number:03d}.bin").write_bytes(data)
    facts = {
        "cobre_version": "0.5.1",
        "state_dimension": policy.state_dimension,
        "num_stages": policy.n_stages,
    }
    (folder / "metadata.json").write_text(json.dumps({**facts, **metadata}))


def slot_of(name):
    kind, _, plant = name.partition(":")
    is_lag = kind.startswith("inflow_lag")
    depth = int(kind.removeprefix("inflow_lag")) if is_lag else 0
    return {
        0: Number("b", {"storage": 0, "commitment": 2}.get(kind, 1)),
        1: Number("i", int(plant)),
        2: Number("I", depth),
        3: Number("?", True),
        6: Number("i", I32_MIN),
    }


def write_new(folder, policy, *, nodes=None, version=3, software="0.18.0", names=None):
    """As version 0.18: in dollars, with names and dates."""
    (folder / "cuts").mkdir(parents=True)
    for number, cuts in enumerate(policy.stages):
        table = stage_table(number, cuts, (4, 5, 6), 1.0)
        table[7] = [slot_of(name) for name in names or policy.state_names]
        table[8] = Number("d", 1e6)
        table[11] = Number("i", int(policy.calendar[number][1].replace("-", "")))
        (folder / "cuts" / f"{number:03d}.bin").write_bytes(write(table, b"CBVF"))
    nodes = nodes or [(k, k, k) for k in range(policy.n_stages)]
    manifest = {
        0: Number("I", version),
        1: software,
        3: Number("I", policy.n_stages),
        4: Number("I", policy.n_stages),
        5: [{0: Number("i", id), 1: Number("i", stage), 2: Number("I", pool)} for id, stage, pool in nodes],
        20: "cobre",
    }
    (folder / "manifest.bin").write_bytes(write(manifest, b"CBVF"))


def test_a_policy_of_0_18_is_read_with_names_dates_and_dollars(whole, tmp_path):
    _, result = whole
    write_new(tmp_path, result.policy)
    found = Policy.load(tmp_path)
    assert found.state_names == result.policy.state_names
    assert found.calendar == result.policy.calendar
    for mine, theirs in zip(found.stages, result.policy.stages, strict=True):
        assert mine.intercepts.tobytes() == theirs.intercepts.tobytes()
        assert mine.coefficients.tobytes() == theirs.coefficients.tobytes()
        assert mine.active.tobytes() == theirs.active.tobytes()


def test_a_policy_of_0_5_is_read_in_dollars_without_its_empty_slots(whole, tmp_path):
    _, result = whole
    write_old(tmp_path, result.policy)
    found = Policy.load(tmp_path)
    assert (found.state_names, found.calendar) == ((), ())
    assert found.n_stages == 4
    np.testing.assert_allclose(found.stages[0].coefficients, result.policy.stages[0].coefficients, rtol=1e-15)
    np.testing.assert_allclose(found.stages[0].intercepts, result.policy.stages[0].intercepts, rtol=1e-15)


@pytest.mark.parametrize("layout", [write_old, write_new])
def test_it_serves_a_simulation_a_warm_start_and_a_boundary(whole, tmp_path, layout):
    case, result = whole
    layout(tmp_path, result.policy)
    policy = Policy.load(tmp_path)
    ours = cobre.simulate(case, result.policy, scenarios=20)
    assert cobre.simulate(case, policy, scenarios=20).mean_cost == pytest.approx(ours.mean_cost, rel=1e-9)
    warm = trained(replace_limit(case, 1), first_cuts=matched(policy, case).stages)
    assert bounds(warm)[0] >= result.final_lower_bound * (1 - 1e-9)
    half = cut_to(case, 2)
    boundary, _ = boundary_of(policy, half, 1)
    expected, _ = boundary_of(result.policy, half)
    np.testing.assert_allclose(boundary.cuts.rows, expected.cuts.rows, rtol=1e-14)


def test_components_in_another_order_are_sorted_for_a_simulation(whole, tmp_path):
    case, result = whole
    policy = result.policy
    turned = policy.with_state_order([*policy.state_names[2:], *policy.state_names[:2]])
    write_new(tmp_path, turned)
    loaded = Policy.load(tmp_path)
    assert loaded.state_names == turned.state_names
    ours = cobre.simulate(case, replace(policy, stages=tuple(without_basis(policy))), scenarios=10)
    assert cobre.simulate(case, loaded, scenarios=10).costs.equals(ours.costs)


def without_basis(policy):
    return [replace(each, basis=np.empty(0, dtype=np.uint8)) for each in policy.stages]


def test_a_folder_that_an_interrupted_write_left_is_found(whole, tmp_path):
    write_new(tmp_path / "policy.previous", whole[1].policy)
    assert Policy.load(tmp_path / "policy").n_stages == 4


def damage_new(folder, policy, **options):
    write_new(folder, policy, **options)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"version": 2, "software": "0.17.1"}, r"format 2 \(written by cobre 0.17.1\); format 3 is read"),
        ({"nodes": [(0, 0, 0), (1, 1, 1), (2, 1, 2), (3, 2, 3)]}, "only chains of stages are read"),
    ],
)
def test_unknown_contents_of_a_policy_are_refused_by_name(whole, tmp_path, options, reason):
    damage_new(tmp_path, whole[1].policy, **options)
    with pytest.raises(ValidationError, match=reason):
        Policy.load(tmp_path)


def renamed(policy, name):
    """The names of the state with another one for a component on which all cuts depend."""
    return [name if each == "inflow_lag1:0" else each for each in policy.state_names]


def test_a_state_that_the_case_lacks_is_refused_by_name_where_cuts_depend_on_it(whole, tmp_path):
    case, result = whole
    write_new(tmp_path, result.policy, names=renamed(result.policy, "inflow_lag1:7"))
    with pytest.raises(ValidationError, match="the case has no inflow_lag1:7"):
        matched(Policy.load(tmp_path), case)


def test_a_commitment_that_the_case_lacks_is_left_out_and_that_is_said(whole, tmp_path):
    case, result = whole
    write_new(tmp_path, result.policy, names=renamed(result.policy, "commitment:7"))
    (note,) = [note for note in matched(Policy.load(tmp_path), case).notes if "commitment" in note]
    assert "7" in note


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"cobre_version": "0.9.0"}, "it was written by Cobre 0.9.0"),
        ({"state_dimension": 9}, "its state has 4 components, that of the policy 9"),
        ({"num_stages": 2}, "it is about stage 2, and the policy has 2 stages"),
        ({"num_stages": None}, "not the metadata of a policy"),
        ({"num_stages": float("inf")}, "not the metadata of a policy"),
        ({"num_stages": 10**12}, "it has no file of stage 3, and the policy has 1000000000000 stages"),
    ],
)
def test_metadata_of_0_5_must_fit(whole, tmp_path, metadata, reason):
    write_old(tmp_path, whole[1].policy, **metadata)
    with pytest.raises(ValidationError, match=reason):
        Policy.load(tmp_path)


def test_a_policy_of_0_5_that_was_copied_in_part_is_refused(whole, tmp_path):
    write_old(tmp_path, whole[1].policy)
    (tmp_path / "cuts/stage_001.bin").unlink()
    with pytest.raises(ValidationError, match="it has no file of stage 1, and the policy has 4 stages"):
        Policy.load(tmp_path)


def test_a_damaged_file_never_ends_in_anything_but_a_refusal_or_other_numbers(whole, tmp_path):
    """FlatBuffers have no checksum: what can be noticed is noticed, and nothing outside the file is read."""
    small = replace(whole[1].policy, stages=tuple(first_cuts(whole[1].policy, 2)))
    write_new(tmp_path, small)
    for path in (tmp_path / "manifest.bin", tmp_path / "cuts" / "001.bin"):
        whole_file = path.read_bytes()
        for n in range(0, len(whole_file), 17):
            path.write_bytes(whole_file[:n])
            refused_or_read(tmp_path)
            path.write_bytes(whole_file[:n] + bytes([whole_file[n] ^ 0xFF]) + whole_file[n + 1 :])
            refused_or_read(tmp_path)
        path.write_bytes(whole_file)


def first_cuts(policy, n):
    for each in policy.stages:
        yield replace(
            each, intercepts=each.intercepts[:n], coefficients=each.coefficients[:n], active=each.active[:n]
        )


def refused_or_read(folder):
    with contextlib.suppress(cobre.CobreError):
        Policy.load(folder)

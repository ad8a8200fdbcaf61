from __future__ import annotations

import os
import re
from dataclasses import replace

import numpy as np
import pytest

from cobre.errors import IOError, ValidationError
from cobre.sddp.policy import Policy
from cobre.sddp.policy_file import FILE_NAME
from cobre.sddp.stage_cuts import StageCuts


@pytest.fixture
def policy():
    rng = np.random.default_rng(5)
    intercepts = np.array([1.0, 5e-324, -0.0])
    first = StageCuts(intercepts, rng.normal(size=(3, 2)), np.array([True, False, True]))
    last = StageCuts(np.empty(0), np.empty((0, 2)), np.empty(0, dtype=bool))
    return Policy((first, last), 2, ("storage:1", "storage:7"))


def test_a_saved_policy_is_loaded_to_the_bit(policy, tmp_path):
    policy.save(tmp_path / "policy")
    loaded = Policy.load(tmp_path / "policy")
    assert loaded == policy
    assert np.signbit(loaded.cuts(0)["intercepts"][2])
    assert loaded.to_bytes() == policy.to_bytes()
    assert [path.name for path in (tmp_path / "policy").iterdir()] == [FILE_NAME]


def test_the_file_itself_can_be_named(policy, tmp_path):
    policy.save(tmp_path)
    assert Policy.load(tmp_path / FILE_NAME) == policy


def test_summary_counts(policy):
    assert policy.summary() == {
        "stages": 2,
        "state_dimension": 2,
        "total_cuts": 3,
        "cuts_per_stage": [3, 0],
        "active_cuts": 2,
    }


def test_cuts_come_in_slot_order_and_belong_to_the_caller(policy):
    cuts = policy.cuts(0)
    assert cuts["intercepts"].tolist() == [1.0, 5e-324, -0.0]
    cuts["intercepts"][:] = 9.0
    assert policy.cuts(0)["intercepts"][0] == 1.0
    assert policy.cuts(1)["coefficients"].shape == (0, 2)


@pytest.mark.parametrize("stage", [1.5, 1.0, "0"])
def test_a_stage_that_is_no_whole_number_is_refused(policy, stage):
    with pytest.raises(TypeError, match=f"stage {stage!r} is not a whole number\n  fix: count stages from 0"):
        policy.evaluate(stage, [0.0, 0.0])
    assert policy.evaluate(np.int64(1), [0.0, 0.0]) == 0.0


@pytest.mark.parametrize("state", ["full", {"storage:1": 1.0}, [[1.0], [2.0, 3.0]]])
def test_a_state_that_is_no_list_of_numbers_is_refused(policy, state):
    with pytest.raises(TypeError, match="is no list of numbers\n  fix: pass the storages in hm3"):
        policy.evaluate(0, state)


@pytest.mark.parametrize("stage", [-1, 2])
def test_a_stage_that_is_not_there_is_refused(policy, stage):
    with pytest.raises(IndexError, match=r"0\.\.1"):
        policy.cuts(stage)


def test_evaluate_takes_the_best_active_cut():
    cuts = StageCuts(
        np.array([10.0, 99.0, 4.0]), np.array([[-1.0], [0.0], [0.0]]), np.array([True, False, True])
    )
    policy = Policy((cuts,), 1, ("storage:0",))
    assert policy.evaluate(0, [2.0]) == 8.0
    assert policy.evaluate(0, [9.0]) == 4.0


def test_evaluate_of_a_stage_without_cuts_is_zero(policy):
    assert policy.evaluate(1, [0.0, 0.0]) == 0.0


def test_evaluate_says_which_state_it_needs(policy):
    with pytest.raises(ValueError, match=r"shape \(3,\); this policy needs \(2,\)"):
        policy.evaluate(0, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_evaluate_refuses_a_state_that_is_no_number(policy, value):
    with pytest.raises(ValueError, match=r"state\[1\] is (nan|inf)"):
        policy.evaluate(0, [1.0, value])


@pytest.mark.parametrize("cut", [0, 5, 20, 200, -1])
def test_a_file_cut_short_is_refused(policy, tmp_path, cut):
    policy.save(tmp_path)
    data = (tmp_path / FILE_NAME).read_bytes()
    (tmp_path / FILE_NAME).write_bytes(data[:cut])
    with pytest.raises(ValidationError, match="cut short|is not a policy"):
        Policy.load(tmp_path)


def test_every_flipped_byte_is_noticed(policy, tmp_path):
    data = bytearray(policy.to_bytes())
    for position in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        (tmp_path / FILE_NAME).write_bytes(damaged)
        with pytest.raises(ValidationError):
            Policy.load(tmp_path)


def test_an_incomplete_policy_of_the_public_cobre_is_refused_by_name(tmp_path):
    (tmp_path / "cuts").mkdir()
    (tmp_path / "cuts" / "stage_000.bin").write_bytes(b"\x1c\x00\x00\x00\x00\x00\x00\x00FlatBuffers")
    with pytest.raises(
        ValidationError, match="neither manifest.bin nor metadata.json: a policy of the public Cobre"
    ):
        Policy.load(tmp_path)
    with pytest.raises(ValidationError, match="not a policy of this program"):
        Policy.load(tmp_path / "cuts" / "stage_000.bin")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"calendar": ((0, "2030-02-01"),)}, "1 entries of calendar for 2 stages"),
        ({"calendar": ((0, "February"), (1, "2030-03-01"))}, "isoformat string: 'February'"),
        ({"calendar": ((0, "2030-02-01"), (2**31, "2030-03-01"))}, "2147483648"),
        ({"state_names": ("storage:1", "storage")}, "'storage' names no component"),
        ({"node_ids": (1,)}, "1 entries of node_ids for 2 stages"),
        ({"slots": ({"in_transit0:1": ("soon", "later")}, {})}, "isoformat string: 'soon'"),
        ({"plants": {1.5: "UPPER"}}, "float"),
    ],
)
def test_a_whole_file_with_other_things_in_it_is_refused(policy, tmp_path, change, words):
    replace(policy, **change).save(tmp_path)
    with pytest.raises(ValidationError, match=f"is not a policy that this program understands: .*{words}"):
        Policy.load(tmp_path)


@pytest.mark.parametrize(("basis", "is_read"), [(b"\0\4\1", True), (b"\xff\xff", True), (b"\0\5", False)])
def test_a_start_basis_holds_only_bytes_that_the_solver_writes(policy, tmp_path, basis, is_read):
    first = replace(policy.stages[0], basis=np.frombuffer(basis, dtype=np.uint8))
    kept = replace(policy, stages=(first, policy.stages[1]))
    kept.save(tmp_path)
    if is_read:
        assert Policy.load(tmp_path) == kept
        return
    with pytest.raises(ValidationError, match="0/basis holds bytes that no start basis has"):
        Policy.load(tmp_path)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("part", ["intercepts", "coefficients"])
def test_a_cut_that_no_solver_takes_is_refused(policy, tmp_path, part, number):
    numbers = getattr(policy.stages[0], part).copy()
    numbers.flat[0] = number
    first = replace(policy.stages[0], **{part: numbers})
    replace(policy, stages=(first, policy.stages[1])).save(tmp_path)
    with pytest.raises(
        ValidationError, match=rf"0/{part} holds {re.escape(str(number))}, which is no number"
    ):
        Policy.load(tmp_path)


def test_a_stage_without_a_date_is_read_and_shown(policy, tmp_path):
    """As the public Cobre has it where nothing follows a stage."""
    dated = replace(policy, calendar=((0, "2030-02-01"), (1, "")))
    dated.save(tmp_path)
    assert Policy.load(tmp_path) == dated
    assert "2030-01" in dated._repr_html_()


def test_a_newer_version_is_refused(policy, tmp_path):
    data = bytearray(policy.to_bytes())
    data[8] = 9
    (tmp_path / FILE_NAME).write_bytes(data)
    with pytest.raises(ValidationError, match="version 9"):
        Policy.load(tmp_path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(IOError, match="does not exist"):
        Policy.load(tmp_path / "nowhere")
    with pytest.raises(ValidationError, match="holds no policy"):
        Policy.load(tmp_path)


def test_saving_where_nothing_can_be_written(policy, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(IOError, match="cannot write"):
        policy.save(tmp_path / "file")


def test_a_full_disk_leaves_the_old_policy(policy, tmp_path, monkeypatch):
    policy.save(tmp_path)
    before = (tmp_path / FILE_NAME).read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(IOError, match="No space left") as caught:
        policy.save(tmp_path)
    assert "free some space" in caught.value.suggestion
    assert (tmp_path / FILE_NAME).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_the_table_of_cuts_has_ids_or_names_of_plants(policy, tmp_path):
    named = replace(policy, plants={1: "UPPER", 7: "LOWER"})
    named.save(tmp_path)
    loaded = Policy.load(tmp_path)
    assert loaded == named
    assert loaded.cuts().column_names[-2:] == ["storage:1", "storage:7"]
    assert loaded.cuts(names=True).column_names[-2:] == ["storage:UPPER", "storage:LOWER"]
    assert loaded.cuts(names=True)["storage:LOWER"] == loaded.cuts()["storage:7"]
    assert policy.cuts(names=True).column_names[-2:] == ["storage:1", "storage:7"]  # it knows none


def test_plants_of_the_same_name_stay_apart(policy):
    twins = replace(policy, plants={1: "TWIN", 7: "TWIN"})
    assert twins.cuts(names=True).column_names[-2:] == ["storage:TWIN (1)", "storage:TWIN (7)"]


def test_a_policy_without_names_shows_all_its_numbers_and_refuses_to_guess_plants(policy):
    nameless = replace(policy, state_names=())
    assert nameless.cuts().column_names[-2:] == ["component:0", "component:1"]
    assert nameless.evaluate(0, [1.0, 2.0]) == policy.evaluate(0, [1.0, 2.0])
    with pytest.raises(ValueError, match="which component of its state is the storage of which plant"):
        nameless.water_values(0, [1.0, 2.0])

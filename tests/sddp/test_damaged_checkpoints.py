"""Damaged, truncated, foreign and newer checkpoints: the older one is used and that is said, or they are refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cobre
from cobre.core.case import Conventions
from cobre.core.config import Checkpointing, PolicyConfig, SolverRetries, UpperBoundEvaluation
from cobre.sddp.checkpoint import MAGIC, VERSION, TrainingState
from cobre.sddp.checkpointing import checkpoints_in
from cobre.sddp.container import PREFIX, decode, encode
from cobre.sddp.identity import check_identity, differences
from sddp.studies import study
from sddp.trained import digest, settings, with_training


def case_of(iterations=3, passes=2):
    case = study(training=settings(iterations, passes))
    policy = PolicyConfig(checkpointing=Checkpointing(interval_iterations=1))
    return replace(case, config=replace(case.config, policy=policy))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a run with checkpoints after iterations 2 and 3, and the digest of a run to iteration 5."""
    folder = tmp_path_factory.mktemp("saved")
    cobre.train(case_of(), output=folder)
    return folder, digest(cobre.train(case_of(5)))


def header_changed(change):
    """A file with a right checksum and another header."""

    def damage(path):
        facts, arrays = decode(path.read_bytes(), MAGIC, range(1, VERSION + 1), path, content="checkpoint")
        change(facts, arrays)
        path.write_bytes(encode(MAGIC, VERSION, facts, arrays))

    return damage


def raw(change):
    """A file with other bytes."""

    def damage(path):
        path.write_bytes(change(path.read_bytes()))

    return damage


def flipped(position):
    def change(data):
        damaged = bytearray(data)
        damaged[position] ^= 0x04
        return bytes(damaged)

    return raw(change)


def rehashed(change):
    """Other bytes with a checksum that is right for them."""

    def damage(path):
        body = bytearray(path.read_bytes()[:-32])
        change(body)
        path.write_bytes(bytes(body) + hashlib.sha256(body).digest())

    return damage


def with_version(number):
    def change(body):
        body[8:12] = struct.pack("<I", number)

    return rehashed(change)


def not_json(body):
    body[PREFIX.size : PREFIX.size + 2] = b"?!"


def longer_array(header):
    """An array that claims to be larger than the file."""
    longest = max(header["arrays"], key=lambda array: len(str(array["shape"])))
    longest["shape"] = [int("9" * (len(str(longest["shape"])) - 2))]
    return header


def foreign_codec(header):
    """Arrow's error for it is a NotImplementedError."""
    array = next(array for array in header["arrays"] if array["name"] == "bound_bases")
    del array["shape"], array["dtype"]
    header["arrays"] = [{**array, "shape": [1], "dtype": "|u1", "stored_bytes": 1, "codec": "lzo"}]
    return header


def with_shape(*shape):
    """A compressed array of a length for which Arrow's error is a SystemError."""

    def change(header):
        header = foreign_codec(header)
        header["arrays"] = [{**array, "shape": shape, "codec": "zstd"} for array in header["arrays"]]
        return header

    return json_changed(change)


def with_number(name, number):
    """That number in place of the first one of an array."""

    def change(facts, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name].flat[0] = number

    return header_changed(change)


def json_changed(change):
    """Another header of the same length, with a right checksum."""

    def damage(body):
        length = struct.unpack_from("<I", body, 12)[0]
        changed = change(json.loads(body[PREFIX.size : PREFIX.size + length]))
        text = json.dumps(changed, sort_keys=True).encode()
        assert len(text) <= length
        body[PREFIX.size : PREFIX.size + length] = text + b" " * (length - len(text))

    return rehashed(damage)


def fewer_rows(name):
    return header_changed(lambda facts, arrays: arrays.update({name: arrays[name][:-1]}))


def into_a_dangling_link(path):
    path.unlink()
    path.symlink_to("nowhere")


def into_a_policy(path):
    shutil.copy(path.parent.parent / "policy/policy.cobre", path)


DAMAGE = {
    "empty": raw(lambda data: b""),
    "cut in the first bytes": raw(lambda data: data[:5]),
    "cut in the prefix": raw(lambda data: data[:14]),
    "cut in the header": raw(lambda data: data[:200]),
    "cut in the middle": raw(lambda data: data[: len(data) // 2]),
    "cut by one byte": raw(lambda data: data[:-1]),
    "longer by one byte": raw(lambda data: data + b"\0"),
    "a bit of the magic": flipped(2),
    "a bit of the header": flipped(100),
    "a bit of the numbers": flipped(-5000),
    "a bit of the checksum": flipped(-3),
    "zeros of the same length": raw(lambda data: bytes(len(data))),
    "zeros at the end": raw(lambda data: data[: len(data) // 2] + bytes(len(data) - len(data) // 2)),
    "random bytes": raw(lambda data: np.random.default_rng(1).bytes(len(data))),
    "a text file": raw(lambda data: b"iteration 3\n"),
    "a policy": into_a_policy,
    "newer": with_version(VERSION + 1),
    "version 0": with_version(0),
    "a header without end": rehashed(lambda body: body.__setitem__(slice(12, 16), b"\xff" * 4)),
    "a header that is not JSON": rehashed(not_json),
    "an array beyond the end": json_changed(longer_array),
    "a header that is a text": json_changed(lambda header: "checkpoint"),
    "a codec that Arrow does not have": json_changed(foreign_codec),
    "an array of negative length": with_shape(-2),
    "an array of more bytes than numbers can count": with_shape(2**62, 3),
    "a cut that is not finite": with_number("1/rows", np.nan),
    "a cut that no solver takes": with_number("1/rows", -1e307),
    "no records": header_changed(lambda facts, arrays: facts.pop("records")),
    "an unknown field in a record": header_changed(lambda facts, arrays: facts["records"][0].update(x=1)),
    "no bases": header_changed(lambda facts, arrays: arrays.pop("bound_bases")),
    "an identity that is a list": header_changed(lambda facts, arrays: facts.update(identity=["a"])),
    "a bound that is a text": header_changed(
        lambda facts, arrays: facts["records"][2].update(lower_bound="1")
    ),
    "a bound without a square": header_changed(
        lambda facts, arrays: facts["records"][2].update(upper_bound_std=1e308)
    ),
    "an id of a stage that no table holds": header_changed(
        lambda facts, arrays: facts["logs"][0]["stage_ids"].__setitem__(1, 2**63)
    ),
    "a count that is a truth value": header_changed(
        lambda facts, arrays: facts["records"][2].update(cuts_added=True)
    ),
    "a count that fits no column": header_changed(
        lambda facts, arrays: facts["records"][2].update(cuts_active=2**64)
    ),
    "a basis with other bytes": header_changed(
        lambda facts, arrays: arrays.update({"1/forward_bases": arrays["1/forward_bases"] + np.uint8(32)})
    ),
    "an iteration too few": header_changed(lambda facts, arrays: facts["records"].pop(0)),
    "single precision": header_changed(
        lambda facts, arrays: arrays.update({"1/rows": arrays["1/rows"].astype(np.float32)})
    ),
    "a cut without its activity": fewer_rows("1/active"),
    "times of fewer iterations": header_changed(
        lambda facts, arrays: arrays.update({"log0/times": arrays["log0/times"][:, :-1]})
    ),
    "one stage too few": header_changed(lambda facts, arrays: facts.update(stages=facts["stages"] - 1)),
    "one stage too many": header_changed(lambda facts, arrays: facts.update(stages=facts["stages"] + 1)),
    "a link to nowhere": into_a_dangling_link,
}


def copy_of(saved, tmp_path):
    folder = shutil.copytree(saved[0], tmp_path / "run")
    return folder, checkpoints_in(folder / "checkpoint")


@pytest.mark.parametrize("kind", DAMAGE)
def test_the_older_one_is_used_and_that_is_said(saved, tmp_path, kind):
    folder, (newest, older) = copy_of(saved, tmp_path)
    DAMAGE[kind](newest)
    notes = []
    result = cobre.train(case_of(5), output=folder, resume=True, on_note=notes.append)
    assert digest(result) == saved[1]
    assert str(newest) in notes[0]
    assert notes[0].endswith("the checkpoint before it is used")
    assert notes[1] == f"continues after iteration 2 of {older}"


@pytest.mark.parametrize("kind", DAMAGE)
def test_without_an_older_one_it_is_refused(saved, tmp_path, kind):
    folder, (newest, older) = copy_of(saved, tmp_path)
    older.unlink()
    DAMAGE[kind](newest)
    with pytest.raises(cobre.CobreError, match="no checkpoint in .* can be used") as caught:
        cobre.train(case_of(5), output=folder, resume=True)
    assert str(newest) in caught.value.message
    assert "--fresh" in caught.value.suggestion
    assert caught.value.exit_status == 2
    assert checkpoints_in(folder / "checkpoint") == [newest]


@pytest.mark.parametrize("name", ["1/forward_bases", "bound_bases"])
def test_a_checkpoint_with_bases_of_fewer_solves_than_the_study_has_is_refused(saved, tmp_path, name):
    folder, (newest, _) = copy_of(saved, tmp_path)
    fewer_rows(name)(newest)
    with pytest.raises(cobre.ValidationError, match="does not fit the study: it has 4 stages"):
        cobre.train(case_of(5), output=folder, resume=True)


@pytest.mark.parametrize("name", ["1/forward_bases", "bound_bases"])
def test_a_checkpoint_with_bases_of_another_program_is_refused(saved, tmp_path, name):
    folder, (newest, _) = copy_of(saved, tmp_path)
    header_changed(lambda facts, arrays: arrays.update({name: arrays[name][:, :3]}))(newest)
    with pytest.raises(cobre.ValidationError, match=r"start bases of stage \d have 3 entries, its program"):
        cobre.train(case_of(5), output=folder, resume=True)


def other_study(case):
    """Other settings, in the other generation of the case format."""
    inner = UpperBoundEvaluation(first_iteration=2, fallback_value=1000.0)
    training = replace(case.config.training, tree_seed=7, forward_passes=3, upper_bound=inner)
    conventions = Conventions(diversion_is_outflow=False, withdrawal_is_limited=True)
    return replace(with_training(case, training), conventions=conventions)


def test_a_checkpoint_of_another_study_is_refused_with_every_difference(saved, tmp_path):
    folder, _ = copy_of(saved, tmp_path)
    with pytest.raises(cobre.ValidationError) as caught:
        cobre.train(other_study(case_of(5)), output=folder, resume=True)
    assert "training.tree_seed was 42, now 7" in caught.value.message
    assert "the number of forward passes (training.selection) was 2, now 3" in caught.value.message
    assert "upper_bound_evaluation was none, now first_iteration 2, " in caught.value.message
    assert "was 0.5.1, now 0.18" in caught.value.message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda horizon: {"stages": (*horizon.stages[:3], replace(horizon.stages[3], n_openings=2))},
            r"\(stages.json\) changed: stages\.n_openings, stages\[3\]\n",
        ),
        (lambda horizon: {"stages": horizon.stages[:3]}, r"changed: stages\[3\]\n"),
    ],
)
def test_a_refusal_names_the_stage_that_changed(saved, change, words):
    state = TrainingState.load(checkpoints_in(saved[0] / "checkpoint")[0])
    case = case_of(5)
    changed = replace(case, horizon=replace(case.horizon, **change(case.horizon)))
    with pytest.raises(cobre.ValidationError, match=words):
        check_identity(state.identity, changed, None, Path("x"))


def test_stages_are_named_in_their_order():
    saved = {f"horizon.stages[{k}]": "old" for k in (0, 10, 11, 6, 7, 8, 9)} | {"horizon": "old"}
    now = {"horizon.stages[0]": "old", "horizon": "new"}
    (said,) = differences(saved, now, ["horizon"])
    assert "changed: stages[6], stages[7], stages[8], stages[9], stages[10], 1 more" in said


def test_more_retries_of_the_solver_are_no_other_study(saved, tmp_path):
    """Retries come in a fixed order: more of them give no other numbers, only fewer failures."""
    folder, _ = copy_of(saved, tmp_path)
    case = case_of(5)
    patient = with_training(case, replace(case.config.training, retries=SolverRetries(2, 60.0)))
    assert digest(cobre.train(patient, output=folder, resume=True)) == saved[1]


def test_a_refusal_names_the_numbers_that_changed(saved, tmp_path):
    folder, _ = copy_of(saved, tmp_path)
    case = case_of(5)
    thermal = replace(case.tables.thermal, cost_per_mwh=case.tables.thermal.cost_per_mwh + 1.0)
    changed = replace(case, tables=replace(case.tables, thermal=thermal))
    with pytest.raises(cobre.ValidationError, match=r"changed: thermal\.cost_per_mwh\n"):
        cobre.train(changed, output=folder, resume=True)


def test_a_file_in_place_of_the_folder_of_a_run_is_refused(saved):
    newest = checkpoints_in(saved[0] / "checkpoint")[0]
    with pytest.raises(cobre.ValidationError, match="is a file: .*\n  fix: pass .*/checkpoint; the newest"):
        cobre.train(case_of(5), resume=newest)


@pytest.mark.parametrize("verb", ["warm_start", "boundary"])
def test_objects_that_are_no_policy_are_refused(verb):
    with pytest.raises(TypeError, match="5 is no policy\n  fix: pass a cobre.Policy, or the folder of one"):
        cobre.train(case_of(5), **{verb: 5})


def test_a_checkpoint_with_another_boundary_is_refused(saved, tmp_path):
    folder, (newest, _) = copy_of(saved, tmp_path)
    state = TrainingState.load(newest)
    replace(state, identity={**state.identity, "boundary": "1234"}).save(newest)
    with pytest.raises(cobre.ValidationError, match=r"the cuts of policy.boundary changed"):
        cobre.train(case_of(5), output=folder, resume=True)


def test_a_file_that_a_killed_run_was_writing_is_removed_and_not_read(saved, tmp_path):
    folder, (newest, _) = copy_of(saved, tmp_path)
    half = newest.with_name(f".{newest.name}.abc123")
    half.write_bytes(newest.read_bytes()[:1000])
    cobre.train(case_of(5), output=folder, resume=True)
    assert not half.exists()


def test_a_folder_that_takes_no_checkpoints_is_refused_before_the_first_iteration(tmp_path):
    (tmp_path / "checkpoint").touch()
    seen = []
    with pytest.raises(
        cobre.IOError, match="cannot write checkpoints into .*: it is no folder\n  fix: remove it"
    ):
        cobre.train(case_of(), output=tmp_path, progress_callback=seen.append)
    assert seen == []


def test_a_full_disk_ends_training_with_the_old_checkpoint_in_place(saved, tmp_path, monkeypatch):
    folder, (newest, older) = copy_of(saved, tmp_path)
    before = newest.read_bytes()
    os.truncate(older, 0)

    sync = os.fsync

    def full(descriptor):
        if "iteration_" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(28, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr("cobre.files.os.fsync", full)
    with pytest.raises(cobre.IOError) as caught:
        cobre.train(case_of(5), output=folder, resume=True)
    monkeypatch.undo()
    assert caught.value.kind == "CheckpointFailed"
    assert "free some space" in caught.value.suggestion
    assert newest.read_bytes() == before
    assert not [path for path in (folder / "checkpoint").iterdir() if path.name.startswith(".")]
    assert digest(cobre.train(case_of(5), output=folder, resume=True)) == saved[1]


def test_the_older_one_is_removed_only_after_the_name_of_the_newest_is_on_the_disk(tmp_path, monkeypatch):
    """Of a rename that no fsync of the folder follows a power failure may leave nothing."""
    seen = []
    sync = os.fsync

    def watch(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").readlink() == tmp_path / "checkpoint":
            seen.append([path.name[-12:-11] for path in checkpoints_in(tmp_path / "checkpoint")])
        sync(descriptor)

    monkeypatch.setattr("cobre.files.os.fsync", watch)
    cobre.train(case_of(4), output=tmp_path)
    assert seen == [["1"], ["2", "1"], ["3", "2", "1"], ["4", "3", "2"]]

"""Each check of the conformance kit can fail, and passes on a communicator that is right."""

from __future__ import annotations

import pytest

from cobre.comm.testing import CHECKS, Context, Failure, choose, digest, run_checks
from faulty import CHUNK_BYTES, all_faulty
from faulty.threaded import HeapCommunicator, ThreadedCommunicator, run_threaded

FAULTY = sorted(all_faulty(), key=lambda cls: cls.__name__)
BY_NAME = {check.name: check for check in CHECKS}
LIMITS = {"chunk_bytes": CHUNK_BYTES}
FORKING = "forked_children_are_refused"  # only where no other rank is a thread of the same process


def run_one(comm, check):
    """One check; the huge one with a payload that only its faulty communicator calls huge."""
    if check.huge:
        return check.run(comm, Context(check.name, huge_bytes=2**16 + 4099))
    return run_checks(comm, [check.name], limits=LIMITS)


@pytest.mark.parametrize("cls", FAULTY, ids=lambda cls: cls.__name__)
def test_a_faulty_communicator_is_noticed(cls):
    outcomes = run_threaded(lambda comm: run_one(comm, BY_NAME[cls.caught_by]), cls.ranks, cls)
    assert any(is_finding(outcome, cls.raises) for outcome in outcomes), outcomes


def is_finding(outcome, raises):
    """Whether the check itself found the fault, or the faulty communicator raised what it is meant to raise.

    Any other exception inside a check is a bug of the faulty communicator, and must not count.
    """
    cause = outcome.__cause__ if isinstance(outcome, Failure) and outcome.__cause__ else outcome
    return isinstance(cause, Failure) or (bool(raises) and isinstance(cause, raises))


@pytest.mark.few(3)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("cls", [ThreadedCommunicator, HeapCommunicator], ids=lambda cls: cls.__name__)
def test_correct_communicator_passes_every_check(cls, ranks):
    names = [check.name for check in choose(None, ranks) if ranks == 1 or check.name != FORKING]
    # No check waits for a timeout here.
    outcomes = run_threaded(
        lambda comm: run_checks(comm, names, limits=LIMITS), ranks, cls, deadline_s=120.0, timeout_s=60.0
    )
    assert outcomes == [len(names)] * ranks


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_correct_communicator_passes_the_huge_check(ranks):
    check = BY_NAME["payloads_pass_4_gib"]
    assert run_threaded(lambda comm: run_one(comm, check), ranks) == [None] * ranks


def test_every_check_notices_a_faulty_communicator():
    assert {cls.caught_by for cls in FAULTY} == set(BY_NAME)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_every_check_states_its_promise(check):
    assert check.promise.endswith(".")


def test_digest_is_equal_on_every_rank_and_kind_of_communicator():
    digests = {
        outcome
        for cls in (ThreadedCommunicator, HeapCommunicator)
        for outcome in run_threaded(lambda comm: digest(comm, seed=3), 3, cls)
    }
    assert len(digests) == 1


def test_digest_depends_on_the_seed():
    assert len({run_threaded(lambda comm, seed=seed: digest(comm, seed), 1)[0] for seed in range(3)}) == 3


def test_unknown_check_is_refused_with_the_known_names():
    with pytest.raises(ValueError, match="barrier_holds_everyone_back"):
        choose(["no_such_check"], 2)

"""Files that earlier versions wrote stay readable: one example of each version is kept beside this test.

All are of one small study: three stages, one reservoir with one inflow lag, three iterations of two passes. An example
is never written again; a new version of a format adds one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from cobre.errors import ValidationError
from cobre.sddp.checkpoint import VERSION as CHECKPOINT_VERSION
from cobre.sddp.checkpoint import TrainingState
from cobre.sddp.policy import Policy
from cobre.sddp.policy_file import VERSION as POLICY_VERSION

STORED = Path(__file__).parent / "stored"
LOWER_BOUND = 808025.728045176
FUTURE_COST = 536782.4949815808
"""After the first stage at a storage of 3 hm3 and a lag of 4 m3/s."""


@pytest.mark.parametrize("version", range(1, POLICY_VERSION + 1))
def test_a_policy_of_every_version_is_read(version):
    policy = Policy.load(STORED / f"policy_v{version}.cobre")
    assert policy.evaluate(0, [3.0, 4.0]) == FUTURE_COST
    assert policy.state_names == ("storage:0", "inflow_lag1:0")
    assert policy.summary()["cuts_per_stage"] == [6, 6, 0]
    assert bool(len(policy.stages[0].basis)) == (version >= 2)
    ends = ("2030-02-01", "2030-03-01", "2030-04-01")
    assert policy.calendar == (tuple(enumerate(ends)) if version >= 3 else ())
    assert bool(policy.identity) == (version >= 3)
    assert policy.plants == ({0: "H0"} if version >= 4 else {})
    assert policy.slots == ()


def test_a_policy_of_an_older_version_is_saved_in_the_newest(tmp_path):
    old = Policy.load(STORED / "policy_v1.cobre")
    old.save(tmp_path)
    assert Policy.load(tmp_path) == old


@pytest.mark.parametrize("version", range(1, CHECKPOINT_VERSION + 1))
@pytest.mark.parametrize("suffix", ["", "_compressed"])
def test_a_checkpoint_of_every_version_is_read(version, suffix):
    state = TrainingState.load(STORED / f"checkpoint_v{version}{suffix}.checkpoint")
    assert state.iteration == 3
    assert state.records[-1].lower_bound == LOWER_BOUND
    assert [len(pool.rows) for pool in state.pools] == [6, 6, 0]
    assert [bases.shape[0] for bases in state.forward_bases] == [2, 2, 2]
    assert state.simulated_distance == (0.125 if version >= 2 else None)
    assert bool(state.writer) == (version >= 2)


def test_units_other_than_ours_are_refused_by_name(tmp_path):
    data = (STORED / "policy_v3.cobre").read_bytes()
    body = data[:-32].replace(b'"storage": "hm3"', b'"storage": "km3"')
    (tmp_path / "policy.cobre").write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(ValidationError, match="units are .*km3"):
        Policy.load(tmp_path)

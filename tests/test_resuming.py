"""Which checkpoint a run continues from, and what it keeps of the folder that it writes into."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

import cobre
from cobre.core.config import Checkpointing, IterationLimit, PolicyConfig, SimulationStopping
from cobre.sddp.checkpointing import checkpoints_in
from cobre.study import Restart, RunPlan, run_case
from sddp.studies import study
from sddp.trained import digest, settings, trained, with_training


def case_of(iterations=4, interval=1, **policy):
    case = study(training=settings(iterations, 2))
    checkpointing = Checkpointing(interval_iterations=interval)
    return replace(
        case, config=replace(case.config, policy=PolicyConfig(checkpointing=checkpointing, **policy))
    )


def names(folder):
    return [path.name for path in checkpoints_in(folder / "checkpoint")]


def numbered(*iterations):
    return [f"iteration_{iteration:06d}.checkpoint" for iteration in iterations]


class Stopped(Exception):
    pass


def stop(event):
    raise Stopped


def age(folder):
    """Make the checkpoints of a run older than any launch."""
    for path in checkpoints_in(folder / "checkpoint"):
        os.utime(path, (1.0, 1.0))


def with_simulation_rule(case):
    rule = SimulationStopping(
        replications=5, period=1, bound_window=1, distance_tolerance=0.5, bound_tolerance=0.5
    )
    return with_training(case, replace(case.config.training, stopping_rules=(rule, IterationLimit(30))))


def test_a_run_that_its_simulation_rule_ended_is_not_continued(tmp_path):
    """It may have been killed after its last checkpoint and before its results were written."""
    case = with_simulation_rule(case_of())
    whole = cobre.train(case, output=tmp_path)
    assert whole.termination_reason == "simulation"
    continued = cobre.train(case, output=tmp_path, resume=True)
    assert digest(continued) == digest(whole)


def test_a_restart_before_the_next_checkpoint_continues_where_the_first_attempt_did(tmp_path):
    """policy.mode is resume; the attempt that died had saved nothing of its own."""
    cobre.train(case_of(3), output=tmp_path)
    age(tmp_path)
    notes = []
    case = case_of(6, mode="resume")
    result = cobre.train(case, output=tmp_path, resume=Restart(time.time() - 60.0), on_note=notes.append)
    assert notes == [
        f"continues after iteration 3 of {tmp_path / 'checkpoint' / 'iteration_000003.checkpoint'}"
    ]
    assert digest(result) == digest(trained(case_of(6)))


def test_a_worker_that_dies_before_the_first_checkpoint_of_a_resumed_run_loses_nothing(tmp_path):
    from test_restarts import LONG, Killer

    other = tmp_path / "other"
    cobre.train(case_of(3), output=other)
    age(other)
    notes = []
    result = cobre.train(
        case_of(LONG, interval=1000),
        2,
        "shm",
        None,
        Killer(4),
        tmp_path / "out",
        resume=other,
        on_note=notes.append,
        max_restarts=1,
    )
    assert digest(result) == digest(trained(case_of(LONG)))
    assert sum("continues after iteration 3" in note for note in notes) == 2


def test_checkpoints_of_a_longer_run_in_the_folder_do_not_displace_those_of_this_one(tmp_path):
    cobre.train(case_of(2), output=tmp_path / "short")
    cobre.train(case_of(7), output=tmp_path / "long")
    cobre.train(case_of(4), output=tmp_path / "long", resume=tmp_path / "short")
    assert names(tmp_path / "long") == numbered(4, 3)


def test_an_unfinished_run_is_not_displaced_by_one_that_continues_another_folder(tmp_path):
    cobre.train(case_of(2), output=tmp_path / "short")
    with pytest.raises(Stopped):
        cobre.train(case_of(5), output=tmp_path / "out", progress_callback=stop)
    with pytest.raises(cobre.IOError, match="holds a run that did not end") as refused:
        cobre.train(case_of(4), output=tmp_path / "out", resume=tmp_path / "short")
    assert refused.value.kind == "UnfinishedRun"
    assert names(tmp_path / "out") == numbered(1)


def test_a_checkpoint_that_cannot_be_read_is_gone_once_a_newer_one_is_written(tmp_path):
    cobre.train(case_of(3), output=tmp_path)
    (tmp_path / "checkpoint/iteration_000003.checkpoint").write_bytes(b"")
    cobre.train(case_of(3, interval=100), output=tmp_path, resume=True)
    assert names(tmp_path) == numbered(3, 2)
    beyond = tmp_path / "checkpoint/iteration_000009.checkpoint"
    beyond.write_bytes(b"")
    cobre.train(case_of(5), output=tmp_path, resume=True)
    assert names(tmp_path) == numbered(5, 4)


def test_the_policy_of_a_warm_start_is_there_until_the_new_one_replaces_it(tmp_path):
    before = cobre.train(case_of(2), output=tmp_path).policy
    with pytest.raises(Stopped):
        cobre.train(case_of(2, interval=100, mode="warm_start"), output=tmp_path, progress_callback=stop)
    assert cobre.Policy.load(tmp_path / "policy") == before


def test_a_run_whose_simulation_did_not_end_is_not_trained_again_unasked(tmp_path):
    case = case_of(2)
    result = cobre.train(case, output=tmp_path)
    with pytest.raises(Stopped):
        cobre.simulate(case, result.policy, output=tmp_path, scenarios=3, progress_callback=stop)
    with pytest.raises(cobre.IOError, match="training is finished and its simulation is not") as caught:
        cobre.train(case, output=tmp_path)
    assert "--resume" in caught.value.suggestion
    assert digest(cobre.train(case, output=tmp_path, resume=True)) == digest(result)


def test_a_run_whose_simulation_lost_a_worker_says_how_to_continue(tmp_path):
    def lose(event):
        if event.phase == "simulation":
            raise cobre.WorkerError(1, -9)

    with pytest.raises(cobre.WorkerError) as caught:
        run_case(case_of(2), RunPlan(scenarios=3), output=tmp_path, progress_callback=lose)
    assert caught.value.suggestion == "continue after iteration 2 with --resume (in Python resume=True)"

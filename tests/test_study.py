from __future__ import annotations

import datetime as dt
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import pyarrow.parquet as pq
import pytest

import cobre
from case_folders import shuffled_copy
from cobre.comm import LocalCommunicator, run
from cobre.io.examples import write_example
from cobre.io.write import RunRecord
from cobre.study import read_results
from sddp.studies import study
from sddp.test_training import impossible
from sddp.trained import digest, settings
from system_calls import NUMBERS

LIMIT = {"training": {"forward_passes": 3, "stopping_rules": [{"type": "iteration_limit", "limit": 4}]}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cases") / "example"
    write_example(path)
    return path


@pytest.fixture(scope="module")
def alone(folder):
    return cobre.train(cobre.load_case(folder), config_overrides=LIMIT)


def test_overrides_are_laid_over_the_settings(alone):
    assert alone.iterations == 4
    assert alone.total_cuts == 3 * 4 * 11


def test_a_case_may_be_given_as_a_folder(folder, alone):
    assert digest(cobre.train(folder, config_overrides=LIMIT)) == digest(alone)


def test_an_unknown_override_is_refused(folder):
    with pytest.raises(cobre.ValidationError, match="forward_pases"):
        cobre.train(cobre.load_case(folder), config_overrides={"training": {"forward_pases": 3}})


def test_overrides_need_a_case_from_a_folder():
    with pytest.raises(cobre.CobreError, match="not read from a folder"):
        cobre.train(study(training=settings(1)), config_overrides=LIMIT)


@pytest.mark.few(1)
@pytest.mark.parametrize(("n_workers", "backend"), [(2, "auto"), (3, "tcp"), (1, "shm")])
def test_workers_give_the_same_bits_and_report_in_order(folder, alone, n_workers, backend):
    events = []
    result = cobre.train(folder, n_workers, backend, LIMIT, progress_callback=events.append)
    assert digest(result) == digest(alone)
    for worker in range(n_workers):
        mine = [event for event in events if event.worker_id == worker]
        assert [event.iteration for event in mine] == [1, 2, 3, 4]
        assert [event.lower_bound for event in mine] == result.convergence_history["lower_bound"].to_pylist()
    if n_workers == 1:
        assert result.workers is None
    else:
        assert [worker.rank for worker in result.workers] == list(range(n_workers))
        assert {worker.backend for worker in result.workers} == {"shm" if backend == "auto" else backend}
        assert all(worker.wall_time_ms > 0.0 for worker in result.workers)


def _as_one_rank(comm, folder):
    case = cobre.load_case(folder) if comm.rank == 0 else None
    return digest(cobre.train(case, config_overrides=LIMIT, comm=comm))


def test_a_group_that_is_there_trains_and_every_rank_gets_the_result(folder, alone):
    assert run(_as_one_rank, num_workers=2, args=(folder,)) == [digest(alone)] * 2


def test_nothing_is_written_unless_asked(folder, alone):
    assert not (folder / "output").exists()


def test_what_is_written(folder, alone, tmp_path):
    result = cobre.train(folder, config_overrides=LIMIT, output=tmp_path / "out")
    files = sorted(
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()
    )
    assert files == [
        "_SUCCESS",
        "checkpoint/iteration_000004.checkpoint",
        "hydro_models/evaporation_models.parquet",
        "policy/policy.cobre",
        "training/_SUCCESS",
        "training/convergence.parquet",
        "training/dictionaries/bounds.parquet",
        "training/dictionaries/codes.json",
        "training/dictionaries/entities.csv",
        "training/dictionaries/stages.csv",
        "training/dictionaries/state_dictionary.json",
        "training/dictionaries/variables.csv",
        "training/events.jsonl",
        "training/hydro_models.json",
        "training/metadata.json",
        "training/model_provenance.json",
        "training/run.json",
        "training/solver/iterations.parquet",
        "training/solver/retry_histogram.parquet",
        "training/timing/iterations.parquet",
        "training/timings.json",
    ]
    assert cobre.Policy.load(tmp_path / "out" / "policy") == alone.policy
    assert pq.read_table(tmp_path / "out/training/convergence.parquet").equals(result.convergence_history)
    metadata = json.loads((tmp_path / "out/training/metadata.json").read_text())
    assert metadata["final_lower_bound"] == alone.final_lower_bound
    assert metadata["termination_reason"] == "iteration_limit"
    assert json.loads((tmp_path / "out/training/timings.json").read_text())["solver_solves"] > 0


def metadata_in(output):
    return json.loads((output / "training/metadata.json").read_text())


def test_metadata_says_which_run_of_which_case_with_which_settings_it_was(folder, tmp_path):
    more = {"training": {**LIMIT["training"], "forward_passes": 2}}
    for name, overrides in (("one", LIMIT), ("same", LIMIT), ("other", more)):
        cobre.train(folder, config_overrides=overrides, output=tmp_path / name)
    one, same, other = (metadata_in(tmp_path / name) for name in ("one", "same", "other"))
    assert len({each["run_id"] for each in (one, same, other)}) == 3
    assert one["case_digest"] == same["case_digest"] == other["case_digest"]
    assert one["config_digest"] == same["config_digest"] != other["config_digest"]
    assert one["case_name"] == "example"
    assert one["status"] == "complete"
    assert one["hostname"] == socket.gethostname()
    assert one["cobre_version"] == cobre.__version__
    began, ended = (dt.datetime.fromisoformat(one[key]) for key in ("started_at", "completed_at"))
    assert one["duration_seconds"] == pytest.approx((ended - began).total_seconds(), abs=0.002)
    assert began.tzinfo is not None


def test_the_digest_of_a_case_follows_its_data_and_not_its_folder(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "renamed")
    shutil.copytree(folder, tmp_path / "changed")
    path = tmp_path / "changed" / "system" / "thermals.json"
    document = json.loads(path.read_text())
    document["thermals"][0]["cost_per_mwh"] += 1.0
    path.write_text(json.dumps(document))
    digests = [
        RunRecord.start(cobre.load_case(each)).case_digest
        for each in (folder, tmp_path / "renamed", tmp_path / "changed")
    ]
    assert digests[0] == digests[1] != digests[2]


def test_a_new_run_takes_the_results_of_the_earlier_one_away_before_it_computes(folder, tmp_path):
    cobre.train(folder, config_overrides=LIMIT, output=tmp_path)
    (tmp_path / "mine.txt").write_text("no result of a run")
    first = metadata_in(tmp_path)["run_id"]
    seen = []

    def look(event):
        files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
        seen.append((files, metadata_in(tmp_path)))

    cobre.train(folder, config_overrides=LIMIT, output=tmp_path, progress_callback=look)
    files, metadata = seen[0]
    assert files == ["mine.txt", "training/events.jsonl", "training/metadata.json", "training/run.json"]
    assert metadata["status"] == "running"
    assert metadata["run_id"] == metadata_in(tmp_path)["run_id"] != first
    assert "final_lower_bound" not in metadata


def test_a_run_that_fails_leaves_its_reason_and_no_results_of_another(folder, tmp_path):
    cobre.train(folder, config_overrides=LIMIT, output=tmp_path)

    def fail(event):
        raise RuntimeError("the caller had enough")

    with pytest.raises(RuntimeError, match="had enough"):
        cobre.train(folder, config_overrides=LIMIT, output=tmp_path, progress_callback=fail)
    assert metadata_in(tmp_path)["failure"] == "the caller had enough"
    with pytest.raises(cobre.IOError, match="failed and left no results: the caller had enough"):
        read_results(tmp_path)
    assert not (tmp_path / "_SUCCESS").exists()


KILLED_WHILE_REMOVING = (
    NUMBERS
    + """
import os, sys
import cobre
AT_REMOVEDIR = 0x200
_, folder, output = sys.argv
limit = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 1}]}}
policy = cobre.train(folder, config_overrides=limit, output=output).policy
cobre.simulate(folder, policy, output=output, scenarios=1)
install_filter("unlinkat", KILL, AT_REMOVEDIR)
cobre.train(folder, config_overrides=limit, output=output)
"""
)


def test_a_run_killed_while_it_removes_earlier_results_does_not_show_them(folder, tmp_path):
    command = [sys.executable, "-c", KILLED_WHILE_REMOVING, folder, tmp_path]
    assert subprocess.run(command, timeout=120, check=False).returncode == -signal.SIGSYS
    assert (tmp_path / "simulation").exists()  # some of it was still there
    with pytest.raises(cobre.IOError, match="was killed before it ended and left no results"):
        cobre.load_results(tmp_path)


def test_a_run_that_cannot_remove_earlier_results_leaves_its_reason(folder, tmp_path):
    cobre.train(folder, config_overrides=LIMIT, output=tmp_path)
    shutil.rmtree(tmp_path / "training/timing")
    (tmp_path / "training/timing").write_text("a file in place of a folder")
    with pytest.raises(cobre.IOError, match="cannot write"):
        cobre.train(folder, config_overrides=LIMIT, output=tmp_path)
    with pytest.raises(cobre.IOError, match="failed and left no results: cannot write"):
        cobre.load_results(tmp_path)


def test_a_warm_start_keeps_the_policy_of_the_folder_until_the_new_one_replaces_it(folder, tmp_path):
    cobre.train(folder, config_overrides=LIMIT, output=tmp_path)
    policy = tmp_path / "policy/policy.cobre"
    seen = []
    cobre.train(
        folder,
        config_overrides=LIMIT,
        output=tmp_path,
        warm_start=tmp_path / "policy",
        progress_callback=lambda event: seen.append(policy.exists()),
    )
    assert seen == [True] * 4


def test_two_runs_never_write_into_one_folder(folder, tmp_path):
    refused = []

    def start_another(event):
        with pytest.raises(cobre.IOError, match="another run is writing") as caught:
            cobre.train(folder, config_overrides=LIMIT, output=tmp_path)
        refused.append(caught.value.suggestion)
        with pytest.raises(cobre.IOError, match="is still at work"):
            read_results(tmp_path)

    cobre.train(folder, config_overrides=LIMIT, output=tmp_path, progress_callback=start_another)
    assert refused == ["wait until it has ended, or give this run another output folder"] * 4
    assert read_results(tmp_path).is_complete


def test_a_folder_claimed_by_another_machine_gets_no_results_of_this_run(folder, tmp_path):
    other = {**RunRecord.start(cobre.load_case(folder)).facts("running"), "hostname": "elsewhere"}

    def take_over(event):
        (tmp_path / "training/metadata.json").write_text(json.dumps(other))

    with pytest.raises(cobre.IOError, match=f"run {other['run_id']} on elsewhere has taken over"):
        cobre.train(folder, config_overrides=LIMIT, output=tmp_path, progress_callback=take_over)
    assert metadata_in(tmp_path) == other
    assert not (tmp_path / "policy").exists()


def test_an_unwritable_output_folder_is_reported_before_training(folder, tmp_path):
    (tmp_path / "file").write_text("")
    events = []
    with pytest.raises(cobre.IOError, match="file"):
        cobre.train(folder, output=tmp_path / "file", progress_callback=events.append)
    assert events == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_workers": 2, "backend": "local"}, "one rank, not 2"),
        ({"num_workers": 2, "backend": "mpi"}, "cannot be started from inside"),
        ({"num_workers": 1, "backend": "mpi"}, "cannot be started from inside"),
        ({"num_workers": 0}, "cannot run on 0 workers"),
        ({"num_workers": "2"}, "cannot run on '2' workers"),
        ({"num_workers": 2.0}, "cannot run on 2.0 workers"),
        ({"num_workers": True}, "cannot run on True workers"),
    ],
)
def test_invalid_numbers_of_workers_are_refused(folder, arguments, message):
    with pytest.raises(cobre.CobreError, match=message) as caught:
        cobre.train(folder, **arguments)
    assert caught.value.kind == "IncompatibleSettings"
    assert caught.value.suggestion


def test_workers_that_cannot_be_started_leave_the_results_of_the_earlier_run_as_they_are(folder, tmp_path):
    cobre.train(folder, config_overrides=LIMIT, output=tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(cobre.BackendError, match="1025 ranks are more than a group of the shm backend"):
        cobre.train(folder, 1025, config_overrides=LIMIT, output=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before


def test_an_unknown_backend_is_answered_with_the_known_ones(folder):
    with pytest.raises(cobre.BackendError, match="telegraph"):
        cobre.train(folder, 2, "telegraph")


@pytest.mark.parametrize("variable", ["COBRE_SHM_RANK", "COBRE_TCP_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"])
def test_a_launched_rank_starts_no_workers(folder, variable, monkeypatch):
    monkeypatch.setenv(variable, "0")
    with pytest.raises(cobre.CobreError, match=f"already one rank.*{variable}=0"):
        cobre.train(folder, 2)


def test_comm_and_workers_exclude_each_other(folder):
    with LocalCommunicator() as comm, pytest.raises(cobre.CobreError, match="comm brings 1 ranks"):
        cobre.train(folder, 2, comm=comm)


def test_a_solver_error_in_a_worker_keeps_its_context(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where the programs without a solution are written
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(cobre.SolverError, match="infeasible"):
        cobre.train(impossible())
    with pytest.raises(cobre.WorkerError) as caught:
        cobre.train(impossible(), 2)
    assert isinstance(caught.value.inner, cobre.SolverError)
    assert caught.value.inner.solver_status == "infeasible"


INTERRUPTED = """
import cobre, sys
def show(event):
    print(event.worker_id, event.iteration, flush=True)
limit = {"training": {"forward_passes": 4, "stopping_rules": [{"type": "iteration_limit", "limit": 100000}]}}
result = cobre.train(FOLDER, WORKERS, config_overrides=limit, progress_callback=show, output=OUTPUT)
print(result.termination_reason, result.stop_signal, result.iterations, flush=True)
"""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("n_workers", "number"), [(1, signal.SIGTERM), (2, signal.SIGTERM), (2, signal.SIGINT)]
)
def test_a_signal_ends_training_with_a_policy_that_does_not_look_finished(
    folder, tmp_path, n_workers, number
):
    code = INTERRUPTED.replace("FOLDER", repr(str(folder))).replace("WORKERS", str(n_workers))
    code = code.replace("OUTPUT", repr(str(tmp_path)))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        for _ in range(3 * n_workers):
            assert process.stdout.readline()
        process.send_signal(number)
        rest, _ = process.communicate(timeout=60)
    reason, stop, iterations = rest.splitlines()[-1].split()
    assert (reason, int(stop)) == ("shutdown", number)
    assert process.returncode == 0
    trained = cobre.Policy.load(tmp_path / "policy").summary()
    assert trained["cuts_per_stage"][0] == int(iterations) * 4
    assert not (tmp_path / "_SUCCESS").exists()
    assert (tmp_path / "training" / "metadata.json").exists()


def test_the_order_in_files_changes_no_bit(folder, alone, tmp_path):
    other = shuffled_copy(folder, tmp_path / "shuffled")
    assert (other / "system/hydros.json").read_text() != (folder / "system/hydros.json").read_text()
    assert digest(cobre.train(other, config_overrides=LIMIT)) == digest(alone)
    assert digest(cobre.train(other, 2, config_overrides=LIMIT)) == digest(alone)

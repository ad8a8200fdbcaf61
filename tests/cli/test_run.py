"""``cobre run``, ``summary`` and ``report`` as a planner uses them: real processes, real files."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mpi_ranks
import warm
from cobre.io.examples import write_example
from cobre.sddp.policy import Policy
from commands import can_mount, run_command
from small_case import set_limits

DEADLINE_S = 60


def case_in(tmp_path):
    """The example study, cut down to a few iterations and without its simulation."""
    folder = tmp_path / "case"
    write_example(folder)
    set_limits(folder, 3, scenarios=0)
    return folder


def cobre(*arguments, prefix=(), env=None):
    if not prefix:
        words = [str(argument) for argument in arguments]
        return warm.run_cobre(words, env=env or dict(os.environ), cwd=None, stdin="", timeout=DEADLINE_S)
    return run_command(
        [*prefix, sys.executable, "-m", "cobre", *map(str, arguments)], timeout=DEADLINE_S, env=env
    )


@pytest.mark.waits
def test_it_trains_and_shows_bounds_progress_and_where_the_results_are(tmp_path):
    case = case_in(tmp_path)
    ended = cobre("run", case)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0].split() == ["iteration", "lower", "bound", "mean", "cost", "gap", "time"]
    assert lines[1].split()[0] == "1"
    assert any(re.match(r" +3 +[\d,]+\.\d\d ", line) for line in lines), ended.stdout
    assert re.search(r"^lower bound +[\d,]+\.\d\d$", ended.stdout, re.MULTILINE)
    assert "the iteration limit was reached" in ended.stdout
    assert lines[-1].endswith(str(case / "output"))


@pytest.mark.waits
def test_the_output_folder_is_complete_and_success_is_written_last(tmp_path):
    case = case_in(tmp_path)
    output = tmp_path / "results"
    assert cobre("run", case, "-n", 2, "--output", output).returncode == 0
    written = {str(path.relative_to(output)) for path in output.rglob("*") if path.is_file()}
    assert {
        "_SUCCESS",
        "training/convergence.parquet",
        "training/metadata.json",
        "training/timings.json",
    } <= written
    assert not [name for name in written if Path(name).name.startswith(".")]
    newest = max(
        (path for path in output.rglob("*") if path.is_file() and path.name != "events.jsonl"),
        key=lambda path: path.stat().st_mtime_ns,
    )
    assert newest.name == "_SUCCESS"
    assert pq.read_table(output / "training/convergence.parquet")["iteration"].to_pylist() == [1, 2, 3]
    assert Policy.load(output / "policy").summary()["stages"] == 12


@pytest.mark.waits
def test_quiet_shows_nothing(tmp_path):
    case = case_in(tmp_path)
    ended = cobre("run", case, "-n", 2, "--quiet")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.waits
def test_json_is_one_document_on_stdout(tmp_path):
    case = case_in(tmp_path)
    ended = cobre("run", case, "-n", 2, "--output-format", "json")
    document = json.loads(ended.stdout)
    assert document["$schema"] == "urn:cobre:response:v1"
    assert (document["command"], document["success"], document["exit_code"]) == ("run", True, 0)
    assert document["data"]["output_directory"] == str(case / "output")
    assert document["data"]["simulation"] is None
    assert document["data"]["training"]["termination_reason"] == "iteration_limit"
    assert set(document["data"]["training"]) == {
        "iterations", "final_lower_bound", "final_upper_bound", "final_gap", "gap_estimate", "termination_reason",
        "total_cuts", "wall_time_ms",
    }  # fmt: skip


@pytest.mark.waits
def test_json_lists_what_is_wrong_with_a_case(tmp_path):
    case = case_in(tmp_path)
    (case / "stages.json").unlink()
    ended = cobre("run", case, "--output-format", "json")
    document = json.loads(ended.stdout)
    assert ended.returncode == document["exit_code"] == 1
    assert document["success"] is False
    assert document["errors"][0]["context"]["file"] == "stages.json"


@pytest.mark.waits
@pytest.mark.parametrize("ranks", [1, 3])
def test_launched_ranks_train_together_and_only_rank_0_prints(tmp_path, ranks):
    case = case_in(tmp_path)
    ended = cobre("launch", "-n", ranks, "-m", "cobre", "run", case)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("[0] lower bound  ") == 1
    assert {line.split()[0] for line in ended.stdout.splitlines()} == {"[0]"}


@pytest.mark.waits
@pytest.mark.parametrize("library", mpi_ranks.LIBRARIES)
def test_ranks_of_mpi_train_together(tmp_path, library):
    case = case_in(tmp_path)
    launch = (
        mpi_ranks.python_of(library),
        "-m",
        "cobre",
        "launch",
        "-n",
        2,
        "--backend",
        "mpi",
        "--no-prefix",
    )
    ended = mpi_ranks.run(*launch, "-m", "cobre", "run", case)
    assert ended.returncode == 0, ended.stdout
    assert "2 workers over mpi" in ended.stdout
    assert (case / "output" / "_SUCCESS").exists()


@pytest.mark.waits
def test_a_bad_case_ends_every_launched_rank_with_one_message(tmp_path):
    case = case_in(tmp_path)
    (case / "penalties.json").write_text("{")
    ended = cobre("launch", "-n", 3, "-m", "cobre", "run", case)
    assert ended.returncode == 1
    assert ended.stderr.count("penalties.json") == 1, ended.stderr


@pytest.mark.waits
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["run"], 4, "CASE"),
        (["run", "no/such/folder"], 2, "does not exist"),
        (["run", "{case}", "-n", "0"], 4, "whole number of 1 or more"),
        (["run", "{case}", "-n", "2", "--backend", "local"], 4, "one rank"),
        (["run", "{case}", "-n", "2", "--backend", "mpi"], 4, "mpiexec"),
        (["run", "{case}", "-n", "2", "--backend", "smoke"], 4, "smoke"),
        (["run", "{case}", "--output", "{case}/config.json"], 2, "config.json"),
        (["launch", "-n", "2", "-m", "cobre", "run", "{case}", "-n", "2"], 4, "already one rank"),
        (["summary", "{case}"], 2, "train first"),
        (["report", "no/such/folder"], 2, "not a folder"),
    ],
)
def test_every_refusal_has_its_exit_status(tmp_path, arguments, status, message):
    case = case_in(tmp_path)
    ended = cobre(*(argument.format(case=case) for argument in arguments))
    assert ended.returncode == status, ended.stderr
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (case / "output" / "_SUCCESS").exists()


@pytest.mark.few(1)
@pytest.mark.waits
@pytest.mark.parametrize("workers", [1, 2])
def test_a_problem_without_solution_has_the_same_status_on_any_number_of_workers(tmp_path, workers):
    case = case_in(tmp_path)
    path = case / "system" / "thermals.json"
    document = json.loads(path.read_text())
    generation = document["thermals"][0]["generation"]
    generation["min_mw"] = generation["max_mw"]
    path.write_text(json.dumps(document))
    limit = {"id": 0, "name": "off", "expression": f"thermal_generation({document['thermals'][0]['id']})"}
    constraints = {"constraints": [{**limit, "slack": {"enabled": False}}]}
    (case / "constraints" / "generic_constraints.json").write_text(json.dumps(constraints))
    bounds = {"constraint_id": [0], "stage_id": [0], "bound_upper": [0.0]}
    types = [("constraint_id", pa.int32()), ("stage_id", pa.int32()), ("bound_upper", pa.float64())]
    pq.write_table(
        pa.table(bounds, schema=pa.schema(types)), case / "constraints" / "generic_constraint_bounds.parquet"
    )
    ended = cobre("run", case, "-n", workers, env={**os.environ, "TMPDIR": str(case.parent)})
    assert ended.returncode == 3, ended.stderr
    assert "stage 0, iteration 1" in ended.stderr
    assert "off" in ended.stderr


@pytest.mark.few(1)
@pytest.mark.waits
@pytest.mark.parametrize("workers", [1, 2])
def test_too_many_openings_for_the_memory_is_not_an_error_of_the_case(tmp_path, workers):
    case = case_in(tmp_path)
    path = case / "stages.json"
    document = json.loads(path.read_text())
    document["stages"][1]["num_openings"] = 2_000_000_000
    path.write_text(json.dumps(document))
    ended = cobre("run", case, "-n", workers, prefix=("prlimit", f"--as={8 << 30}"))
    assert ended.returncode == 4, ended.stderr
    assert "memory" in ended.stderr
    assert "num_openings" in ended.stderr


def ranks_of(parent):
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [
        int(child)
        for child in children
        if b"cobre.comm.rank_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def is_stopped(pid):
    threads = Path(f"/proc/{pid}/task").iterdir()
    return all((each / "stat").read_text().rpartition(")")[2].split()[0] == "T" for each in threads)


def has_been_sent(pid, number):
    """Whether the signal waits for a process that is stopped."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return bool(int(status["ShdPnd"], 16) >> (number - 1) & 1)


def wait_for(is_so):
    end = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.few(1)
@pytest.mark.waits
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once_and_blames_no_rank(tmp_path, number):
    case = case_in(tmp_path)
    set_limits(case, 100_000, scenarios=0)
    program = [sys.executable, "-m", "cobre", "run", str(case), "-n", "2"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = iter(process.stdout)
        next(lines)
        next(lines)
        ranks = ranks_of(process.pid)
        assert len(ranks) == 2
        for rank in ranks:
            os.kill(rank, signal.SIGSTOP)  # it cannot finish its iteration now
        wait_for(lambda: all(map(is_stopped, ranks)))
        process.send_signal(number)
        wait_for(lambda: all(has_been_sent(rank, number) for rank in ranks))
        process.send_signal(number)
        _, complaints = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 128 + number
    assert "failed" not in complaints
    assert not (case / "output" / "_SUCCESS").exists()


@pytest.mark.few(2)
@pytest.mark.waits
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_keeps_the_policy_of_the_finished_iterations(tmp_path, number, status, workers):
    case = case_in(tmp_path)
    set_limits(case, 100_000, scenarios=0)
    (case / "output").mkdir()
    (case / "output" / "_SUCCESS").touch()
    program = [sys.executable, "-m", "cobre", "run", str(case), "-n", str(workers)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        lines = iter(process.stdout)
        next(lines)
        next(lines)  # the first iteration is done
        process.send_signal(number)
        rest = "".join(lines)
        assert process.wait(DEADLINE_S) == status
    assert "stopped on request" in rest
    assert "with --resume: the run goes on after iteration" in rest
    assert not (case / "output" / "_SUCCESS").exists()
    trained = Policy.load(case / "output" / "policy").summary()
    metadata = json.loads((case / "output/training/metadata.json").read_text())
    assert trained["total_cuts"] == metadata["total_cuts"] > 0
    summary = cobre("summary", case)
    assert summary.returncode == 0
    assert "there is no _SUCCESS" in summary.stdout


@pytest.mark.waits
def test_a_killed_run_never_shows_the_numbers_of_the_run_before(tmp_path):
    case = case_in(tmp_path)
    assert cobre("run", case).returncode == 0
    set_limits(case, 100_000, scenarios=0)
    with subprocess.Popen(
        [sys.executable, "-m", "cobre", "run", str(case)], stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.kill()
        process.wait(DEADLINE_S)
    for command in ("summary", "report"):
        ended = cobre(command, case)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "was killed before it ended and left no results" in ended.stderr
        assert "fix: run the case case again" in ended.stderr
    assert not (case / "output" / "_SUCCESS").exists()


@pytest.mark.skipif(not can_mount("/mnt"), reason="needs root and unshare for a small disk of its own")
def test_a_full_disk_is_an_io_error_and_leaves_no_success_marker(tmp_path):
    case = case_in(tmp_path)
    set_limits(case, 10, scenarios=0)
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f'mount -t tmpfs -o size=48k none {disk} && "$@"; status=$?; ls -RA {disk}; exit $status'
    ended = cobre(
        "run", case, "--quiet", "--output", disk, prefix=("unshare", "-m", "sh", "-c", script, "sh")
    )
    assert ended.returncode == 2, ended.stderr
    assert "No space left" in ended.stderr
    assert "free some space" in ended.stderr
    assert "_SUCCESS" not in ended.stdout
    assert not re.search(r"^\.\w", ended.stdout, re.MULTILINE), "a temporary file was left"


@pytest.mark.waits
def test_summary_and_report_show_the_numbers_of_run(tmp_path):
    case = case_in(tmp_path)
    first = cobre("run", case, "-n", 2).stdout
    summary = cobre("summary", case)
    assert summary.returncode == 0
    assert summary.stdout in first
    document = json.loads(cobre("report", case / "output").stdout)
    assert document["complete"] is True
    assert document["convergence"]["iteration"] == [1, 2, 3]
    assert document["training"]["iterations"] == 3
    again = json.loads(cobre("summary", case, "--output-format", "json").stdout)
    assert again["data"]["training"] == document["training"]


@pytest.mark.waits
def test_damaged_results_are_named(tmp_path):
    case = case_in(tmp_path)
    cobre("run", case, "--quiet")
    (case / "output/training/convergence.parquet").write_bytes(b"PAR1")
    ended = cobre("summary", case)
    assert ended.returncode == 1
    assert "convergence.parquet is damaged" in ended.stderr


def _read_to_the_end(pid, terminal, stop_at=None):
    """What the process wrote to its terminal, and its exit status; Ctrl-C as soon as it matches ``stop_at``."""
    output = b""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        output += piece
        if not piece:
            break
        if stop_at and re.search(stop_at, output):
            os.write(terminal, b"\x03")
            stop_at = None
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return output.decode(), os.waitstatus_to_exitcode(status)


def test_a_terminal_shows_one_line_that_changes_in_place(tmp_path):
    case = case_in(tmp_path)
    set_limits(case, 1_000_000, scenarios=0)  # more than any machine does before it is stopped
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "cobre", "run", str(case)])
    text, status = _read_to_the_end(pid, terminal, stop_at=rb", up to \d[^\n]* left")
    assert status == 130, text
    assert "\x1b[2K" in text, "no line was rewritten"
    assert re.search(r"iteration [\d,]+/1,?000,?000", text)


def test_launched_ranks_write_plain_lines_even_where_the_launcher_gives_them_a_terminal(tmp_path):
    case = case_in(tmp_path)
    pid, terminal = pty.fork()
    if pid == 0:
        name = f"/cobre_test_pty_{os.getpid()}"
        ranks = {"COBRE_COMM_BACKEND": "shm", "COBRE_SHM_NAME": name, "COBRE_SHM_SIZE": "2"}
        program = [sys.executable, "-m", "cobre", "run", str(case)]
        other = subprocess.Popen(program, env={**os.environ, **ranks, "COBRE_SHM_RANK": "1"})
        mine = subprocess.Popen(program, env={**os.environ, **ranks, "COBRE_SHM_RANK": "0"})
        os._exit(mine.wait(DEADLINE_S) or other.wait(DEADLINE_S))
    output, status = _read_to_the_end(pid, terminal)
    assert status == 0, output
    assert "lower bound" in output
    assert "\x1b" not in output

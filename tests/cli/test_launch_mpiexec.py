"""``cobre launch --backend mpi``: ranks that ``mpiexec`` starts, shown and judged like any others."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from launches import MEET, start, wait_for_end
from mpi_ranks import LIBRARIES, python_of, sweep, unless_stillborn


@pytest.fixture(params=LIBRARIES)
def mpi_python(request):
    sweep()
    return python_of(request.param)


def launch(python, *arguments, **variables):
    return unless_stillborn(
        lambda: subprocess.run(
            [python, "-m", "cobre", "launch", "--backend", "mpi", *map(str, arguments)],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
    )


def test_mpi_runs_through_its_own_mpiexec(mpi_python, program):
    path = program(MEET + "comm.barrier()\nprint(f'{comm.backend} {comm.rank} of {comm.size}')")
    done = launch(mpi_python, "-n", 3, path)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] mpi {rank} of 3" for rank in range(3)]


def test_ranks_of_mpi_print_whole_lines_and_have_their_own_logs(mpi_python, program, tmp_path):
    code = "for i in range(100): sys.stdout.write(f'{i} '); print(str(comm.rank) * 500)\nprint('e', file=sys.stderr)"
    done = launch(mpi_python, "-n", 3, "--log-dir", tmp_path / "logs", program(MEET + code))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 300
    assert all(re.fullmatch(r"\[(\d)\] \d+ \1{500}", line) for line in lines)
    assert sorted(done.stderr.splitlines()) == ["[0] e", "[1] e", "[2] e"]
    assert {log.name: len(log.read_text().splitlines()) for log in (tmp_path / "logs").iterdir()} == {
        f"rank{rank}.log": 101 for rank in range(3)
    }


def test_unknown_options_are_passed_on_to_mpiexec(mpi_python, tmp_path):
    done = launch(mpi_python, "-n", 2, "-wdir", tmp_path, "--", "pwd")
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] {tmp_path}" for rank in range(2)], done.stderr


def test_the_culprit_under_mpi_is_named_and_its_traceback_is_shown(mpi_python, program):
    path = program(
        MEET + "comm.barrier()\nif comm.rank == 1: raise ValueError('rank 1 is ill')\ncomm.barrier()"
    )
    done = launch(mpi_python, "-n", 3, path)
    assert done.returncode not in (0, None)
    assert "[1] ValueError: rank 1 is ill\n" in done.stderr
    assert "cobre launch: rank 1 of 3 failed" in done.stderr.splitlines()[-1] or done.stderr.endswith(
        "\nValueError: rank 1 is ill\n"
    )


def test_ranks_of_mpi_end_with_their_launcher(mpi_python, program):
    path = program(MEET + "print(os.getpid(), flush=True)\ncomm.barrier()\ntime.sleep(60)")
    with start(None, "--backend", "mpi", "-n", 2, path, python=mpi_python) as launcher:
        pids = [int(launcher.stdout.readline()[4:]) for _ in range(2)]
        launcher.kill()
    wait_for_end(pids)


@pytest.mark.parametrize(
    ("fate", "status", "how"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "signal 9"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "signal 11"),
        ("sys.exit(3)", 3, "exit status 3"),
        ("os._exit(4)", 4, "exit status 4"),
    ],
)
def test_a_rank_that_ends_without_an_exception_is_named_too(mpi_python, program, fate, status, how):
    path = program(MEET + f"comm.barrier()\nif comm.rank == 1:\n    {fate}\ncomm.barrier()")
    done = launch(mpi_python, "-n", 3, path)
    assert done.returncode == status, done.stderr
    # mpiexec may have ended the others before the launcher looked: then it says whom it cannot tell apart.
    named = r"rank (1 of 3|[02] of 3 \(or [0-9, ]*1[^)]*\))"
    assert re.search(rf"^cobre launch: {named} failed( first,)? with {how}", done.stderr, re.MULTILINE), (
        done.stderr
    )


def test_a_rank_killed_after_another_has_finished_is_the_culprit(mpi_python, program):
    """The one that ended first ended well, and is not blamed for what comes after."""
    path = program(
        MEET
        + "if comm.rank == 2: sys.exit(0)\n"
        + "time.sleep(0.5)\n"
        + "if comm.rank == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        + "time.sleep(30)"
    )
    done = launch(mpi_python, "-n", 3, path)
    assert "cobre launch: rank 1 of 3 failed" in done.stderr, done.stderr

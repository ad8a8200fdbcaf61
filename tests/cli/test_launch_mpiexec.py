"""``cobre launch --backend mpi``: ranks that ``mpiexec`` starts, shown and judged like any others."""

from __future__ import annotations

import os
import re
import signal

import pytest

from commands import run_command
from launches import MEET, start, wait_for_end
from mpi_ranks import LIBRARIES, python_of, sweep


@pytest.fixture(params=LIBRARIES)
def mpi_python(request):
    sweep()
    return python_of(request.param)


def launch(python, *arguments, **variables):
    return run_command(
        [python, "-m", "cobre", "launch", "--backend", "mpi", *map(str, arguments)],
        env={**os.environ, **variables},
        timeout=50,
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


def test_the_failed_rank_under_mpi_is_named_and_its_traceback_is_shown(mpi_python, program):
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


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("fate", "status", "how"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "signal 9"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "signal 11"),
        ("sys.exit(3)", 1, "exit status 1"),
        ("with comm: sys.exit(3)", 3, "exit status 3"),
        ("os._exit(4)", 4, "exit status 4"),
    ],
)
def test_a_rank_that_ends_without_an_exception_is_named_too(mpi_python, program, fate, status, how):
    path = program(MEET + f"comm.barrier()\nif comm.rank == 1:\n    {fate}\ncomm.barrier()")
    done = launch(mpi_python, "-n", 3, path)
    assert done.returncode == status, done.stderr
    # mpiexec may have ended the others before the launcher looked: then it lists all candidates.
    named = r"rank (1 of 3( \(or [^)]*\))?|[02] of 3 \(or [^)]*1[^)]*\))"
    assert re.search(rf"^cobre launch: {named} failed( first,)? with {how}", done.stderr, re.MULTILINE), (
        done.stderr
    )


def test_a_rank_killed_after_another_has_finished_is_the_culprit(mpi_python, program, tmp_path):
    """The one that has ended well waits in MPI_Finalize for the others, and is not blamed when mpiexec ends it."""
    path = program(
        "import atexit, pathlib, sys\n"
        "ended = pathlib.Path(sys.argv[1])\n"
        "atexit.register(ended.touch)  # the first one registered runs last\n"
        + MEET
        + "if comm.rank == 2: comm.close(); sys.exit(0)\n"
        + "while comm.rank == 1:\n"
        + "    if ended.exists(): os.kill(os.getpid(), signal.SIGKILL)\n"
        + "    time.sleep(0.01)\n"
        + "time.sleep(30)"
    )
    done = launch(mpi_python, "-n", 3, path, tmp_path / "ended")
    # Rank 0, which mpiexec ends for it, may be gone before the launcher looks.
    named = r"rank (1 of 3( \(or 0,[^)]*\))?|0 of 3 \(or 1,[^)]*\)) failed"
    assert re.search(rf"^cobre launch: {named}", done.stderr, re.MULTILINE), done.stderr


def test_ctrl_c_is_a_keyboard_interrupt_on_the_ranks_of_mpi(mpi_python, program):
    path = program(
        MEET + "comm.barrier()\nprint('up', flush=True)\n"
        "try:\n    time.sleep(30)\nexcept KeyboardInterrupt:\n    print('interrupted', flush=True)\n    raise"
    )
    with start(None, "--backend", "mpi", "-n", 2, path, python=mpi_python) as launcher:
        assert sorted(launcher.stdout.readline() for _ in range(2)) == ["[0] up\n", "[1] up\n"]
        launcher.send_signal(signal.SIGINT)
        out, err = launcher.communicate(timeout=40)
    assert "interrupted\n" in out, err  # on both, unless the first took the job with it
    assert launcher.returncode == 130
    assert "cobre launch: ended by SIGINT\n" in err


def test_ranks_of_mpi_may_finish_when_they_are_asked_to_end(mpi_python, program):
    path = program(
        "asked = []\nsignal.signal(signal.SIGTERM, lambda *a: asked.append(a))\n"
        "signal.signal(signal.SIGUSR2, lambda *a: print('reached', flush=True))\n"
        + MEET
        + "comm.barrier()\nprint('up', flush=True)\nend = time.monotonic() + 30\n"
        "while not asked and time.monotonic() < end: time.sleep(0.02)\n"
        "comm.barrier()\nprint('finished')"
    )
    with start(None, "--backend", "mpi", "-n", 2, path, python=mpi_python) as launcher:
        for number, heard in ((None, "up"), (signal.SIGUSR2, "reached"), (signal.SIGTERM, "finished")):
            if number is not None:
                launcher.send_signal(number)
            assert sorted(launcher.stdout.readline() for _ in range(2)) == [
                f"[{rank}] {heard}\n" for rank in range(2)
            ]
        launcher.communicate(timeout=40)
    assert launcher.returncode == 0


def test_a_second_ctrl_c_kills_the_ranks_of_mpi(mpi_python, program):
    path = program(
        "signal.signal(signal.SIGINT, lambda *a: print('no', flush=True))\n"
        "print(os.getpid(), flush=True)\nend = time.monotonic() + 30\n"
        "while time.monotonic() < end: time.sleep(0.02)"
    )
    with start(None, "--backend", "mpi", "-n", 2, path, python=mpi_python) as launcher:
        pids = [int(launcher.stdout.readline()[4:]) for _ in range(2)]
        launcher.send_signal(signal.SIGINT)
        assert sorted(launcher.stdout.readline() for _ in range(2)) == ["[0] no\n", "[1] no\n"]
        launcher.send_signal(signal.SIGINT)
        launcher.communicate(timeout=40)
    assert launcher.returncode == 137
    wait_for_end(pids)

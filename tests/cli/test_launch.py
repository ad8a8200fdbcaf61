"""``cobre launch``, each option with real ranks."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

MPI_ENVIRONMENTS = os.environ.get("COBRE_TEST_MPI")
SOCKETS = ["--backend", "sockets", "--timeout", "40"]
MEET = "from cobre.comm import create_communicator\ncomm = create_communicator()\n"


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_script_runs_on_every_rank_with_its_arguments(cobre, program):
    path = program(MEET + "print(comm.rank, comm.size, sys.argv[1:])")
    done = cobre("launch", "-n", 3, *SOCKETS, path, "--rate", "0.1", "-n", "7", "--", "x", check=0)
    expected = {f"[{rank}] {rank} 3 ['--rate', '0.1', '-n', '7', '--', 'x']" for rank in range(3)}
    assert set(done.stdout.splitlines()) == expected
    assert done.stderr == ""


@pytest.mark.parametrize("separator", [[], ["--"]])
def test_a_module_runs_on_every_rank(cobre, separator):
    done = cobre("launch", "-n", 2, *SOCKETS, *separator, "-m", "platform", check=0)
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize("separator", [[], ["--"]])
def test_an_executable_runs_on_every_rank(cobre, separator):
    done = cobre("launch", "-n", 2, *SOCKETS, *separator, "/bin/echo", "-n", "hi", check=0)
    assert sorted(done.stdout.splitlines()) == ["[0] hi", "[1] hi"]


def test_ranks_keep_stdout_and_stderr_apart(cobre, program):
    path = program("print('out'); print('err', file=sys.stderr)")
    done = cobre("launch", "-n", 2, *SOCKETS, path, check=0)
    assert sorted(done.stdout.splitlines()) == ["[0] out", "[1] out"]
    assert sorted(done.stderr.splitlines()) == ["[0] err", "[1] err"]


def test_together_they_keep_their_order(environ, program):
    path = program("for i in range(50): print(i, file=[sys.stdout, sys.stderr][i % 2])")
    done = subprocess.run(
        [sys.executable, "-m", "cobre", "launch", "-n", "1", "--backend", "local", str(path)],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == [f"[0] {i}" for i in range(50)]


def test_no_prefix_shows_lines_as_they_are(cobre):
    done = cobre("launch", "-n", 2, *SOCKETS, "--no-prefix", "echo", "hi", check=0)
    assert done.stdout == "hi\nhi\n"


def test_prefixes_line_up_from_ten_ranks_on(cobre):
    done = cobre("launch", "-n", 11, *SOCKETS, "echo", "hi", check=0)
    assert set(done.stdout.splitlines()) == {f"[{rank:>2}] hi" for rank in range(11)}


def test_each_rank_has_its_own_log_file(cobre, program, tmp_path):
    path = program(MEET + "print('I am', comm.rank); print('to stderr', file=sys.stderr)")
    done = cobre("launch", "-n", 2, *SOCKETS, "--log-dir", tmp_path / "new" / "logs", path, check=0)
    logs = {log.name: log.read_text() for log in (tmp_path / "new" / "logs").iterdir()}
    assert set(logs) == {"rank0.log", "rank1.log"}
    for rank in range(2):
        assert sorted(logs[f"rank{rank}.log"].splitlines()) == [f"I am {rank}", "to stderr"]
    assert "[1] I am 1" in done.stdout


def test_quiet_shows_nothing_but_a_failure(cobre, program):
    path = program("print('a line'); sys.exit(len(sys.argv) - 1)")
    done = cobre("launch", "-n", 2, *SOCKETS, "-q", path, check=0)
    assert (done.stdout, done.stderr) == ("", "")
    done = cobre("launch", "-n", 1, "--backend", "local", "-q", path, "x", check=1)
    assert done.stdout == ""
    assert (
        done.stderr == "cobre launch: rank 0 of 1 failed first, with exit status 1, its last words:\na line\n"
    )


def test_stdin_goes_to_rank_0_alone(cobre, program):
    path = program(MEET + "print(comm.rank, sys.stdin.read().split())")
    done = cobre("launch", "-n", 3, *SOCKETS, path, stdin="for\nrank 0\n", check=0)
    assert sorted(done.stdout.splitlines()) == ["[0] 0 ['for', 'rank', '0']", "[1] 1 []", "[2] 2 []"]


def test_the_deadline_kills_and_says_who(cobre):
    done = cobre("launch", "-n", 2, "--backend", "sockets", "--timeout", "0.5", "sleep", "60", check=137)
    assert "still running after 0.5 s, now killed: rank 0, rank 1" in done.stderr


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("raise SystemExit(5)", 5, "exit status 5"),
        ("os.kill(os.getpid(), 9)", 137, "signal 9"),
        ("raise ValueError('rank 1 is ill')", 1, "exit status 1"),
    ],
)
def test_the_first_failure_is_the_launchers(cobre, program, code, status, said):
    path = program(MEET + f"comm.barrier()\nif comm.rank == 1:\n    {code}\ncomm.barrier()")
    done = cobre("launch", "-n", 3, *SOCKETS, path, check=status)
    assert f"cobre launch: rank 1 of 3 failed first, with {said}" in done.stderr


def test_the_culprits_traceback_comes_last_and_no_survivor_is_blamed(cobre, program):
    code = """
    from cobre.comm import create_communicator
    with create_communicator() as comm:
        comm.barrier()
        if comm.rank == 2:
            import atexit
            atexit.register(time.sleep, 0.5)  # the others end first
            raise ValueError("rank 2 is ill")
        comm.barrier()
    """
    done = cobre("launch", "-n", 3, *SOCKETS, program(code), check=1)
    assert "CollectiveFailed" in done.stderr
    assert "rank 2 of 3 failed" in done.stderr
    # Shown again at the end, unless its own lines happened to be the last that came.
    report = done.stderr[done.stderr.rindex("Traceback (most recent call last):") :]
    assert "ValueError: rank 2 is ill\n" in report
    assert "CollectiveFailed" not in report


def test_a_rank_that_fails_before_the_others_meet_is_the_culprit(cobre, program):
    path = program("if os.environ['COBRE_SOCKETS_RANK'] == '1': raise ImportError('no such thing')\n" + MEET)
    done = cobre("launch", "-n", 3, *SOCKETS, "--grace", "0.3", path, check=1)
    last = "[1] ImportError: no such thing\ncobre launch: rank 1 of 3 failed with exit status 1\n"
    assert done.stderr.endswith(last)


def test_the_others_get_the_grace_that_was_asked_for(cobre, program):
    path = program(
        "signal.signal(15, lambda *a: print('told to end', flush=True))\n"
        + MEET
        + "if comm.rank == 1: sys.exit(3)\nend = time.monotonic() + 30\n"
        "while time.monotonic() < end: time.sleep(0.1)"
    )
    start = time.monotonic()
    done = cobre("launch", "-n", 2, *SOCKETS, "--grace", "0.4", path, check=3)
    assert "[0] told to end" in done.stdout
    assert time.monotonic() - start < 15


def test_threads_are_shared_out_unless_set(cobre, program):
    path = program("print(os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_NUM_THREADS'])")
    share = str(max(1, len(os.sched_getaffinity(0)) // 2))
    unset = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "")
    done = cobre("launch", "-n", 2, *SOCKETS, "--no-prefix", path, check=0, **unset)
    assert done.stdout == f"{share} {share}\n" * 2
    unset["OMP_NUM_THREADS"] = "5"
    done = cobre("launch", "-n", 2, *SOCKETS, "--no-prefix", path, check=0, **unset)
    assert done.stdout == "5 5\n" * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["echo"], "-n"),
        (["-n", "2"], "no program"),
        (["-n", "0", "echo"], "'0' is not a whole number of 1 or more"),
        (["-n", "x", "echo"], "'x'"),
        (["-n", "2", "no-such-file.py"], "there is no file no-such-file.py"),
        (["-n", "2", "--backend", "local", "no-such-program"], "one rank"),
        (["-n", "1", "--backend", "local", "no-such-program"], "cannot start 'no-such-program'"),
        (["-n", "2", "--backend", "pigeon", "echo"], "pigeon"),
        (["-n", "2", "--bind-to", "core", "echo"], "put -- between"),
        (["-n", "1", "--backend", "local", "--bind-to", "core", "--", "echo"], "--bind-to core"),
        (["-n", "2", "--nodes", "2", "echo"], "go together"),
        (["-n", "2", "--nodes", "2", "--node-rank", "2", "--coordinator", "h", "echo"], "0..1"),
        (["-n", "1", "--nodes", "2", "--node-rank", "0", "--coordinator", "h", "echo"], "-n counts"),
        (
            ["-n", "2", "--backend", "local", "--nodes", "1", "--node-rank", "0", "--coordinator", "h", "x"],
            "several",
        ),
    ],
)
def test_a_wrong_command_line_says_what_to_do(cobre, arguments, said):
    done = cobre("launch", *arguments, check=4)
    assert said in done.stderr
    assert "fix: " in done.stderr
    assert done.stdout == ""


def test_help_teaches(cobre):
    text = cobre("launch", "--help", check=0).stdout
    for word in (
        "-n N",
        "--backend",
        "--log-dir",
        "--nodes",
        "Ctrl-C",
        "mpiexec",
        "OMP_NUM_THREADS",
        "COBRE_COMM_TRACE",
    ):
        assert word in text
    assert max(map(len, text.splitlines())) < 130


def test_a_reader_that_goes_away_ends_the_ranks(environ, program):
    path = program("while True: print('x' * 100)")
    shell = (
        f"{sys.executable} -m cobre launch -n 2 --backend sockets {path} | head -1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(
        ["bash", "-c", shell], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    assert re.fullmatch(r"\[[01]\] x{100}\n141\n", done.stdout)
    assert done.stderr == ""


WAITS = (
    MEET
    + """
print('up', os.getpid(), flush=True)
try:
    if comm.rank == 0: time.sleep(60)
    comm.barrier()
except KeyboardInterrupt:
    print('interrupted', comm.rank)
    raise
"""
)


def test_ctrl_c_is_a_keyboard_interrupt_on_every_rank(terminal, program):
    shell = terminal("launch", "-n", 3, "--backend", "sockets", program(WAITS))
    while shell.text.count("up") < 3:
        shell.read_until("up " if shell.text.count("up") == 0 else "\n")
        shell._read(0.1)
    shell.type("\x03")
    assert shell.wait() == 130
    for rank in range(3):
        assert f"interrupted {rank}" in shell.text
    assert shell.text.endswith("cobre launch: ended by SIGINT\n")


def test_a_second_ctrl_c_kills(terminal, program):
    deaf = MEET + "signal.signal(2, lambda *a: print('deaf', flush=True))\nprint('up', flush=True)\n"
    shell = terminal("launch", "-n", 1, "--backend", "local", program(deaf + "while True: time.sleep(1)"))
    shell.read_until("up")
    shell.type("\x03")
    shell.read_until("deaf")
    shell.type("\x03")
    assert shell.wait() == 137


def start(environ, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "cobre", "launch", *map(str, arguments)],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_sigterm_is_forwarded(environ, program):
    path = program(
        "def leave(*a):\n    print('asked to end')\n    sys.exit(0)\n"
        "signal.signal(15, leave)\nprint('up')\ntime.sleep(60)"
    )
    with start(environ, "-n", 2, "--backend", "sockets", path) as launcher:
        assert [launcher.stdout.readline()[3:] for _ in range(2)] == [" up\n"] * 2
        launcher.terminate()
        output, errors = launcher.communicate(timeout=30)
    assert sorted(output.splitlines()) == ["[0] asked to end", "[1] asked to end"]
    assert (launcher.returncode, errors) == (0, "")


def test_sigterm_without_a_handler_is_143(environ, program):
    with start(environ, "-n", 2, "--backend", "sockets", program("print('up')\ntime.sleep(60)")) as launcher:
        assert [launcher.stdout.readline()[3:] for _ in range(2)] == [" up\n"] * 2
        launcher.terminate()
        launcher.communicate(timeout=30)
    assert launcher.returncode == 143


def test_user_signals_reach_every_rank(environ, program):
    path = program("signal.signal(10, lambda *a: (print('usr1'), os._exit(0)))\nprint('up')\ntime.sleep(60)")
    with start(environ, "-n", 2, "--backend", "sockets", path) as launcher:
        assert [launcher.stdout.readline()[3:] for _ in range(2)] == [" up\n"] * 2
        launcher.send_signal(signal.SIGUSR1)
        output, _ = launcher.communicate(timeout=30)
    assert sorted(output.splitlines()) == ["[0] usr1", "[1] usr1"]


def test_ranks_stop_and_go_on_with_their_launcher(environ, program):
    with start(
        environ, "-n", 2, "--backend", "sockets", program("print(os.getpid())\ntime.sleep(2)")
    ) as launcher:
        pids = [int(launcher.stdout.readline()[4:]) for _ in range(2)]
        launcher.send_signal(signal.SIGTSTP)
        wait_for_states(pids, "T")
        launcher.send_signal(signal.SIGCONT)
        wait_for_states(pids, "S")
        launcher.communicate(timeout=30)
    assert launcher.returncode == 0


def wait_for_states(pids, state):
    end = time.monotonic() + 10
    while any(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != state for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_ranks_end_when_the_launcher_is_killed(environ, program):
    with start(
        environ, "-n", 3, "--backend", "sockets", program("print(os.getpid())\ntime.sleep(60)")
    ) as launcher:
        pids = [int(launcher.stdout.readline()[4:]) for _ in range(3)]
        launcher.kill()
    end = time.monotonic() + 5
    while any(map(is_alive, pids)):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_terminal_gets_coloured_prefixes(terminal, program):
    shell = terminal("launch", "-n", 2, "--backend", "sockets", program("print('hi')"))
    assert shell.wait() == 0
    assert sorted(shell.text.splitlines()) == ["\x1b[33m[1]\x1b[0m hi", "\x1b[36m[0]\x1b[0m hi"]


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_turned_off(terminal, program, variables):
    shell = terminal("launch", "-n", 1, "--backend", "local", program("print('hi')"), **variables)
    assert shell.wait() == 0
    assert shell.text == "[0] hi\n"


def test_a_prompt_is_seen_and_answered(terminal, program):
    path = program("print('hello', input('your name? '))")
    shell = terminal("launch", "-n", 1, "--backend", "local", path, NO_COLOR="1")
    shell.read_until("[0] your name? ")
    shell.type("Ada\n")
    assert shell.wait() == 0
    assert "hello Ada\n" in shell.text


def test_it_can_be_stopped_before_any_rank_is_up(environ, program):
    with start(environ, "-n", 4, "--backend", "sockets", program("time.sleep(60)")) as launcher:
        time.sleep(0.25)
        launcher.send_signal(signal.SIGINT)
        launcher.communicate(timeout=30)
    assert launcher.returncode in (130, -2)


def test_the_front_door_lists_its_commands(cobre):
    overview = cobre("--help", check=0).stdout
    assert all(name in overview for name in ("launch", "bench", "doctor", "version"))
    assert cobre(check=4).stdout == overview
    assert "no command 'fly'" in cobre("fly", check=4).stderr
    assert re.fullmatch(r"cobre \d+\.\d+.*\n", cobre("--version", check=0).stdout)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_two_launchers_make_one_group(environ, program):
    """Both on this machine, as two machines would."""
    path = program(
        MEET + "import numpy as np\nall_ranks = np.empty(comm.size)\n"
        "comm.allgatherv(np.array([float(comm.rank)]), all_ranks, [1] * comm.size, range(comm.size))\n"
        "print(comm.rank, all_ranks.astype(int).tolist())"
    )
    common = ["-n", 5, "--backend", "tcp", "--nodes", 2, "--coordinator", f"127.0.0.1:{free_port()}"]
    launchers = [start(environ, *common, "--node-rank", node, path) for node in range(2)]
    outputs = [launcher.communicate(timeout=60) for launcher in launchers]
    assert [launcher.returncode for launcher in launchers] == [0, 0], outputs
    shown = [sorted(out.splitlines()) for out, _ in outputs]
    assert shown[0] == [f"[{rank}] {rank} [0, 1, 2, 3, 4]" for rank in (0, 1, 2)]
    assert shown[1] == [f"[{rank}] {rank} [0, 1, 2, 3, 4]" for rank in (3, 4)]


def test_another_machine_needs_a_secret_before_anything_starts(cobre):
    nodes = ["--nodes", "2", "--node-rank", "0", "--coordinator", "far.example:29500"]
    done = cobre("launch", "-n", 4, "--backend", "tcp", *nodes, "echo", "started", check=4)
    assert "COBRE_TCP_SECRET" in done.stderr
    assert done.stdout == ""


def test_shm_stays_on_one_machine(cobre):
    nodes = ["--nodes", "2", "--node-rank", "0", "--coordinator", "127.0.0.1"]
    done = cobre("launch", "-n", 4, *nodes, "echo", check=4)
    assert "--backend tcp" in done.stderr


@pytest.fixture(params=["openmpi", "mpich"])
def mpi_python(request):
    if not MPI_ENVIRONMENTS:
        pytest.skip("needs the MPI environments of make test")
    return str(Path(MPI_ENVIRONMENTS) / request.param / "bin" / "python")


def mpi_launch(python, *arguments, **variables):
    return subprocess.run(
        [python, "-m", "cobre", "launch", "--backend", "mpi", *map(str, arguments)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def test_mpi_runs_through_its_own_mpiexec(mpi_python, program):
    path = program(MEET + "comm.barrier()\nprint(f'{comm.backend} {comm.rank} of {comm.size}')")
    done = mpi_launch(mpi_python, "-n", 3, path)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] mpi {rank} of 3" for rank in range(3)]


def test_ranks_of_mpi_print_whole_lines_and_have_their_own_logs(mpi_python, program, tmp_path):
    code = "for i in range(100): sys.stdout.write(f'{i} '); print(str(comm.rank) * 500)\nprint('e', file=sys.stderr)"
    done = mpi_launch(mpi_python, "-n", 3, "--log-dir", tmp_path / "logs", program(MEET + code))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 300
    assert all(re.fullmatch(r"\[(\d)\] \d+ \1{500}", line) for line in lines)
    assert sorted(done.stderr.splitlines()) == ["[0] e", "[1] e", "[2] e"]
    assert {log.name: len(log.read_text().splitlines()) for log in (tmp_path / "logs").iterdir()} == {
        f"rank{rank}.log": 101 for rank in range(3)
    }


def test_unknown_options_are_passed_on_to_mpiexec(mpi_python, tmp_path):
    done = mpi_launch(mpi_python, "-n", 2, "-wdir", tmp_path, "--", "pwd")
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] {tmp_path}" for rank in range(2)], done.stderr


def test_the_culprit_under_mpi_is_named_and_its_traceback_is_shown(mpi_python, program):
    path = program(
        MEET + "comm.barrier()\nif comm.rank == 1: raise ValueError('rank 1 is ill')\ncomm.barrier()"
    )
    done = mpi_launch(mpi_python, "-n", 3, path)
    assert done.returncode not in (0, None)
    assert "[1] ValueError: rank 1 is ill\n" in done.stderr
    assert "cobre launch: rank 1 of 3 failed" in done.stderr.splitlines()[-1] or done.stderr.endswith(
        "\nValueError: rank 1 is ill\n"
    )


def test_ranks_of_mpi_end_with_their_launcher(mpi_python, program):
    path = program(MEET + "print(os.getpid(), flush=True)\ncomm.barrier()\ntime.sleep(60)")
    command = [mpi_python, "-m", "cobre", "launch", "--backend", "mpi", "-n", "2", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as launcher:
        pids = [int(launcher.stdout.readline()[4:]) for _ in range(2)]
        launcher.kill()
    end = time.monotonic() + 10
    while any(map(is_alive, pids)):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_default_backend_is_shm(cobre, program):
    done = cobre("launch", "-n", 2, program(MEET + "print(comm.backend)"), check=0)
    assert sorted(done.stdout.splitlines()) == ["[0] shm", "[1] shm"]

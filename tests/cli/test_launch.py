"""``cobre launch``, each option with real ranks."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

from cobre.io.examples import write_example
from commands import run_command
from launches import MEET, SOCKETS


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


def test_merged_stdout_and_stderr_keep_their_order(environ, program):
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


def test_prefixes_of_ten_and_more_ranks_have_equal_width(cobre):
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


def test_logs_of_an_earlier_larger_launch_are_removed(cobre, tmp_path):
    (tmp_path / "rank.log").write_text("mine")
    for size in (3, 2):
        cobre("launch", "-n", size, "--log-dir", tmp_path, "echo", size, check=0)
    logs = {log.name: log.read_text() for log in tmp_path.iterdir()}
    assert logs == {"rank.log": "mine", "rank0.log": "2\n", "rank1.log": "2\n"}


def test_quiet_shows_failures_only(cobre, program):
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


def test_the_deadline_kills_and_names_the_ranks(cobre):
    done = cobre("launch", "-n", 2, "--backend", "sockets", "--timeout", "0.5", "sleep", "60", check=137)
    assert "still running after 0.5 s, now killed: rank 0, rank 1" in done.stderr


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        pytest.param("raise SystemExit(5)", 5, "exit status 5", id="exit"),
        pytest.param("os.kill(os.getpid(), 9)", 137, "signal 9", id="signal"),
        pytest.param("raise ValueError('rank 1 is ill')", 1, "exit status 1", id="exception"),
    ],
)
def test_the_launcher_exits_with_the_status_of_the_first_failure(cobre, program, code, status, said):
    path = program(MEET + f"comm.barrier()\nif comm.rank == 1:\n    {code}\ncomm.barrier()")
    done = cobre("launch", "-n", 3, *SOCKETS, path, check=status)
    assert f"cobre launch: rank 1 of 3 failed first, with {said}" in done.stderr


def test_the_traceback_of_the_failed_rank_comes_last_and_no_other_rank_is_blamed(cobre, program):
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


def test_a_rank_that_waits_for_one_that_ended_normally_is_not_blamed(cobre, program):
    path = program(MEET + "comm.barrier()\nif comm.rank == 1: sys.exit(0)\ncomm.barrier()")
    done = cobre("launch", "-n", 3, path, check=1)
    assert re.search(
        r"^cobre launch: no rank here failed by itself; rank [02] of 3 ended first", done.stderr, re.M
    )
    assert "rank 1 has closed its communicator" in done.stderr[done.stderr.rindex("Traceback") :]


def test_a_rank_that_fails_before_the_group_forms_is_the_culprit(cobre, program):
    path = program("if os.environ['COBRE_SOCKETS_RANK'] == '1': raise ImportError('no such thing')\n" + MEET)
    # Two ranks: of several that are ended one by one, the second may hear of the first one's end and say so.
    done = cobre("launch", "-n", 2, *SOCKETS, "--grace", "0.3", path, check=1)
    last = "[1] ImportError: no such thing\ncobre launch: rank 1 of 2 failed with exit status 1\n"
    assert done.stderr.endswith(last)


def test_remaining_ranks_get_the_requested_grace(cobre, program):
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


@pytest.mark.few(5)
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
        (["-np", "2", "echo"], "-np is no option; -n N says how many ranks"),
        (["-n", "2", "--log-dir", "/dev/null", "echo"], "logs cannot be written to /dev/null: File exists"),
        (
            ["-n", "2", "--log-dir", "/dev/null/logs", "echo"],
            "logs cannot be written to /dev/null/logs: Not a dir",
        ),
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


def test_help_shows_examples(cobre):
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


def test_closing_the_pipe_of_the_output_ends_the_ranks(environ, program):
    path = program("while True: print('x' * 100)")
    shell = (
        f"{sys.executable} -m cobre launch -n 2 --backend sockets {path} | head -1; echo ${{PIPESTATUS[0]}}"
    )
    done = run_command(["bash", "-c", shell], env=environ, check=True)
    assert re.fullmatch(r"\[[01]\] x{100}\n141\n", done.stdout)
    assert done.stderr == ""


def test_a_terminal_gets_coloured_prefixes(terminal, program):
    shell = terminal("launch", "-n", 2, "--backend", "sockets", program("print('hi')"))
    assert shell.wait() == 0
    assert sorted(shell.text.splitlines()) == ["\x1b[33m[1]\x1b[0m hi", "\x1b[36m[0]\x1b[0m hi"]


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_turned_off(terminal, program, variables):
    shell = terminal("launch", "-n", 1, "--backend", "local", program("print('hi')"), **variables)
    assert shell.wait() == 0
    assert shell.text == "[0] hi\n"


def test_output_to_a_file_is_not_coloured(terminal, program, tmp_path):
    path = program("print('out'); print('err', file=sys.stderr)")
    with (tmp_path / "errors").open("w") as errors:
        shell = terminal("launch", "-n", 1, path, errors=errors)
        assert shell.wait() == 0
    assert shell.text == "\x1b[36m[0]\x1b[0m out\n"
    assert (tmp_path / "errors").read_text() == "[0] err\n"


def test_a_prompt_is_seen_and_answered(terminal, program):
    path = program("print('hello', input('your name? '))")
    shell = terminal("launch", "-n", 1, "--backend", "local", path, NO_COLOR="1")
    shell.read_until("[0] your name? ")
    shell.type("Ada\n")
    assert shell.wait() == 0
    assert "hello Ada\n" in shell.text


def test_lines_with_a_pause_stay_whole_on_a_terminal_and_in_the_logs(terminal, program, tmp_path):
    path = program(
        "for word in ('one', ' two', ' three\\n'):\n    print(end=word, flush=True)\n    time.sleep(0.5)"
    )
    shown = terminal("launch", "-n", 2, "--log-dir", tmp_path / "logs", path, NO_COLOR="1")
    assert shown.wait() == 0
    lines = shown.text.splitlines()
    assert all(f"[{rank}] one two three" in lines for rank in range(2)), shown.text
    assert [log.read_text() for log in (tmp_path / "logs").iterdir()] == ["one two three\n"] * 2


def test_the_front_door_lists_its_commands(cobre):
    overview = cobre("--help", check=0).stdout
    assert all(name in overview for name in ("launch", "bench", "doctor", "version"))
    assert cobre(check=4).stdout == overview
    assert "no command 'fly'" in cobre("fly", check=4).stderr
    assert re.fullmatch(r"cobre \d+\.\d+.*\n", cobre("--version", check=0).stdout)


@pytest.mark.parametrize("options", [[], ["--backend", "auto"]])
def test_the_default_backend_is_shm(cobre, program, options):
    done = cobre("launch", "-n", 2, *options, program(MEET + "print(comm.backend)"), check=0)
    assert sorted(done.stdout.splitlines()) == ["[0] shm", "[1] shm"]


def test_a_program_may_close_all_inherited_descriptors(cobre, program, tmp_path):
    path = program(
        MEET
        + "comm.close()\nos.closerange(3, 1000)\n"
        + "files = [open(f'{sys.argv[1]}/{comm.rank}.{i}', 'w') for i in range(100)]"
    )
    done = cobre("launch", "-n", 2, "--backend", "shm", path, tmp_path, check=0)
    assert done.stderr == ""
    assert [file.stat().st_size for file in tmp_path.glob("[01].*")] == [0] * 200


@pytest.mark.few(1)
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_the_exit_status_is_right_when_output_is_not_read(closed, environ, program):
    path = program(
        MEET + "print('out'); comm.barrier()\nprint('err', file=sys.stderr)\nsys.exit(3 * comm.rank)"
    )
    command = f'exec "$0" -m cobre launch -n 2 "$1" {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, str(path)], env=environ, timeout=60, check=False
    )
    assert done.returncode == 3


def test_a_failure_is_reported_where_sigchld_is_ignored(environ, program):
    """As a program does that a careless daemon started."""
    path = program("sys.exit(3)")
    done = subprocess.run(
        [sys.executable, "-m", "cobre", "launch", "-n", "2", str(path)],
        env=environ,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        timeout=60,
        check=False,
    )
    assert done.returncode == 3


def test_too_few_open_files_are_not_blamed_on_the_program(environ):
    done = run_command(
        [sys.executable, "-m", "cobre", "launch", "-n", "20", "echo"],
        env=environ,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)),
    )
    assert done.returncode == 4
    assert "cannot start 'echo': Too many open files\n  fix: start fewer ranks" in done.stderr


@pytest.mark.parametrize(
    "command", [["launch", "-n", 1025, "touch", "{mark}"], ["run", "{case}", "-n", 1025]]
)
def test_more_ranks_than_a_group_can_have_are_refused_before_anything_starts(cobre, tmp_path, command):
    write_example(tmp_path / "case")
    names = {"mark": tmp_path / "mark", "case": tmp_path / "case"}
    done = cobre(*(str(word).format(**names) for word in command), check=4)
    assert "cobre: 1025 ranks are more than a group of the shm backend can have: 1024\n" in done.stderr
    assert "fix: start 1024 ranks or fewer" in done.stderr
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("backend", ["shm", "tcp"])
def test_a_backend_for_several_processes_without_a_number_advises_one(cobre, tmp_path, backend):
    write_example(tmp_path / "case")
    done = cobre("run", tmp_path / "case", "--backend", backend, check=4)
    assert f"fix: add -n N to start N processes of this machine over {backend}" in done.stderr


@pytest.mark.few(5)
@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["no-such-command"],
        ["doctor"],
        ["doctor", "--help"],
        ["launch", "--help"],
        ["launch", "-n", 2, "--no-such-option", "x"],
        ["launch", "-n", 1025, "x"],
        ["launch", "-n", 2, "false"],
        ["run", "--help"],
        ["run", "no/such/case"],
        ["run", "no/such/case", "--backend", "shm"],
        ["bench", "--help"],
        ["bench", "-n", 2, "--backend", "shm", "--sizes", "8,64K", "--seconds", 0.01],
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)
def test_lines_break_between_words_on_a_narrow_terminal(terminal, arguments):
    columns = 60
    shell = terminal(*arguments, columns=columns)
    shell.wait()
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shell.text)
    long = [line for line in text.split("\n") if len(line.rpartition("\r")[2]) > columns]
    # A rank's own line is as long as the rank printed it.
    assert [line for line in long if not line.startswith("[")] == []

"""Starting ranks: what comes back, what is shown, and that nothing stays behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cobre._machine import usable_cpus
from cobre.comm.backend import Backend, Detection, RankCommand
from cobre.comm.launch import first_failure, group, run_ranks
from cobre.comm.launch.blame import RankResult
from cobre.comm.launch.threads import VARIABLES, thread_settings
from cobre.comm.report import Failure
from cobre.errors import InitializationFailed, WorkerError
from launches import is_alive, wait_for


def separate_commands(argv, size):
    return [RankCommand(tuple(argv), {"RANK": str(rank)}, rank) for rank in range(size)]


def one_command(argv, size):
    return [RankCommand(tuple(argv), {"RANK": "all"}, None)]


def backend_of(rank_commands):
    return Backend(
        name="plain",
        detect=lambda environ: Detection(fits=False),
        configure=lambda environ: None,
        open=lambda config: None,
        rank_commands=rank_commands,
    )


PLAIN = backend_of(separate_commands)


def run_code(size, code, *arguments, backend=PLAIN, **options):
    """Ranks that run ``code`` with ``rank`` defined; silent unless asked, and never for long."""
    code = f"import os, sys, time\nrank = int(os.environ.get('RANK', -1))\n{code}"
    options = {"echo": False, "timeout": 30.0, **options}
    return run_ranks(backend, size, [sys.executable, "-c", code, *arguments], **options)


def test_results_come_in_rank_order_with_their_exit_codes():
    results = run_code(3, "time.sleep(0.1 * (2 - rank)); print(rank); sys.exit(0)")
    assert [(r.rank, r.exit_code, r.output) for r in results] == [(0, 0, "0\n"), (1, 0, "1\n"), (2, 0, "2\n")]
    assert first_failure(results) is None


def test_a_signal_is_a_negative_exit_code():
    [result] = run_code(1, "os.kill(os.getpid(), 9)")
    assert result.exit_code == -signal.SIGKILL


def test_output_holds_stdout_and_stderr_as_they_came():
    [result] = run_code(1, "print('a'); print('b', file=sys.stderr); print('c')")
    assert result.output == "a\nb\nc\n"


def test_echoed_lines_are_whole_and_behind_their_rank(capfd):
    run_code(3, "for i in range(300): sys.stdout.write(f'{i} '); print(str(rank) * 5000)", echo=True)
    lines = capfd.readouterr().out.splitlines()
    seen = [re.fullmatch(r"\[(\d)\] (\d+) ((\d)\4{4999})", line) for line in lines]
    assert all(match and match[1] == match[4] for match in seen)
    for rank in "012":
        assert [int(match[2]) for match in seen if match[1] == rank] == list(range(300))


def test_a_line_of_megabytes_is_one_line(capfd):
    run_code(1, "print('x' * 3_000_000)", echo=True)
    assert capfd.readouterr().out == f"[0] {'x' * 3_000_000}\n"


def test_a_last_line_without_a_newline_is_shown(capfd):
    [result] = run_code(1, "sys.stdout.write('first\\nunfinished')", echo=True)
    assert capfd.readouterr().out == "[0] first\n[0] unfinished\n"
    assert result.output == "first\nunfinished\n"


def test_lines_appear_while_the_rank_still_runs(capfd, tmp_path):
    seen = tmp_path / "seen"

    def look():
        if wait_for(lambda: capfd.readouterr().out == "[0] now\n", 30.0):
            seen.touch()

    thread = threading.Thread(target=look)
    thread.start()
    wait = "print('now')\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)"
    [result] = run_code(1, wait, str(seen), echo=True)
    thread.join()
    assert result.exit_code == 0


def test_undecodable_output_is_shown():
    [result] = run_code(1, "sys.stdout.buffer.write(b'\\xff\\n')")
    assert result.output == "\ufffd\n"


@pytest.mark.waits
def test_the_deadline_kills_and_names_who_still_ran():
    with pytest.raises(WorkerError, match=r"still running after 6\.0 s.*: rank 0, rank 2\n") as caught:
        run_code(3, "print(os.getpid()); time.sleep(0 if rank == 1 else 60)", timeout=6.0)
    pids = [int(note.split()[1]) for note in caught.value.__notes__]
    assert len(pids) == 3
    assert not any(map(is_alive, pids))


def test_a_failed_rank_ends_the_others(monkeypatch):
    monkeypatch.setattr(group, "GRACE_S", 0.3)
    results = run_code(3, "sys.exit(7) if rank == 1 else time.sleep(60)")
    assert [r.exit_code for r in results] == [-signal.SIGTERM, 7, -signal.SIGTERM]
    assert first_failure(results).rank == 1


def test_after_a_failure_the_others_may_end_by_themselves(monkeypatch):
    monkeypatch.setattr(group, "GRACE_S", 20.0)
    results = run_code(2, "sys.exit(7) if rank == 1 else time.sleep(0.3); print('done')")
    assert [(r.exit_code, r.output) for r in results] == [(0, "done\n"), (7, "")]


def test_a_rank_that_ignores_sigterm_is_killed(monkeypatch, tmp_path):
    monkeypatch.setattr(group, "GRACE_S", 0.3)
    stubborn = "import signal; signal.signal(15, signal.SIG_IGN); open(sys.argv[1], 'w'); time.sleep(60)"
    failing = "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n    sys.exit(1)"
    results = run_code(2, f"if rank == 0: {stubborn}\nelse:\n    {failing}", str(tmp_path / "deaf"))
    assert [r.exit_code for r in results] == [-signal.SIGKILL, 1]


def test_processes_that_a_rank_leaves_are_ended():
    [result] = run_code(1, "import subprocess; print(subprocess.Popen(['sleep', '60']).pid)")
    assert result.exit_code == 0
    assert wait_for(lambda: not is_alive(int(result.output)))


@pytest.mark.parametrize("ending", ["", "sys.exit(1)", "os.kill(os.getpid(), 9)"])
def test_processes_in_sessions_of_their_own_are_ended(ending):
    code = (
        "import subprocess; print(subprocess.Popen(['sleep', '60'], start_new_session=True).pid, flush=True)"
    )
    results = run_code(2, f"{code}; {ending}")
    assert wait_for(lambda: not any(is_alive(int(result.output)) for result in results))


def test_an_interrupt_leaves_no_rank_behind(tmp_path):
    def interrupt():
        wait_for(lambda: len(list(tmp_path.iterdir())) == 2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run_code(2, "open(f'{sys.argv[1]}/{os.getpid()}', 'w'); time.sleep(60)", str(tmp_path))
    thread.join()
    assert not any(is_alive(int(path.name)) for path in tmp_path.iterdir())


def test_an_interrupt_while_a_rank_is_being_started_leaves_nothing_open(monkeypatch):
    popen = subprocess.Popen

    def interrupted(command, **options):
        if command[0] == sys.executable:
            raise KeyboardInterrupt
        return popen(command, **options)

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_code(2, "pass")
    # That nothing is open is what every test is asked for at its end.


def test_ranks_end_when_their_launcher_is_killed(tmp_path):
    program = tmp_path / "rank.py"
    program.write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n")
    command = ["-m", "cobre", "launch", "-n", "1", "--backend", "local", "--", str(program)]
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as launcher:
        pid = int(launcher.stdout.readline().split()[1])
        assert is_alive(pid)
        launcher.kill()
    assert wait_for(lambda: not is_alive(pid))


def test_a_rank_finds_an_empty_stdin():
    [result] = run_code(1, "print(repr(sys.stdin.read()))")
    assert result.output == "''\n"


def test_arguments_with_spaces_and_quotes_arrive_as_they_are():
    arguments = ["two words", "a 'quoted' \"one\"", "", "$HOME *"]
    [result] = run_code(1, "print(sys.argv[1:])", *arguments)
    assert result.output == f"{arguments}\n"


def test_an_executable_runs_as_it_is():
    [result] = run_ranks(PLAIN, 1, ["/bin/echo", "hello"], timeout=30.0, echo=False)
    assert result.output == "hello\n"


def test_a_py_file_runs_with_this_interpreter(tmp_path):
    program = tmp_path / "with space.py"
    program.write_text("import sys; print(sys.executable, sys.argv[1])")
    [result] = run_ranks(PLAIN, 1, [str(program), "x"], timeout=30.0, echo=False)
    assert result.output == f"{sys.executable} x\n"


def test_a_module_runs_with_this_interpreter():
    [result] = run_ranks(PLAIN, 1, ["-m", "platform"], timeout=30.0, echo=False)
    assert result.exit_code == 0
    assert result.output.startswith("Linux")


def test_env_is_added_and_the_backend_s_variables_win():
    wanted = {"RANK": "9", "COBRE_COMM_BACKEND": "other", "EXTRA": "yes"}
    [result] = run_code(1, "print(rank, os.environ['COBRE_COMM_BACKEND'], os.environ['EXTRA'])", env=wanted)
    assert result.output == "0 plain yes\n"


def test_one_command_for_all_ranks_gives_one_result_without_rank(capfd):
    [result] = run_ranks(backend_of(one_command), 4, ["/bin/echo", "all of them"], timeout=30.0)
    assert (result.rank, result.exit_code) == (None, 0)
    assert capfd.readouterr().out == "all of them\n"


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(InitializationFailed, match="no-such-program"):
        run_ranks(PLAIN, 2, ["no-such-program"], timeout=30.0)


@pytest.mark.parametrize(("size", "argv"), [(0, ["true"]), (2, [])])
def test_nothing_to_start_is_refused(size, argv):
    with pytest.raises(ValueError, match="pass"):
        run_ranks(PLAIN, size, argv)


def test_files_left_by_a_backend_are_removed(tmp_path):
    file, folder = tmp_path / "segment", tmp_path / "meeting"
    folder.mkdir()

    def leaving_commands(argv, size):
        return [RankCommand(tuple(argv), {}, 0, leaves=(str(file), str(folder), str(tmp_path / "never")))]

    run_code(
        1,
        f"open({str(file)!r}, 'w'); open({str(folder / 'hub')!r}, 'w')",
        backend=backend_of(leaving_commands),
    )
    assert list(tmp_path.iterdir()) == []


def test_the_guard_ends_what_a_killed_launcher_was_still_starting(tmp_path):
    """A rank outside every process group that the guard knows, as one between fork and registration is."""
    program = tmp_path / "rank.py"
    program.write_text(
        "import os, subprocess, sys, time\n"
        "hidden = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "print(os.getpid(), hidden.pid, flush=True)\ntime.sleep(60)\n"
    )
    command = ["-m", "cobre", "launch", "-n", "1", "--backend", "local", "--", str(program)]
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as launcher:
        pids = [int(word) for word in launcher.stdout.readline().split()[1:]]
        launcher.kill()
    assert wait_for(lambda: not any(map(is_alive, pids)))


def test_a_guard_that_is_killed_is_replaced(tmp_path):
    def guards():
        return [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if b"cobre-guard" in read(path) and parent_of(path.parent) == os.getpid()
        ]

    def read(path):
        try:
            return path.read_bytes()
        except OSError:
            return b""

    def parent_of(folder):
        try:
            return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return 0

    seen = []

    def kill_the_guard():
        assert wait_for(lambda: (tmp_path / "up").exists())
        seen.extend(guards())
        os.kill(seen[0], signal.SIGKILL)
        assert wait_for(lambda: set(guards()) - set(seen))  # one look: the killed one may still be there
        seen.extend(set(guards()) - set(seen))
        (tmp_path / "go").touch()

    thread = threading.Thread(target=kill_the_guard)
    thread.start()
    code = "open(sys.argv[1] + '/up', 'w')\nwhile not os.path.exists(sys.argv[1] + '/go'): time.sleep(0.01)"
    [result] = run_code(1, code, str(tmp_path))
    thread.join()
    assert result.exit_code == 0
    assert len(seen) == 2


def result(rank, exit_code, ended_after_s, was_ended=False, blames_another=None):
    failure = None if blames_another is None else Failure("Any", blames_another, "")
    return RankResult(rank, exit_code, "", ended_after_s, was_ended, failure)


@pytest.mark.parametrize(
    ("culprit", "others"),
    [
        (
            result(2, 1, 5.0, blames_another=False),
            [result(0, 1, 1.0, blames_another=True), result(1, 0, 0.0)],
        ),
        (result(2, -9, 5.0), [result(0, 1, 1.0, blames_another=True), result(1, 1, 2.0)]),
        (result(2, 3, 5.0), [result(0, 1, 1.0, blames_another=True), result(1, -15, 0.5, was_ended=True)]),
        (result(2, 1, 1.0, blames_another=True), [result(0, 1, 2.0, blames_another=True)]),
        (result(2, -9, 1.0), [result(0, -9, 2.0)]),
    ],
    ids=["own exception", "signal", "status", "everybody blames another", "first of equals"],
)
def test_the_culprit_is_a_rank_that_failed_by_itself(culprit, others):
    assert first_failure([*others, culprit]) is culprit


def test_threads_are_shared_out_unless_the_user_says_otherwise():
    cpus = usable_cpus()
    assert thread_settings(1, {})["OMP_NUM_THREADS"] == str(cpus)
    assert set(thread_settings(10 * cpus, {}).values()) == {"1"}
    assert set(thread_settings(1, {})) == set(VARIABLES)
    followed = thread_settings(1, {"OMP_NUM_THREADS": "7", "MKL_NUM_THREADS": "3"})
    assert followed["OPENBLAS_NUM_THREADS"] == "7"
    assert not {"OMP_NUM_THREADS", "MKL_NUM_THREADS"} & set(followed)

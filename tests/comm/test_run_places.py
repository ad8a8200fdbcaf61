"""`cobre.comm.run`: every place from which it may be called, and that no worker outlives its parent."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import textwrap

import pytest

from commands import run_command
from launches import is_alive, wait_for

TELLS = tuple(int(word) for word in platform.release().split(".")[:2]) >= (6, 15)

IN_TURN = "backend"


UNGUARDED = """
import numpy as np
from cobre.comm import run

class Answer:
    def __init__(self, value):
        self.value = value

def work(comm, x):
    total = np.empty(1)
    comm.allreduce(np.array([x]), total, "sum")
    return Answer(total[0])

answers = run(work, num_workers=2, backend=BACKEND, args=(21.0,), timeout=60)
assert all(type(answer) is Answer for answer in answers)
print("answers", [float(answer.value) for answer in answers])
"""


@pytest.mark.few(2)
@pytest.mark.parametrize("way", ["script", "stdin", "-c", "repl", "notebook", "thread"])
def test_it_works_from_everywhere_without_a_guard(way, backend, sockets_path, tmp_path):
    code = UNGUARDED.replace("BACKEND", repr(backend))
    if way == "notebook":  # cells are executed in a namespace whose __main__ has no file
        code = f"import sys, types\nns = {{'__name__': '__main__'}}\nexec({code!r}, ns)"
    if way == "thread":
        body = textwrap.indent(code, "    ")
        code = (
            f"import threading\ndef body():\n{body}\nt = threading.Thread(target=body)\nt.start()\nt.join()"
        )
    script = tmp_path / "script.py"
    script.write_text(code)
    arguments = {"script": [str(script)], "stdin": ["-"], "-c": ["-c", code], "repl": ["-i", "-q"]}
    # An interactive interpreter needs an empty line after each block, which other ways do not mind.
    text = code if way != "repl" else code.replace("\ndef", "\n\ndef").replace("\nanswers", "\n\nanswers")
    done = run_command(
        [sys.executable, *arguments.get(way, [str(script)])],
        input=text,
        env={**os.environ, "PYTHONPATH": sockets_path},
    )
    assert "answers [42.0, 42.0]" in done.stdout, done.stderr


def test_modules_beside_the_script_are_found(backend, sockets_path, tmp_path):
    (tmp_path / "beside.py").write_text("def work(comm):\n    return comm.rank\n")
    (tmp_path / "script.py").write_text(
        f"import beside, cobre.comm\nprint(cobre.comm.run(beside.work, num_workers=2, backend={backend!r}))"
    )
    done = run_command(
        [sys.executable, str(tmp_path / "script.py")], env={**os.environ, "PYTHONPATH": sockets_path}, cwd="/"
    )
    assert done.stdout == "[0, 1]\n", done.stderr


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["secrets", "signal", "struct", "cobre"])
def test_files_in_the_working_directory_do_not_stand_in_for_modules(name, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / f"{name}.py").write_text("raise ImportError('not meant to be imported')")
    (tmp_path / "script.py").write_text(
        "from cobre.comm import run\nprint(run(lambda comm: comm.rank, num_workers=2))"
    )
    done = run_command([sys.executable, str(tmp_path / "script.py")], cwd=tmp_path / "here")
    assert done.stdout == "[0, 1]\n", done.stderr


def test_workers_find_the_package_where_the_program_found_it(tmp_path):
    packages = [entry for entry in sys.path if entry.endswith("-packages")]
    (tmp_path / "script.py").write_text(
        f"import sys\nsys.path += {packages}\n"
        "from cobre.comm import run\nprint(run(lambda comm: comm.rank, num_workers=2))"
    )
    outside = os.path.realpath(sys.executable)  # of the environment
    done = run_command([outside, str(tmp_path / "script.py")])
    assert done.stdout == "[0, 1]\n", done.stderr


@pytest.mark.few(1)
@pytest.mark.parametrize("closed", ["<&-", "<&- 2>&-", "2>&-"])
def test_it_works_where_standard_streams_are_closed(closed):
    code = "from cobre.comm import run; print(run(lambda comm: comm.rank, num_workers=2))"
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[0, 1]\n")


@pytest.mark.parametrize(
    ("start", "shown"),
    [
        ("sys.stdout = None", ""),
        ("sys.stdout.reconfigure(encoding='ascii', errors='strict')", "caf?\ncaf?\n"),
    ],
)
def test_a_stdout_that_cannot_show_what_workers_print_is_no_obstacle(start, shown):
    code = (
        f"import os, sys\nfrom cobre.comm import run\n{start}\n"
        "run(lambda comm: os.write(1, 'café\\n'.encode()), num_workers=2)"
    )
    done = run_command([sys.executable, "-c", code])
    assert (done.returncode, done.stdout) == (0, shown), done.stderr


WAITS_FOR_ALL = """
def wait_for_all(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
signal.signal(signal.SIGCHLD, wait_for_all)
"""


@pytest.mark.parametrize("habit", ["signal.signal(signal.SIGCHLD, signal.SIG_IGN)", WAITS_FOR_ALL])
def test_exit_codes_are_known_where_sigchld_is_ignored(habit):
    if habit == WAITS_FOR_ALL and not TELLS:
        pytest.skip("before Linux 6.15 nobody but who waited knows")
    code = f"import os, signal\nfrom cobre.comm import run\n{habit}\n" + textwrap.dedent("""
    def work(comm):
        comm.barrier()
        if comm.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        comm.barrier()
    before = signal.getsignal(signal.SIGCHLD)
    try:
        run(work, num_workers=2)
    except Exception as error:
        print(error.rank, error.exit_code, signal.getsignal(signal.SIGCHLD) == before)
    """)
    done = run_command([sys.executable, "-c", code])
    assert done.stdout == "1 -9 True\n", done.stderr


SLEEPERS = """
import os, time
from cobre.comm import emit, run

def work(comm):
    emit(os.getpid())
    time.sleep(60)

run(work, num_workers=3, backend=BACKEND, on_event=lambda rank, pid: print(pid, flush=True))
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_its_parent(number, backend, sockets_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", SLEEPERS.replace("BACKEND", repr(backend))],
        env={**os.environ, "PYTHONPATH": sockets_path},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with parent:
        pids = [int(parent.stdout.readline()) for _ in range(3)]
        parent.send_signal(number)
    assert parent.returncode == -number
    assert wait_for(lambda: not any(map(is_alive, pids)))


FORKS_AND_DIES = """
import os, threading, time
from cobre.comm import emit, run

def work(comm):
    emit(os.getpid())
    time.sleep(60)

def fork_and_die():
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    print(child, flush=True)
    os.kill(os.getpid(), 9)

def hear(rank, pid):
    pids.append(pid)
    print(pid, flush=True)
    if len(pids) == 2:
        threading.Thread(target=fork_and_die).start()

pids = []
run(work, num_workers=2, on_event=hear)
"""


def test_a_forked_child_does_not_keep_workers_of_its_ended_parent_running():
    with subprocess.Popen(
        [sys.executable, "-c", FORKS_AND_DIES], stdout=subprocess.PIPE, text=True
    ) as parent:
        *workers, child = [int(parent.stdout.readline()) for _ in range(3)]
        assert parent.wait(30) == -signal.SIGKILL
        have_ended = wait_for(lambda: not any(map(is_alive, workers)))
        os.kill(child, signal.SIGKILL)
        assert have_ended


GRACEFUL = """
import signal, time
from cobre.comm import emit, run

def work(comm):
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append("TERM"))
    signal.signal(signal.SIGINT, lambda *_: asked.append("INT"))
    emit("ready")
    deadline = time.monotonic() + 60
    while not asked and time.monotonic() < deadline:
        time.sleep(0.02)
    return asked

print(run(work, num_workers=2, on_event=lambda rank, event: print(event, flush=True), relay_signals=True))
"""


@pytest.mark.parametrize(("number", "name"), [(signal.SIGTERM, "TERM"), (signal.SIGINT, "INT")])
def test_relayed_signals_let_workers_finish_and_return(number, name):
    with subprocess.Popen([sys.executable, "-c", GRACEFUL], stdout=subprocess.PIPE, text=True) as parent:
        assert [parent.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        parent.send_signal(number)
        rest, _ = parent.communicate(timeout=60)
    assert rest == f"[['{name}'], ['{name}']]\n"
    assert parent.returncode == 0

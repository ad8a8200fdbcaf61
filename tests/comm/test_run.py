"""`cobre.comm.run`: results, failures, events, and every place from which it may be called."""

from __future__ import annotations

import math
import os
import pickle
import platform
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from pathlib import Path

import numpy as np
import pytest

from cobre.comm import CollectiveFailed, available_backends, emit, run
from cobre.errors import CobreError, InvalidBackend, WorkerError

TELLS = tuple(int(word) for word in platform.release().split(".")[:2]) >= (6, 15)

# Functions that travel to workers are nested: this module cannot be imported there.


@pytest.fixture(params=["shm", "tcp", "sockets"])
def backend(request, sockets_path, monkeypatch):
    monkeypatch.syspath_prepend(sockets_path)
    if request.param not in available_backends():
        pytest.skip(f"{request.param} is not available here")
    return request.param


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def test_results_come_in_rank_order_with_arguments_passed(backend):
    def work(comm, factor, *, plus):
        total = np.empty(1)
        comm.allreduce(np.array([factor * comm.rank]), total, "sum")
        return comm.rank, comm.size, comm.backend, total[0] + plus

    results = run(work, num_workers=3, backend=backend, args=[2.0], kwargs={"plus": 0.5}, timeout=60)
    assert results == [(rank, 3, backend, 6.5) for rank in range(3)]


def test_large_arguments_and_results_arrive_whole(backend):
    data = np.arange(3_000_001, dtype=np.float64)
    results = run(
        lambda comm, a: a * (comm.rank + 1), num_workers=2, backend=backend, args=(data,), timeout=60
    )
    assert all(np.array_equal(result, data * (rank + 1)) for rank, result in enumerate(results))


def test_events_arrive_in_order_per_rank_while_ranks_run(backend):
    def work(comm):
        for number in range(200):
            emit({"number": number})
        comm.barrier()
        emit("last")

    seen = {0: [], 1: [], 2: []}
    threads = set()

    def note(rank, event):
        seen[rank].append(event)
        threads.add(threading.get_ident())

    run(work, num_workers=3, backend=backend, on_event=note, timeout=60)
    assert list(seen.values()) == [[*({"number": number} for number in range(200)), "last"]] * 3
    assert threads == {threading.get_ident()}


def test_an_exception_is_a_worker_error_with_its_remote_traceback(backend):
    def fail_on_the_last_rank(comm):
        comm.barrier()
        if comm.rank == 2:
            raise ValueError("rank 2 is ill")
        comm.barrier()

    with pytest.raises(WorkerError, match="rank 2 failed: ValueError: rank 2 is ill") as caught:
        run(fail_on_the_last_rank, num_workers=3, backend=backend, timeout=60)
    error = caught.value
    assert (error.rank, error.exit_code, error.kind) == (2, 1, "WorkerFailed")
    assert type(error.inner) is ValueError
    assert error.__cause__ is error.inner
    text = "".join(traceback.format_exception(error))
    assert "On rank 2:" in text
    assert "in fail_on_the_last_rank" in text
    assert "CollectiveFailed" not in text
    again = pickle.loads(pickle.dumps(error))
    assert (again.rank, again.exit_code, again.inner.args) == (2, 1, ("rank 2 is ill",))


def test_the_survivor_s_failure_is_never_the_one_raised(backend):
    def fail_slowly(comm):
        comm.barrier()
        if comm.rank == 0:
            comm.close()  # the others fail now, and end long before this rank does
            time.sleep(0.7)
            raise KeyError("culprit")
        comm.barrier()

    with pytest.raises(WorkerError) as caught:
        run(fail_slowly, num_workers=3, backend=backend, timeout=60)
    assert caught.value.rank == 0
    assert type(caught.value.inner) is KeyError


def test_ranks_that_all_disagree_raise_what_they_saw(backend):
    def disagree(comm):
        comm.broadcast(np.ones(1), comm.rank % 2)

    with pytest.raises(WorkerError) as caught:
        run(disagree, num_workers=2, backend=backend, timeout=60)
    assert type(caught.value.inner) is CollectiveFailed


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_rank_that_dies_is_named_with_its_signal(backend, number):
    def die(comm, number):
        comm.barrier()
        if comm.rank == 1:
            print("last words", flush=True)
            os.kill(os.getpid(), number)
        comm.barrier()

    with pytest.raises(WorkerError, match=f"rank 1 failed: signal {number.value}") as caught:
        run(die, num_workers=3, backend=backend, args=(number.value,), timeout=60)
    assert (caught.value.rank, caught.value.exit_code, caught.value.inner) == (1, -number, None)
    assert "last words" in caught.value.__notes__


def test_an_exit_status_is_reported(backend):
    with pytest.raises(WorkerError, match="rank 0 failed: exit status 3") as caught:
        run(lambda comm: sys.exit(3) if comm.rank == 0 else comm.barrier(), num_workers=2, backend=backend)
    assert caught.value.exit_code == 3


def test_leaving_without_a_result_is_an_error(backend):
    with pytest.raises(WorkerError, match="rank 1 ended without returning"):
        run(lambda comm: sys.exit() if comm.rank else None, num_workers=2, backend=backend, timeout=60)


@pytest.mark.parametrize("leave", [sys.exit, os._exit])
def test_a_rank_that_left_in_good_order_is_blamed_and_not_those_that_waited_for_it(leave, backend):
    def work(comm, leave):
        comm.barrier()
        if comm.rank == 1:
            leave(0)
        comm.barrier()

    with pytest.raises(WorkerError, match="rank 1 ended without returning") as caught:
        run(work, num_workers=3, backend=backend, args=(leave,), timeout=60)
    assert (caught.value.rank, caught.value.exit_code, caught.value.inner) == (1, 0, None)


def test_an_exception_whose_constructor_pickle_cannot_call_keeps_its_type(backend):
    class Odd(Exception):
        def __init__(self, one, two):
            super().__init__(f"{one} and {two}")
            self.two = two

    def fail(comm):
        raise Odd(1, 2)

    with pytest.raises(WorkerError) as caught:
        run(fail, num_workers=2, backend=backend, timeout=60)
    assert type(caught.value.inner) is Odd
    assert str(caught.value.inner) == "1 and 2"
    assert caught.value.inner.two == 2


def _raise_one_that_holds_a_lock(comm):
    raise ValueError("held", threading.Lock())


def _raise_one_that_comes_back_as_a_number(comm):
    class Odd(Exception):
        def __reduce__(self):
            return int, ("3",)

    raise Odd("held")


def _raise_one_that_cannot_be_shown(comm):
    class Odd(Exception):
        def __str__(self):
            raise LookupError("held")

    raise Odd


def _raise_one_of_a_module_that_only_workers_have(comm):
    module = type(sys)("only_in_workers")
    sys.modules["only_in_workers"] = module
    exec("class Odd(Exception): pass", vars(module))
    raise module.Odd("held")


@pytest.mark.parametrize(
    "fail",
    [
        _raise_one_that_holds_a_lock,
        _raise_one_that_comes_back_as_a_number,
        _raise_one_that_cannot_be_shown,
        _raise_one_of_a_module_that_only_workers_have,
    ],
)
def test_an_exception_that_cannot_travel_as_it_is_is_described(fail):
    travelling = type(fail)(fail.__code__, {"sys": sys, "threading": threading}, fail.__name__)
    travelling.__module__ = "__main__"  # by value: this module cannot be imported there
    with pytest.raises(WorkerError) as caught:
        run(travelling, num_workers=2, backend="shm", timeout=60)
    assert re.search("held|Odd", str(caught.value))
    assert f"in {fail.__name__}" in caught.value.inner.__notes__[0]


def test_a_result_that_cannot_travel_is_that_rank_s_failure(backend):
    said = r"what rank \d returned cannot be sent back: .*pickle"
    with pytest.raises(WorkerError, match=said):
        run(lambda comm: threading.Lock(), num_workers=2, backend=backend, timeout=60)


def test_an_event_that_cannot_be_rebuilt_is_that_rank_s_failure(backend):
    def work(comm):
        module = type(sys)("only_in_workers")
        sys.modules["only_in_workers"] = module
        exec("class Event: pass", vars(module))
        emit(module.Event())

    with pytest.raises(WorkerError, match=r"what rank \d emitted cannot be rebuilt here: .*only_in_workers"):
        run(work, num_workers=2, backend=backend, timeout=60, on_event=lambda rank, event: None)


def test_the_timeout_kills_and_names(backend):
    start = time.monotonic()
    with pytest.raises(WorkerError, match=r"still running after 1\.5 s, now killed: rank 0, rank 1"):
        run(lambda comm: time.sleep(60), num_workers=2, backend=backend, timeout=1.5)
    assert time.monotonic() - start < 30  # they would have slept for 60


def test_a_callback_that_raises_ends_everything(backend):
    def refuse(rank, event):
        raise RuntimeError(f"no {event}")

    with pytest.raises(RuntimeError, match="no news"):
        run(lambda comm: (emit("news"), time.sleep(60)), num_workers=2, backend=backend, on_event=refuse)


def test_what_workers_print_appears_here(backend, capsys):
    run(lambda comm: print(f"from {comm.rank}"), num_workers=2, backend=backend, timeout=60)
    assert sorted(capsys.readouterr().out.splitlines()) == ["from 0", "from 1"]


def test_several_runs_at_once_from_threads(backend):
    results = {}

    def call(number):
        def work(comm, number):
            total = np.empty(1)
            comm.allreduce(np.array([float(number)]), total, "sum")
            return total[0]

        results[number] = run(work, num_workers=2, backend=backend, args=(number,), timeout=60)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: [2.0 * number] * 2 for number in range(3)}


def test_one_worker_runs_in_this_process():
    events = []

    def work(comm, x):
        emit(x)
        thread = threading.Thread(target=emit, args=("from a thread",))
        thread.start()
        thread.join()
        return os.getpid(), comm.size, comm.backend

    [result] = run(work, num_workers=1, args=(3,), on_event=lambda rank, event: events.append((rank, event)))
    assert result == (os.getpid(), 1, "local")
    assert events == [(0, 3), (0, "from a thread")]


def test_one_worker_keeps_the_backend_that_was_asked_for(backend):
    assert run(lambda comm: (comm.backend, comm.size), num_workers=1, backend=backend) == [(backend, 1)]


def test_one_worker_fails_like_many():
    with pytest.raises(WorkerError, match="rank 0 failed: ValueError: ill") as caught:
        run(lambda comm: (_ for _ in ()).throw(ValueError("ill")), num_workers=1)
    assert caught.value.__cause__ is caught.value.inner


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("fn", "options", "error", "said"),
    [
        (3, {}, TypeError, "3 is no function"),
        (print, {"args": 5}, TypeError, "not iterable"),
        (print, {"timeout": 0}, ValueError, "a timeout of 0 s leaves no time"),
        (print, {"timeout": math.nan}, ValueError, "leaves no time"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_starts(fn, options, error, said, workers):
    with pytest.raises(error, match=said):
        run(fn, num_workers=workers, **options)


def test_emitting_outside_a_run_does_nothing():
    emit("nobody listens")


@pytest.mark.parametrize("method", ["fork", "forkserver"])
@pytest.mark.parametrize("workers", [1, 2])
def test_fork_is_refused(method, workers):
    with pytest.raises(CobreError, match=method) as caught:
        run(print, num_workers=workers, start_method=method)
    assert caught.value.kind == "IncompatibleSettings"
    assert caught.value.suggestion


@pytest.mark.parametrize("count", [0, -1])
def test_no_workers_are_refused(count):
    with pytest.raises(ValueError, match="pass 1 or more"):
        run(print, num_workers=count)


def test_an_unknown_backend_is_refused():
    with pytest.raises(InvalidBackend):
        run(print, num_workers=2, backend="pigeon")


def test_local_cannot_be_several():
    with pytest.raises(CobreError, match="one rank"):
        run(print, num_workers=2, backend="local")


def test_what_cannot_be_sent_is_refused_before_anything_starts(backend):
    with pytest.raises(CobreError, match="cannot be sent") as caught:
        run(print, num_workers=2, backend=backend, args=(threading.Lock(),))
    assert caught.value.kind == "IncompatibleSettings"


def test_workers_share_the_cpus(backend, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    share = str(max(1, len(os.sched_getaffinity(0)) // 2))
    assert run(lambda comm: os.environ["OMP_NUM_THREADS"], num_workers=2, backend=backend) == [share] * 2


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
    done = subprocess.run(
        [sys.executable, *arguments.get(way, [str(script)])],
        input=text,
        env={**os.environ, "PYTHONPATH": sockets_path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "answers [42.0, 42.0]" in done.stdout, done.stderr


def test_modules_beside_the_script_are_found(backend, sockets_path, tmp_path):
    (tmp_path / "beside.py").write_text("def work(comm):\n    return comm.rank\n")
    (tmp_path / "script.py").write_text(
        f"import beside, cobre.comm\nprint(cobre.comm.run(beside.work, num_workers=2, backend={backend!r}))"
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        env={**os.environ, "PYTHONPATH": sockets_path},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "[0, 1]\n", done.stderr


@pytest.mark.parametrize("name", ["secrets", "signal", "struct", "cobre"])
def test_files_in_the_working_directory_do_not_stand_in_for_modules(name, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / f"{name}.py").write_text("raise ImportError('not meant to be imported')")
    (tmp_path / "script.py").write_text(
        "from cobre.comm import run\nprint(run(lambda comm: comm.rank, num_workers=2))"
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        cwd=tmp_path / "here",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "[0, 1]\n", done.stderr


def test_workers_find_the_package_where_the_program_found_it(tmp_path):
    packages = [entry for entry in sys.path if entry.endswith("-packages")]
    (tmp_path / "script.py").write_text(
        f"import sys\nsys.path += {packages}\n"
        "from cobre.comm import run\nprint(run(lambda comm: comm.rank, num_workers=2))"
    )
    done = subprocess.run(
        [os.path.realpath(sys.executable), str(tmp_path / "script.py")],  # outside of the environment
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "[0, 1]\n", done.stderr


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
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
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
def test_programs_that_let_their_children_go_learn_how_ranks_ended(habit):
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
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "1 -9 True\n", done.stderr


SLEEPERS = """
import os, time
from cobre.comm import emit, run

def work(comm):
    emit(os.getpid())
    time.sleep(60)

run(work, num_workers=3, backend=BACKEND, on_event=lambda rank, pid: print(pid, flush=True))
"""


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


def test_a_forked_child_does_not_keep_the_workers_of_its_dead_parent():
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


def _variable(comm):
    return os.environ.get("COBRE_TEST_VARIABLE")


def test_workers_see_the_variables_given_to_them():
    assert run(_variable, num_workers=2, environment={"COBRE_TEST_VARIABLE": "7"}) == ["7", "7"]
    assert "COBRE_TEST_VARIABLE" not in os.environ

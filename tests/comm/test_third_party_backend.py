"""A backend that Cobre has never heard of, installed beside it, keeps the whole contract."""

from __future__ import annotations

import os
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from commands import run_command


def python_with(sockets_path):
    """Runs a fresh interpreter that sees the plugin and must leave nothing in its temporary directory."""

    def run(*arguments: object, path: str = sockets_path, **environ: str) -> str:
        with tempfile.TemporaryDirectory(prefix="cobre-") as scratch:
            done = run_command(
                [sys.executable, *map(str, arguments)],
                env={**os.environ, "PYTHONPATH": path, "TMPDIR": scratch, **environ},
                timeout=90,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            assert list(Path(scratch).iterdir()) == []
        return done.stdout

    return run


def ranks_with(sockets_path, folder):
    """Runs code with ``comm`` open on several ranks, and returns what each printed."""

    def run(size: int, code: str, **environ: str) -> list[str]:
        program = folder / "program.py"
        program.write_text(f"{PREAMBLE}\n{textwrap.dedent(code)}")
        options = ["-n", size, "--backend", "sockets", "--timeout", 60]
        output = python_with(sockets_path)("-m", "cobre", "launch", *options, "--", program, **environ)
        said = [""] * size
        for line in output.splitlines():
            rank, _, text = line[1:].partition("] ")
            said[int(rank)] += f"{text}\n"
        return said

    return run


@pytest.fixture
def python(sockets_path):
    return python_with(sockets_path)


PREAMBLE = """\
import os, pathlib, signal, time
import numpy as np
from cobre.comm import CollectiveFailed, InvalidCommunicator, create_communicator

def tell(word):
    pathlib.Path(__file__).with_name(word).touch()

def wait_for(word):
    end = time.monotonic() + 40
    while not pathlib.Path(__file__).with_name(word).exists():
        assert time.monotonic() < end, word
        time.sleep(0.01)

def failure_of(call, *arguments):
    started = time.monotonic()
    try:
        call(*arguments)
    except CollectiveFailed as error:
        return f"{error.message} [{'soon' if time.monotonic() - started < 20 else 'late'}]"
    return "no failure"

comm = create_communicator()
one, many, ones, places = np.ones(1), np.ones(comm.size), [1] * comm.size, range(comm.size)
comm.barrier()
"""


def test_it_is_listed_before_local(python):
    names = python("-c", "import cobre.comm; print(*cobre.comm.available_backends())").split()
    assert names[-2:] == ["sockets", "local"]


@pytest.mark.parametrize("arguments", ["'sockets', config", "config=config"])
def test_its_configuration_opens_it(python, arguments):
    code = f"""
from cobre.comm import Communicator, SharedMemoryProvider, create_communicator
from cobre_backend_sockets import SocketsConfig
config = SocketsConfig(path="unused", rank=0, size=1)
with create_communicator({arguments}) as comm:
    assert isinstance(comm, Communicator) and isinstance(comm, SharedMemoryProvider)
    print(comm)
"""
    assert python("-c", code) == "SocketsCommunicator(rank=0, size=1)\n"


@pytest.mark.parametrize("choice", [{"COBRE_COMM_BACKEND": "sockets"}, {}], ids=["by name", "auto"])
def test_the_environment_opens_it(python, choice):
    settings = {"COBRE_SOCKETS_PATH": "unused", "COBRE_SOCKETS_RANK": "0", "COBRE_SOCKETS_SIZE": "1"}
    code = "import cobre.comm; print(cobre.comm.create_communicator().backend)"
    assert python("-c", code, **settings, **choice) == "sockets\n"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"RANK": "0"}, "MissingConfiguration COBRE_SOCKETS_PATH COBRE_SOCKETS_SIZE"),
        ({"PATH": "/x", "RANK": "2", "SIZE": "2"}, "InitializationFailed rank=2 is not below"),
        ({"PATH": "/x", "RANK": "a", "SIZE": "0"}, "InitializationFailed rank='a' size=0"),
        ({"PATH": "x" * 200, "RANK": "0", "SIZE": "1", "TIMEOUT_SECS": "inf"}, "too long timeout='inf'"),
    ],
)
def test_wrong_settings_are_listed_together(python, settings, error):
    code = """
from cobre.comm import BackendError, create_communicator
try:
    create_communicator()
except BackendError as error:
    print(type(error).__name__, error)
"""
    said = python("-c", code, **{f"COBRE_SOCKETS_{name}": value for name, value in settings.items()})
    assert all(word in said for word in error.split()), said


@pytest.mark.few(1)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 8] if os.environ.get("COBRE_TEST_SOAK") else [1, 3])
def test_it_passes_the_conformance_kit(python, size):
    assert "0 failed" in python("-m", "cobre.comm.testing", "-n", size, "--backend", "sockets")


@pytest.mark.soak
def test_it_passes_the_conformance_kit_in_tiny_pieces(python):
    output = python(
        "-m", "cobre.comm.testing", "-n", 2, "--backend", "sockets", COBRE_COMM_LIMITS="chunk_bytes=61"
    )
    assert "0 failed" in output


def test_one_rank_gives_the_same_bits_as_local(python):
    kit = ["-m", "cobre.comm.testing", "--digest", "-n", 1, "--backend"]
    assert python(*kit, "sockets") == python(*kit, "local")


def test_a_broken_backend_is_skipped_unless_requested(python, tmp_path):
    metadata = tmp_path / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[cobre.comm.backends]\nbroken = no_such_module:BACKEND\n")
    code = """
from cobre.comm import BackendNotAvailable, available_backends, create_communicator
print(create_communicator().backend, "broken" in available_backends())
try:
    create_communicator("broken")
except BackendNotAvailable as error:
    print(error.requested, "no_such_module" in str(error))
"""
    assert python("-c", code, path=str(tmp_path)) == "local False\nbroken True\n"


@pytest.mark.few(1)
@pytest.mark.waits
@pytest.mark.parametrize(
    ("calls", "said"),
    [
        (["barrier()", "allreduce(one, one, 'sum')"], ["barrier()", "dtype=float64, size=1, op=sum"]),
        (["allreduce(one, one, 'sum')", "allreduce(one, one, 'max')"], ["op=sum", "op=max"]),
        (["broadcast(one, 0)", "broadcast(one, 1)"], ["root=0", "root=1"]),
        (["broadcast(one, 0)", "broadcast(many.astype('i4'), 0)"], ["float64, size=1", "int32, size=3"]),
        (
            ["allgatherv(one, many, ones, places)", "allgatherv(one, many, [0, 1, 1], places)"],
            ["counts=[1, 1, 1]", "counts=[0, 1, 1]"],
        ),
        (["create_shared_region(3)", "create_shared_region(4)"], ["count=3", "count=4"]),
    ],
)
def test_disagreement_is_an_error_on_every_rank(sockets_path, tmp_path, calls, said):
    code = f"print(failure_of(lambda: comm.{calls[0]} if comm.rank != 1 else comm.{calls[1]}))"
    texts = ranks_with(sockets_path, tmp_path)(3, code)
    assert len(set(texts)) == 1
    assert f"rank 0 called {calls[0].partition('(')[0]}" in texts[0]
    assert f"rank 1 called {calls[1].partition('(')[0]}" in texts[0]
    assert all(word in texts[0] for word in said), texts[0]


@pytest.mark.few(1)
@pytest.mark.waits
@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_dead_rank_is_named_soon_by_every_other(sockets_path, tmp_path, victim):
    code = f"""
    if comm.rank == {victim}:
        time.sleep(0.3)
        os._exit(0)
    print(failure_of(comm.barrier), failure_of(comm.allreduce, one, one, "sum"), sep="\\n")
    """
    texts = ranks_with(sockets_path, tmp_path)(3, code)
    for rank in {0, 1, 2} - {victim}:
        first, second = texts[rank].splitlines()
        assert f"rank {victim} " in first
        assert first.endswith("[soon]")
        assert second == first


RANK_0_COMPUTES = """
if comm.rank == 0:
    wait_for("told")
print(failure_of(comm.barrier))
if comm.rank == 1:
    tell("told")
"""
RANK_0_LEAVES_AFTER_THE_FAILURE = """
if comm.rank == 0:
    print(failure_of(comm.barrier), flush=True)
    tell("told")
    os._exit(0)
wait_for("told")
time.sleep(0.3)  # it has left by now
print(failure_of(comm.barrier))
"""


@pytest.mark.soak
@pytest.mark.waits
@pytest.mark.parametrize(
    "code", [RANK_0_COMPUTES, RANK_0_LEAVES_AFTER_THE_FAILURE], ids=["computes", "leaves"]
)
def test_a_dead_rank_is_blamed_whatever_rank_0_does(sockets_path, tmp_path, code):
    texts = ranks_with(sockets_path, tmp_path)(3, f"if comm.rank == 2: os._exit(0)\n{code}")
    assert texts[0] == texts[1]
    assert texts[1].endswith("rank 2 closed its communicator or died [soon]\n")


@pytest.mark.few(1)
@pytest.mark.waits
@pytest.mark.parametrize("late", [0, 1])
def test_a_missing_rank_is_named_at_the_deadline_and_gets_the_error_when_it_comes(
    sockets_path, tmp_path, late
):
    code = f"""
    if comm.rank == {late}:
        wait_for("told")
    print(failure_of(comm.barrier).rpartition(" [")[0])
    tell("told")
    """
    texts = ranks_with(sockets_path, tmp_path)(3, code, COBRE_SOCKETS_TIMEOUT_SECS="3")
    assert set(texts) == {f"barrier timed out after 3 s: rank {late} did not call it\n"}


@pytest.mark.soak
@pytest.mark.waits
def test_a_stopped_rank_0_is_named(sockets_path, tmp_path):
    code = """
    pids = np.empty(comm.size, np.int64)
    comm.allgatherv(np.array([os.getpid()]), pids, ones, places)
    if comm.rank == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        print(failure_of(comm.barrier).rpartition(" [")[0])
        tell(f"told {comm.rank}")
        wait_for(f"told {3 - comm.rank}")  # the other one finds out, too
        os.kill(pids[0], signal.SIGCONT)
    """
    texts = ranks_with(sockets_path, tmp_path)(3, code, COBRE_SOCKETS_TIMEOUT_SECS="3")
    assert texts[1:] == ["barrier: rank 0 gave no answer in 3 s\n"] * 2


@pytest.mark.soak
@pytest.mark.waits
def test_an_interrupt_in_a_collective_breaks_the_communicator_for_all(sockets_path, tmp_path):
    code = """
    if comm.rank == 1:
        wait_for("interrupted")
    elif comm.rank == 0:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        if comm.rank == 0:
            signal.setitimer(signal.ITIMER_REAL, 1.0)
        comm.barrier()
    except KeyboardInterrupt:
        print("interrupted")
        tell("interrupted")
    except CollectiveFailed:
        pass
    print(failure_of(comm.barrier))
    """
    texts = ranks_with(sockets_path, tmp_path)(3, code)
    assert texts[0].startswith("interrupted\n")
    assert all("barrier was interrupted on rank 0 by KeyboardInterrupt" in text for text in texts)


@pytest.mark.soak
@pytest.mark.waits
def test_a_forked_child_keeps_no_dead_rank_alive(sockets_path, tmp_path):
    code = """
    if comm.rank == 2 and os.fork():
        os._exit(0)
    if comm.rank == 2:
        time.sleep(1.5)
        os._exit(0)
    print(failure_of(comm.barrier))
    """
    texts = ranks_with(sockets_path, tmp_path)(3, code)
    assert all(text.endswith("[soon]\n") and "rank 2" in text for text in texts[:2])


@pytest.mark.soak
@pytest.mark.waits
def test_closing_wakes_the_thread_that_waits(sockets_path, tmp_path):
    code = """
    import threading
    if comm.rank == 1:
        threading.Timer(0.3, comm.close).start()
        try:
            comm.barrier()
        except InvalidCommunicator as error:
            print(error.message)
    else:
        time.sleep(0.6)
    """
    assert ranks_with(sockets_path, tmp_path)(2, code)[1] == "barrier: the communicator is closed\n"


@pytest.mark.soak
@pytest.mark.waits
def test_groups_may_use_the_same_path_again(sockets_path, tmp_path):
    code = """
    for turn in range(20):
        comm.close()
        comm = create_communicator()
        comm.barrier()
    print(os.path.exists(os.environ["COBRE_SOCKETS_PATH"]))
    """
    assert ranks_with(sockets_path, tmp_path)(3, code) == ["False\n"] * 3


def test_ranks_that_do_not_come_are_named_and_nothing_is_left(python):
    code = """
import os, tempfile
from cobre.comm import InitializationFailed, create_communicator
from cobre_backend_sockets import SocketsConfig
for rank in (0, 1):
    path = os.path.join(tempfile.gettempdir(), "meeting")
    try:
        create_communicator(config=SocketsConfig(path, rank, 3, connect_timeout=0.2))
    except InitializationFailed as error:
        print(error.message)
"""
    first, second = python("-c", code).splitlines()
    assert "rank 1, rank 2 did not join within 0.2 s" in first
    assert second.startswith("rank 1 of 3 could not meet the others")


def test_the_kit_names_the_promises_that_a_broken_backend_breaks(sockets_path, tmp_path):
    (tmp_path / "crooked.py").write_text(
        textwrap.dedent("""
        import dataclasses
        import cobre_backend_sockets as healthy

        def open_crooked(config):
            comm = healthy.BACKEND.open(config)
            comm.__class__ = type("Crooked", (type(comm),), {"barrier": lambda self: None, "backend": "crooked"})
            return comm

        def rank_commands(argv, size):
            commands = healthy.BACKEND.rank_commands(argv, size)
            return [c._replace(env={**c.env, "COBRE_COMM_BACKEND": "crooked"}) for c in commands]

        BACKEND = dataclasses.replace(
            healthy.BACKEND, name="crooked", open=open_crooked, rank_commands=rank_commands
        )
        """)
    )
    info = tmp_path / "crooked-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: crooked\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[cobre.comm.backends]\ncrooked = crooked:BACKEND\n")
    checks = "gather_takes_zero_counts,barrier_holds_everyone_back,broadcast_takes_any_buffer"
    done = run_command(
        [sys.executable, "-m", "cobre.comm.testing", "-n", "2", "--backend", "crooked", "--only", checks],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{sockets_path}"},
        timeout=90,
    )
    assert done.returncode == 1
    outcomes = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line.count(" ") > 10)
    assert done.stdout.rstrip().endswith("2 passed, 1 failed")
    assert "FAILED" in outcomes["barrier_holds_everyone_back"]
    assert outcomes["gather_takes_zero_counts"] == outcomes["broadcast_takes_any_buffer"] == "ok"

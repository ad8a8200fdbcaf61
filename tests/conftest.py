"""What holds for every test: a deadline (pyproject), warnings as errors (pyproject), and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

import together
import warm

# Every process that a test starts inherits this, so that an orphan is recognised as ours.
MARK = f"COBRE_TEST_RUN={uuid.uuid4().hex}"
GRACE_S = 2.0
PLUGIN = Path(__file__).parent.parent / "examples" / "backend_plugin"


def pytest_configure(config):
    config.addinivalue_line(
        "markers", f"{together.MARK}: mostly sleeps; runs beside others (tests/together.py)"
    )


def pytest_pyfunc_call(pyfuncitem):
    if not pyfuncitem.get_closest_marker(together.MARK):
        return None
    together.run(pyfuncitem)
    return True


@pytest.fixture(autouse=True, scope="session")
def _mark_processes():
    name, _, value = MARK.partition("=")
    os.environ[name] = value
    with warm.SERVER_OF_THIS_RUN:
        yield
    del os.environ[name]


@pytest.fixture(autouse=True)
def _no_communicator_settings(monkeypatch):
    """A test sees no COBRE_* variable but those it sets: the user's own must not change its outcome."""
    for name in list(os.environ):
        if name.startswith("COBRE_") and name != MARK.partition("=")[0]:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _nothing_left_behind(request, _mark_processes):
    """No descriptor, process or shared-memory entry of ours outlives the test that made it."""
    before = _leftovers()
    yield
    deadline = time.monotonic() + GRACE_S
    while (left := _leftovers() - before) and time.monotonic() < deadline:
        time.sleep(0.02)
    suspects = request.node.stash.get(together.COMPANY, [request.node.nodeid])
    assert not left, f"left behind by {' or '.join(suspects)}: {[_described(item) for item in sorted(left)]}"


@pytest.fixture(scope="session", autouse=True)
def _interruptible():
    """Python's own answer to SIGINT, here and in every child, even where it was inherited ignored.

    A shell without job control starts ``make test &`` that way, and no Ctrl-C test could pass there.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def sockets_path(tmp_path_factory):
    """A directory with the example backend installed as a stranger would, for PYTHONPATH."""
    target = tmp_path_factory.mktemp("plugin")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(PLUGIN)], check=True, timeout=100)
    return str(target)


def _leftovers() -> set[str]:
    # A port needs no look of its own: it stays open only in a descriptor of ours or in a process of ours.
    return _descriptors() | _processes() | _segments()


def _described(item: str) -> str:
    """A process with its command, in which its test's folder stands."""
    try:
        words = Path(f"/proc/{item.removeprefix('process ')}/cmdline").read_bytes().split(b"\0")
    except OSError:  # no process, or gone by now
        return item
    return f"{item}: {b' '.join(words).decode(errors='replace')[:300]}"


def _descriptors() -> set[str]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.add(f"fd {entry.name} -> {entry.readlink()}")
        except OSError:  # the descriptor that lists this folder is gone by now
            continue
    return {item for item in found if not item.endswith("/fd")}


def _processes() -> set[str]:
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if MARK.encode() in environment.split(b"\0"):
            found.add(f"process {entry.name}")
    return found


def _segments() -> set[str]:
    folder = Path("/dev/shm")
    others = re.compile(rf"cobre_test_(?!{os.getpid()}_)")  # a suite's that runs at the same time
    names = [path.name for path in folder.glob("cobre*")] if folder.is_dir() else []
    return {f"segment {name}" for name in names if not others.match(name)}

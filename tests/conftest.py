"""What holds for every test: a deadline (pyproject), warnings as errors (pyproject), and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import leaks
import matrices
import together
import warm

PLUGIN = Path(__file__).parent.parent / "examples" / "backend_plugin"


def pytest_configure(config):
    matrices.add_markers(config)
    config.addinivalue_line(
        "markers", f"{together.MARK}: mostly sleeps; runs beside others (tests/together.py)"
    )
    config.addinivalue_line(
        "markers", "mpi_batch(size, code, **environ): runs in a launch with others (tests/mpi_batch.py)"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    import workers  # only where pytest-xdist is

    return workers.ByFile(config, log)


def pytest_collection_modifyitems(config, items):
    matrices.thin_out(config, items)
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist
        import workers

        workers.put_processes_first(items)


def pytest_pyfunc_call(pyfuncitem):
    if not pyfuncitem.get_closest_marker(together.MARK):
        return None
    together.run(pyfuncitem)
    return True


@pytest.fixture(autouse=True, scope="session")
def _mark_processes(request):
    os.environ[leaks.MARK_NAME] = leaks.MARK_VALUE
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting threads is a third of NumPy's start
    with warm.servers(runs_commands=any("cli" in item.path.parts for item in request.session.items)):
        watch = leaks.Watch()
        yield watch
        leaks.note_start()
        assert not (left := watch.left(watch.look())), f"left behind by an unknown test: {left}"
    del os.environ[leaks.MARK_NAME]


@pytest.fixture(autouse=True)
def _no_communicator_settings(monkeypatch):
    """A test sees no COBRE_* variable but those it sets: the user's own must not change its outcome."""
    for name in list(os.environ):
        if name.startswith("COBRE_") and name != leaks.MARK_NAME:
            monkeypatch.delenv(name)
    for name in ("COLUMNS", "LINES"):  # readline exports them to children without telling os.environ
        monkeypatch.delenv(name, raising=False)
        os.unsetenv(name)


@pytest.fixture(autouse=True)
def _nothing_left_behind(request, _mark_processes):
    """No descriptor, process or shared-memory entry of ours outlives the test that made it."""
    before = _mark_processes.look()
    yield
    left = _mark_processes.left(before)
    suspects = request.node.stash.get(together.COMPANY, [request.node.nodeid])
    assert not left, f"left behind by {' or '.join(suspects)}: {left}"


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

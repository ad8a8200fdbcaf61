"""Programs of MPI ranks that run one after another in one launch: each ``mpiexec`` of its own takes a second.

A test that is marked ``mpi_batch(size, code)`` takes the fixture `said`: what its ranks said, for each library. The
first such test of a file runs the code of all selected ones of its library, size and variables; if that launch
fails, each runs in a launch of its own, so that the culprit is the one that fails.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from mpi_ranks import LIBRARIES, launch, write_program

MARK = "mpi_batch"
SAID = pytest.StashKey[dict[str, list[str]]]()

# Every program gets names of its own, and a file of each rank for what it says.
DRIVER = """
import gc, pathlib
def run_all(programs, folder):
    for number, code in enumerate(programs):
        said = pathlib.Path(folder, f"{number}.{os.getpid()}")
        names = dict(globals(), say=lambda *words: said.open("a").write(" ".join(map(str, words)) + "\\n"))
        exec(compile(code, f"program {number}", "exec"), names)
        for value in list(names.values()):
            if isinstance(value, MpiCommunicator):
                value.close()
        names.clear()
        gc.collect()
"""


class Job(NamedTuple):
    """What a test asks for; those that differ only in their code share a launch."""

    library: str
    size: int
    environ: tuple[tuple[str, str], ...]
    code: str

    @property
    def launch(self) -> tuple[str, int, tuple[tuple[str, str], ...]]:
        return self[:3]


@pytest.fixture(params=LIBRARIES)
def said(request, tmp_path) -> list[str]:
    """All that the ranks of the test's program said, sorted."""
    item, known = request.node, request.session.stash.setdefault(SAID, {})
    if item.nodeid not in known:
        jobs = {each.nodeid: _job(each) for each in _same_file(item)}
        alike = {nodeid: job for nodeid, job in jobs.items() if job.launch == jobs[item.nodeid].launch}
        if not known.keys() & alike.keys():  # else they ran already, and failed
            known |= _run(alike, tmp_path) or {}
    if item.nodeid not in known:
        known |= _run({item.nodeid: _job(item)}, tmp_path, must_succeed=True)
    return known[item.nodeid]


def _same_file(item: pytest.Function) -> list[pytest.Function]:
    items = [
        each for each in item.session.items if each.path == item.path and isinstance(each, pytest.Function)
    ]
    return [each for each in items if each.get_closest_marker(MARK)]


def _job(item: pytest.Function) -> Job:
    mark = item.get_closest_marker(MARK)
    size, code = mark.args
    parameters = {name: value for name, value in item.callspec.params.items() if name != "said"}
    for name, value in parameters.items():
        code = code.replace(f"<{name}>", str(value))
    return Job(item.callspec.params["said"], size, tuple(sorted(mark.kwargs.items())), textwrap.dedent(code))


def _run(jobs: dict[str, Job], folder: Path, *, must_succeed: bool = False) -> dict[str, list[str]] | None:
    """What the ranks of each job said; ``None`` if the launch failed."""
    library, size, environ = next(iter(jobs.values())).launch
    output = folder / f"said{len(list(folder.iterdir()))}"
    output.mkdir()
    codes = [job.code for job in jobs.values()]
    program = write_program(folder, f"{DRIVER}\nrun_all({codes!r}, {str(output)!r})\n")
    done = launch(library, size, program, **dict(environ))
    assert done.returncode == 0 or not must_succeed, done.stdout
    if done.returncode != 0:
        return None
    return {nodeid: _lines(output, number) for number, nodeid in enumerate(jobs)}


def _lines(folder: Path, number: int) -> list[str]:
    return sorted(line for file in folder.glob(f"{number}.*") for line in file.read_text().splitlines())

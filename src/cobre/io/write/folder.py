"""The folder of a run's results: it holds those of one run only, and looks finished only when it is."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from cobre.core.simulation_tables import SIMULATION_TABLES
from cobre.errors import IOError
from cobre.files import syncing_together, unwritable, write_atomically
from cobre.io.write.model_facts import MODEL_FACTS
from cobre.io.write.run_record import RunRecord
from cobre.io.write.training import CONVERGENCE, METADATA, TIMINGS, json_bytes

SUCCESS = "_SUCCESS"
"""Its presence says that every other file is there and belongs together."""

POLICY = "policy/policy.cobre"
TRAINING_SUCCESS = f"training/{SUCCESS}"
OPENINGS = "stochastic/noise_openings.parquet"
STALE_MARKS = (SUCCESS, TRAINING_SUCCESS)
"""What an earlier run left to say that its files are complete: a new run removes it first."""
STALE_FILES = (CONVERGENCE, TIMINGS, *MODEL_FACTS, OPENINGS)
HYDRO_MODELS = "hydro_models"
STALE_FOLDERS = (
    "training/timing",
    "training/solver",
    "training/cut_selection",
    "training/dictionaries",
    HYDRO_MODELS,
    "generic_constraints",
    "anticipated",
)
SIMULATION = "simulation"
PARTS = ".parts"
"""Folder of unfinished tables."""


@contextlib.contextmanager
def claim(folder: Path) -> Iterator[None]:
    """Make ``folder`` and keep every other run of this machine from writing into it meanwhile.

    The lock is one of the kernel and ends with the process, however that ends.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        if not _lock(descriptor):
            raise IOError(
                str(folder),
                f"another run is writing its results into {folder}",
                suggestion="wait until it has ended, or give this run another output folder",
            )
        yield
    finally:
        os.close(descriptor)


def is_claimed(folder: Path) -> bool:
    """Whether a run of this machine is writing into ``folder`` now."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return not _lock(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno != errno.EWOULDBLOCK  # a file system without locks gives no protection
    return True


def begin(folder: Path, run: RunRecord, *, keeps_policy: bool = False) -> None:
    """Say which run is at work, then remove the results of an earlier one, before anything is computed.

    In this order: removing thousands of tables takes a while, and if this process is killed meanwhile the folder must
    not show what is left of the earlier run. With ``keeps_policy`` its policy stays until the new one replaces it.
    """
    try:
        _unlink(folder, STALE_MARKS)
        write_atomically(folder / METADATA, json_bytes(run.facts("running")))
        _unlink(folder, STALE_FILES if keeps_policy else (*STALE_FILES, POLICY))
        for name in STALE_FOLDERS:
            if (folder / name).exists():
                shutil.rmtree(folder / name)
    except OSError as error:
        raise unwritable(folder, error) from error
    clear_simulation(folder)


def _unlink(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)


def clear_simulation(folder: Path) -> None:
    """Take away what an earlier simulation left, its mark first, so that no file of it is mixed with others."""
    root = folder / SIMULATION
    tables = {schema.name.partition("/")[0] for schema in SIMULATION_TABLES}
    try:
        (folder / SUCCESS).unlink(missing_ok=True)
        (root / SUCCESS).unlink(missing_ok=True)
        for path in [*root.glob("*.parquet"), *root.glob("*.json")]:
            path.unlink()
        for name in (*sorted(tables), "solver", PARTS):
            if (root / name).exists():
                shutil.rmtree(root / name)
        for name in sorted(_foreign_tables(root)):
            shutil.rmtree(root / name)
    except OSError as error:
        raise unwritable(root, error) from error


def _foreign_tables(root: Path) -> set[str]:
    """Folders with scenarios that another program, or another version of this one, left."""
    found = (*root.glob("*/scenario_id=*"), *root.glob("*/*/scenario_id=*"))
    return {path.relative_to(root).parts[0] for path in found}


def check_owner(folder: Path, run: RunRecord) -> None:
    """Raise if another run has begun in ``folder`` since ``run`` did, on another machine perhaps."""
    try:
        found = json.loads((folder / METADATA).read_bytes())
    except (OSError, ValueError):
        found = {}
    if found.get("run_id") == run.run_id:
        return
    other = f"run {found['run_id']} on {found['hostname']}" if found else "another process"
    raise IOError(
        str(folder),
        f"{other} has taken over {folder} while this run was at work; its results are not mixed in",
        suggestion="run the case again with an output folder of its own",
    )


def fail(folder: Path, run: RunRecord, reason: str) -> None:
    """Say in ``folder`` that the run has ended without results, and why, as far as that can be written."""
    with contextlib.suppress(IOError):
        check_owner(folder, run)
        write_atomically(folder / METADATA, json_bytes({**run.facts("failed"), "failure": reason}))


def finish(folder: Path) -> None:
    """Put the marks: all results of training are written."""
    with syncing_together():
        write_atomically(folder / TRAINING_SUCCESS, b"")
        write_atomically(folder / SUCCESS, b"")

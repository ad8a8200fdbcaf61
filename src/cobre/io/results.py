"""Reads back what a run wrote."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from cobre.errors import IOError, ValidationError
from cobre.files import unreadable
from cobre.io.parquet import read_parquet
from cobre.io.write.folder import SIMULATION, TRAINING_SUCCESS, is_claimed
from cobre.io.write.training import CONVERGENCE, METADATA, TIMINGS

__all__ = ["TrainingRecord", "damaged", "find_results", "read_json", "read_training"]

RUN_AGAIN = "run the case again to write it anew"
CASE_OUTPUT = "output"


@dataclass(frozen=True, repr=False)
class TrainingRecord:
    """One run, read from its files."""

    folder: Path
    metadata: dict[str, Any]
    timings: dict[str, float]
    convergence: pa.Table
    is_complete: bool
    """Whether the run ended by itself and wrote everything."""

    def __repr__(self) -> str:
        n, bound = self.metadata["iterations"], self.metadata["final_lower_bound"]
        return f"<TrainingRecord of {n} iterations in {self.folder}: lower bound {bound:,.2f}>"


def find_results(path: Path) -> Path:
    """The folder of results that ``path`` means: itself, or ``output`` in the folder of a case."""
    for folder in (path, path / CASE_OUTPUT):
        if (folder / METADATA).exists() or (folder / SIMULATION / "metadata.json").exists():
            return folder
    begun = next(
        (folder for folder in (path, path / CASE_OUTPUT) if any((folder / SIMULATION).glob("*"))), None
    )
    if begun is not None:
        what = f"{begun} has tables of a simulation that did not end, or that runs now, and no results of training"
        raise IOError(str(begun), what, suggestion="simulate again; what it left is removed first")
    what = "holds no results of a run" if path.is_dir() else "is not a folder"
    raise IOError(str(path), f"{path} {what}", suggestion=f"train first: cobre run {path}")


def read_training(folder: Path, how_to_continue: str | None = None) -> TrainingRecord:
    """The record of the run in ``folder``; an error if it left no results, which tells ``how_to_continue``."""
    metadata = read_json(folder / METADATA)
    if metadata.get("status") in ("running", "failed"):
        raise _unfinished(folder, metadata, how_to_continue)
    iterations = metadata.get("iterations")
    if iterations is None:
        raise damaged(folder / METADATA, "iterations is missing")
    return TrainingRecord(
        folder,
        {**metadata, "iterations": iterations["completed"] if isinstance(iterations, dict) else iterations},
        read_json(folder / TIMINGS),
        _table(folder / CONVERGENCE),
        (folder / TRAINING_SUCCESS).exists(),
    )


def _unfinished(folder: Path, metadata: Mapping[str, Any], how_to_continue: str | None) -> IOError:
    run = f"run {metadata['run_id']} in {folder}, started {metadata['started_at']} on {metadata['hostname']},"
    suggestion = how_to_continue or f"run the case {metadata['case_name']} again"
    if metadata["status"] == "failed":
        text = f"{run} failed and left no results: {metadata['failure']}"
    elif is_claimed(folder):
        text, suggestion = f"{run} is still at work", "wait until it has ended"
    elif metadata["hostname"] == socket.gethostname():
        text = f"{run} was killed before it ended and left no results"
    else:
        text = f"{run} has left no results yet: it is still at work there, or it was killed"
    return IOError(str(folder), text, suggestion=suggestion)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file that a run wrote."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error, RUN_AGAIN) from error
    except ValueError as error:
        raise damaged(path, error) from error
    if not isinstance(content, dict):
        raise damaged(path, f"expected an object, found {type(content).__name__}")
    return content


def _table(path: Path) -> pa.Table:
    try:
        table = read_parquet(path)
    except OSError as error:
        raise unreadable(path, error, RUN_AGAIN) from error
    except pa.ArrowInvalid as error:
        raise damaged(path, error) from error
    if not table.num_rows:
        raise damaged(path, "no iteration in it")
    return table


def damaged(path: Path, why: object, suggestion: str = RUN_AGAIN) -> ValidationError:
    """The error to raise for a file that is not as a run writes it."""
    return ValidationError(
        f"{path} is damaged: {why}",
        kind="ParseError",
        context={"file": str(path)},
        suggestion=suggestion,
    )

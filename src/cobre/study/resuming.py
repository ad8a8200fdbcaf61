"""Continuing a run from its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

from cobre.core.case import Case
from cobre.errors import IOError, ValidationError
from cobre.sddp.checkpoint import TrainingState
from cobre.sddp.checkpointing import CheckpointPlan, checkpoints_in, newest_checkpoint
from cobre.sddp.identity import check_identity

CHECKPOINT_FOLDER = "checkpoint"

Resume = bool | Literal["if_possible"] | str | PathLike[str] | None
"""True: from the output folder. A folder: from there. ``"if_possible"``: from the output folder if it holds a
checkpoint. False: never. None: never, and an unfinished run in the output folder is an error."""


@dataclass(frozen=True)
class Start:
    """Where training begins."""

    state: TrainingState | None = None
    """None: at the first iteration."""
    notes: tuple[str, ...] = ()
    """What the user should know about it."""


def plan_of(case: Case, folder: Path | None) -> CheckpointPlan | None:
    """When and where a run of ``case`` with results in ``folder`` saves where it stands."""
    settings = case.config.policy.checkpointing
    if folder is None or not settings.is_enabled:
        return None
    return CheckpointPlan(
        folder / CHECKPOINT_FOLDER,
        settings.interval_iterations,
        settings.initial_iteration,
        settings.interval_s,
        settings.is_compressed,
    )


def find_start(case: Case, resume: Resume, output: Path | None, *, is_finished: bool) -> Start:
    """The state that training of ``case`` continues from; raises if that is asked for and cannot be done.

    ``is_finished`` tells whether the run in ``output`` ended by itself.
    """
    if resume is None and case.config.policy.mode == "resume":
        resume = True
    folder = _folder(resume, output)
    if resume is None or resume is False:
        if resume is None and not is_finished and folder is not None and checkpoints_in(folder):
            raise _unfinished(folder)
        return Start()
    if folder is None:
        raise ValidationError(
            "resume needs the folder of the run that is to be continued",
            kind="IncompatibleSettings",
            suggestion="pass output=, the folder of its results",
        )
    if resume == "if_possible" and not checkpoints_in(folder):
        return Start(notes=("there is no checkpoint yet: training starts at the first iteration",))
    found = newest_checkpoint(folder)
    check_identity(found.state.identity, case, found.path)
    skipped = [f"{reason}; the checkpoint before it is used" for reason in found.unusable]
    return Start(
        found.state, (*skipped, f"continues after iteration {found.state.iteration} of {found.path}")
    )


def _folder(resume: Resume, output: Path | None) -> Path | None:
    if isinstance(resume, str | PathLike) and resume != "if_possible":
        given = Path(resume)
        return given if checkpoints_in(given) else given / CHECKPOINT_FOLDER
    return None if output is None else output / CHECKPOINT_FOLDER


def _unfinished(folder: Path) -> IOError:
    newest = checkpoints_in(folder)[0]
    iteration = int("".join(filter(str.isdigit, newest.stem)))
    return IOError(
        str(folder.parent),
        f"{folder.parent} holds a run that did not end; its last checkpoint is after iteration {iteration}",
        suggestion="continue it with --resume (in Python resume=True), start again with --fresh (resume=False), or "
        "choose another output folder",
    )

"""Where training starts: at the first iteration, from cuts of a policy, or where a checkpoint stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from cobre.core.case import Case
from cobre.errors import CobreError, IOError, ValidationError
from cobre.sddp.checkpoint import TrainingState
from cobre.sddp.checkpointing import CheckpointPlan, checkpoints_in, newest_checkpoint
from cobre.sddp.given_cuts import Boundary, CutRows, match_boundary, match_policy
from cobre.sddp.identity import check_identity
from cobre.sddp.policy import Policy
from cobre.sddp.workspace import state_names_of

CHECKPOINT_FOLDER = "checkpoint"

Resume = bool | float | str | PathLike[str] | None
"""True: from the output folder. A folder: from there. A time in seconds since 1970: from the output folder if it holds
a checkpoint that was written after it. False: never. None: never, and an unfinished run in the output folder is an
error."""

GivenPolicy = Policy | str | PathLike[str] | None
"""A policy, or the folder of one; None takes what the settings of the case say."""


@dataclass(frozen=True)
class StartRequest:
    """What the caller wants; the settings of the case say the rest."""

    resume: Resume = None
    warm_start: GivenPolicy = None
    boundary: GivenPolicy = None

    def again(self, since: float) -> StartRequest:
        """After an attempt that failed: from a checkpoint of this run, which began at ``since``, if it has one."""
        return self if self.resume is True else replace(self, resume=since)


@dataclass(frozen=True)
class Start:
    """Where training begins."""

    state: TrainingState | None = None
    """None: at the first iteration."""
    notes: tuple[str, ...] = ()
    """What the user should know about it."""
    checkpoint: Path | None = None
    """The file that `state` comes from."""
    first_cuts: tuple[CutRows | None, ...] = ()
    """By stage: cuts of another run that it begins with."""
    boundary: Boundary | None = None

    def facts(self) -> dict[str, Any] | None:
        """Where the run was continued, as ``training/metadata.json`` tells it."""
        if self.state is None:
            return None
        return {"iteration": self.state.iteration, "checkpoint": str(self.checkpoint)}


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


def find_start(case: Case, wanted: StartRequest, output: Path | None, *, is_finished: bool) -> Start:
    """What training of ``case`` begins with; raises if that is asked for and cannot be had.

    ``is_finished`` tells whether the run in ``output`` ended by itself.
    """
    boundary, notes = _boundary(case, wanted.boundary, output)
    start = _checkpoint(case, wanted.resume, output, boundary, is_finished=is_finished)
    if start.state is None and (wanted.warm_start is not None or case.config.policy.mode == "warm_start"):
        start = _warm_start(case, wanted.warm_start, output)
    return replace(start, notes=(*notes, *start.notes), boundary=boundary)


def _checkpoint(
    case: Case, resume: Resume, output: Path | None, boundary: Boundary | None, *, is_finished: bool
) -> Start:
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
    since = resume if isinstance(resume, float) else None
    if since is not None and not checkpoints_in(folder, since):
        return Start(notes=("there is no checkpoint yet: training starts at the first iteration",))
    found = newest_checkpoint(folder, since)
    check_identity(found.state.identity, case, None if boundary is None else boundary.digest, found.path)
    skipped = [f"{reason}; the checkpoint before it is used" for reason in found.unusable]
    note = f"continues after iteration {found.state.iteration} of {found.path}"
    return Start(found.state, (*skipped, note), found.path)


def _warm_start(case: Case, given: GivenPolicy, output: Path | None) -> Start:
    if given is None and output is None:
        raise ValidationError(
            "policy.mode is warm_start, and there is no policy to start from",
            kind="IncompatibleSettings",
            context={"file": "config.json", "field": "policy.mode"},
            suggestion="pass warm_start=, a policy or the folder of one, or output=, which policy.path is relative to",
        )
    policy, name = _policy(given, [output], case.config.policy.path)
    with _about(name):
        matched = match_policy(policy, case, state_names_of(case))
    n = sum(len(cuts.rows) for cuts in matched.stages if cuts is not None)
    note = f"training starts with {n} cuts of {name}"
    return Start(notes=(note, *matched.notes), first_cuts=matched.stages)


def _boundary(case: Case, given: GivenPolicy, output: Path | None) -> tuple[Boundary | None, Sequence[str]]:
    settings = case.config.policy.boundary
    if given is None and settings is None:
        return None, ()
    case_folder = None if case.folder is None else Path(case.folder)
    policy, name = _policy(given, [output, case_folder], "" if settings is None else settings.path)
    stage = None if settings is None or given is not None else settings.source_stage
    is_strict = settings is not None and settings.is_strict
    with _about(name):
        boundary, notes = match_boundary(policy, case, state_names_of(case), stage, is_strict=is_strict)
    n = int(boundary.cuts.active.sum())
    return boundary, (f"{n} cuts of {name} price what follows the last stage", *notes)


@contextmanager
def _about(name: str) -> Iterator[None]:
    """Puts the name of a policy in front of what is wrong with it."""
    try:
        yield
    except CobreError as error:
        error.message = f"{name}: {error.message}"
        error.context["policy"] = name
        raise


def _policy(given: GivenPolicy, places: Sequence[Path | None], path: str) -> tuple[Policy, str]:
    """The policy, and its name in messages."""
    if isinstance(given, Policy):
        return given, "the given policy"
    candidates = (
        [Path(given)] if given is not None else [place / path for place in places if place is not None]
    )
    chosen = next((candidate for candidate in candidates if candidate.exists()), None)
    if chosen is None:
        raise IOError(
            str(candidates[0]) if candidates else path,
            f"there is no policy in {' or in '.join(map(str, candidates)) or path}",
            suggestion="name the folder of a trained policy",
        )
    return Policy.load(chosen), str(chosen)


def _folder(resume: Resume, output: Path | None) -> Path | None:
    if isinstance(resume, str | PathLike):
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

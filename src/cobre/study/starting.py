"""Where training starts: at the first iteration, from cuts of a policy, or where a checkpoint stands."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from cobre.core.case import Case
from cobre.errors import CobreError, IOError, ValidationError
from cobre.io.write.training import METADATA
from cobre.sddp.carried import Carried
from cobre.sddp.checkpoint import TrainingState, this_program
from cobre.sddp.checkpointing import CheckpointPlan, checkpoints_in, iteration_of, newest_checkpoint
from cobre.sddp.given_cuts import Boundary, CutRows, match_boundary, match_policy
from cobre.sddp.identity import check_identity
from cobre.sddp.policy import Policy
from cobre.sddp.workspace import state_names_of

CHECKPOINT_FOLDER = "checkpoint"
STARTED_AT_S = 0.001
"""To this the time of a run's start in its metadata is exact."""
NO_CHECKPOINT_YET = "there is no checkpoint yet: training starts at the first iteration"
UnfinishedPart = Literal["training", "simulation"]

Checkpoint = bool | str | PathLike[str] | None
"""True: from the output folder. A folder: from there. False: never. None: what ``policy.mode`` says; unless that is
``resume``, an unfinished run in the output folder is an error."""


@dataclass(frozen=True)
class Restart:
    """After an attempt that failed: from a checkpoint of this run, which began at ``since`` (seconds since 1970)."""

    since: float
    first: Checkpoint = None
    """What the first attempt was to continue from; so does this one if the run has no checkpoint of its own yet."""


Resume = Checkpoint | Restart

GivenPolicy = Policy | str | PathLike[str] | None
"""A policy, or the folder of one; None takes what the settings of the case say."""


@dataclass(frozen=True)
class StartRequest:
    """What the caller wants; the settings of the case say the rest."""

    resume: Resume = None
    warm_start: GivenPolicy = None
    boundary: GivenPolicy = None

    def again(self, since: float) -> StartRequest:
        """After an attempt that failed; the first one began at ``since``."""
        first = self.resume.first if isinstance(self.resume, Restart) else self.resume
        return replace(self, resume=Restart(since, first))


@dataclass(frozen=True, eq=False)
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


def how_to_continue(output: Path) -> str | None:
    """What continues the run in ``output``, which did not end; None if it has no checkpoint."""
    found = checkpoints_in(output / CHECKPOINT_FOLDER)
    if not found:
        return None
    return f"continue after iteration {iteration_of(found[0])} with --resume (in Python resume=True)"


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


def find_start(
    case: Case, wanted: StartRequest, output: Path | None, unfinished: UnfinishedPart | None = None
) -> Start:
    """What training of ``case`` begins with; raises if that is asked for and cannot be had.

    ``unfinished`` is the part of the run in ``output`` that did not end, if one did not.
    """
    boundary, notes = _boundary(case, wanted.boundary, output)
    start = _checkpoint(case, wanted.resume, output, boundary, unfinished)
    if start.state is None and (wanted.warm_start is not None or case.config.policy.mode == "warm_start"):
        start = _warm_start(
            case, wanted.warm_start, output, Carried.of(case, is_open_ended=boundary is not None), boundary
        )
    return replace(start, notes=(*notes, *start.notes), boundary=boundary)


def _checkpoint(
    case: Case,
    resume: Resume,
    output: Path | None,
    boundary: Boundary | None,
    unfinished: UnfinishedPart | None,
) -> Start:
    own = None if output is None else output / CHECKPOINT_FOLDER
    is_again = isinstance(resume, Restart)
    if isinstance(resume, Restart):
        since = None if _has_begun(output, resume.since) else resume.since
        if own is not None and checkpoints_in(own, since):
            return _continued(case, own, boundary, since)
        resume = resume.first
    if resume is None and case.config.policy.mode == "resume":
        resume = True
    folder = own if resume is True else _named_folder(resume)
    if own is not None and unfinished is not None and not is_again and resume is not False:
        _refuse_to_displace(own, folder, unfinished)
    if resume is None or resume is False:
        return Start(notes=(NO_CHECKPOINT_YET,) if is_again else ())
    if folder is None:
        raise ValidationError(
            "resume needs the folder of the run that is to be continued",
            kind="IncompatibleSettings",
            suggestion="pass output=, the folder of its results",
        )
    return _continued(case, folder, boundary)


def _has_begun(output: Path | None, since: float) -> bool:
    """Whether ``output`` was cleared for this run, so that all its checkpoints are of this run.

    Both times are of this machine; the clock of the disk that dates the checkpoints may be another one.
    """
    try:
        facts = json.loads((Path() if output is None else output / METADATA).read_bytes())
        begun = dt.datetime.fromisoformat(facts["started_at"]).timestamp()
    except (OSError, KeyError, TypeError, ValueError):
        return False
    return begun + STARTED_AT_S >= since


def _continued(case: Case, folder: Path, boundary: Boundary | None, since: float | None = None) -> Start:
    found = newest_checkpoint(folder, since)
    check_identity(found.state.identity, case, None if boundary is None else boundary.digest, found.path)
    skipped = [f"{reason}; the checkpoint before it is used" for reason in found.unusable]
    note = f"continues after iteration {found.state.iteration} of {found.path}"
    return Start(found.state, (*skipped, note, *_writer_notes(found.state.writer)), found.path)


def _writer_notes(writer: Mapping[str, str]) -> list[str]:
    """A note if another version of this program, or another kind of processor, wrote a checkpoint."""
    now = this_program()
    if all(writer.get(part, value) == value for part, value in now.items()):
        return []
    was = f"Cobre {writer.get('cobre')} on {writer.get('architecture')}"
    return [
        f"the checkpoint was written by {was}, this is Cobre {now['cobre']} on {now['architecture']}: the last digits "
        "may differ from those of a run that was not interrupted"
    ]


def _warm_start(
    case: Case, given: GivenPolicy, output: Path | None, carried: Carried, boundary: Boundary | None
) -> Start:
    if given is None and output is None:
        raise ValidationError(
            "policy.mode is warm_start, and there is no policy to start from",
            kind="IncompatibleSettings",
            context={"file": "config.json", "field": "policy.mode"},
            suggestion="pass warm_start=, a policy or the folder of one, or output=, which policy.path is relative to",
        )
    policy, name = _policy(given, [output], case.config.policy.path)
    with _about(name):
        matched = match_policy(policy, case, state_names_of(case, carried), carried, boundary)
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
        carried = Carried.of(case, is_open_ended=True)
        names = state_names_of(case, carried)
        boundary, notes = match_boundary(policy, case, names, stage, is_strict=is_strict, carried=carried)
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
    if given is not None and not isinstance(given, str | PathLike):
        raise TypeError(f"{given!r:.80} is no policy\n  fix: pass a cobre.Policy, or the folder of one")
    candidates = (
        [Path(given)] if given is not None else [place / path for place in places if place is not None]
    )
    chosen = next((candidate for candidate in candidates if _exists(candidate)), None)
    if chosen is None:
        raise IOError(
            str(candidates[0]) if candidates else path,
            f"there is no policy in {' or in '.join(map(str, candidates)) or path}",
            suggestion="name the folder of a trained policy",
        )
    return Policy.load(chosen), str(chosen)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise IOError(
            f"{path!s:.200}",
            f"cannot read {path!s:.200}: {error.strerror}",
            suggestion="name the folder of a trained policy",
        ) from error


def _named_folder(resume: Checkpoint) -> Path | None:
    """Where the checkpoints of the named run are."""
    if not isinstance(resume, str | PathLike):
        return None
    given = Path(resume)
    if given.is_file():
        raise ValidationError(
            f"{given} is a file: a run is continued from the folder of its checkpoints",
            kind="IncompatibleSettings",
            context={"path": str(given)},
            suggestion=f"pass {given.parent}; the newest checkpoint that can be read is taken",
        )
    return given if checkpoints_in(given) else given / CHECKPOINT_FOLDER


def _refuse_to_displace(own: Path, continued: Path | None, unfinished: UnfinishedPart) -> None:
    """Raise if a run that did not end has its checkpoints in ``own`` and is not the one that is continued."""
    found = checkpoints_in(own)
    if not found or (continued is not None and continued.resolve() == own.resolve()):
        return
    state = {
        "training": f"a run that did not end; its last checkpoint is after iteration {iteration_of(found[0])}",
        "simulation": "a run that did not end: its training is finished and its simulation is not",
    }
    raise IOError(
        str(own.parent),
        f"{own.parent} holds {state[unfinished]}",
        suggestion="continue it with --resume (in Python resume=True), start again with --fresh (resume=False), or "
        "choose another output folder",
        kind="UnfinishedRun",
    )

"""Train a policy, in this process, in several, or on a group of ranks that exists already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from cobre.comm import GroupMember
from cobre.comm.launch.restarts import Restarts
from cobre.core.case import Case
from cobre.sddp.events import OnProgress
from cobre.sddp.result import TrainingResult
from cobre.study.cases import configured
from cobre.study.control import Control
from cobre.study.output import RunOutput
from cobre.study.ranks import (
    backend_name,
    check_ranks,
    on_first_rank,
    run_here_or_apart,
)
from cobre.study.restarting import with_restarts
from cobre.study.run_events import OnEvent, RunEvents
from cobre.study.starting import GivenPolicy, Resume, Start, StartRequest, plan_of
from cobre.study.threads import Threads, wanted_threads
from cobre.study.training_rank import TrainingOrder, train_on, train_rank, train_together


def train(
    case: Case | str | PathLike[str] | None,
    num_workers: int = 1,
    backend: str = "auto",
    config_overrides: Mapping[str, Any] | None = None,
    progress_callback: OnProgress | None = None,
    output: str | PathLike[str] | None = None,
    comm: GroupMember | None = None,
    resume: Resume = None,
    on_note: Callable[[str], None] | None = None,
    warm_start: GivenPolicy = None,
    boundary: GivenPolicy = None,
    max_restarts: int = 0,
    on_event: OnEvent | None = None,
    control: Control | None = None,
    threads: Threads = None,
) -> TrainingResult:
    """Train a policy for ``case`` (a study, or the folder of one; None on ranks of ``comm`` after the first).

    One worker runs in this process. Several are fresh processes over shared memory, or over what ``backend`` names;
    this one only waits for them. With ``comm`` this process is one rank of a group that is there already: every
    rank calls this, rank 0's case counts, and every rank gets the result. In each of them ``threads`` solve linear
    programs: a number, "auto" for the processors that are free, by default what COBRE_THREADS says, or one. The bits of
    the policy and its bounds are the same in all these ways.

    ``config_overrides`` has the keys of ``config.json`` and is merged into it. ``progress_callback`` is called here
    after each iteration of each worker (with ``comm``, for this rank). Nothing is written unless ``output`` names a
    folder; ``_SUCCESS`` in it comes last, and only if no signal ended training early.

    With ``output`` training saves where it stands, by default every ten minutes and at its end. ``resume=True``
    continues from there, on any backend and number of workers, to the same bits as a run that was never interrupted; a
    folder continues the run of that folder. Limits and stopping rules may have changed, the study may not.

    ``warm_start`` begins with the cuts of a policy (or the folder of one) that was trained on this study or a similar
    one. ``boundary`` is the policy of a study that goes on where this one ends; its cuts price what is left then. What
    the user should know about all that is given to ``on_note``, and so are the warnings about a case that is read from
    its folder, those about its inflow history among them.

    A worker that is killed ends training, unless ``max_restarts`` allows to start the workers again from the last
    checkpoint; one that dies twice in a row is then left out. The bits stay the same.

    SIGINT or SIGTERM lets the running iteration finish; the result then says ``shutdown``.

    ``on_event`` is given every event of the run as a dict, in the process that owns the output folder; the folder keeps
    them in ``training/events.jsonl``. ``control`` steers the run while it is at work, from another thread.
    """
    check_ranks(comm, num_workers, backend)
    ranks = num_workers if comm is None else comm.size
    with RunEvents(
        progress_callback, on_event, on_note, control, ranks=ranks, backend=backend_name(comm, ranks, backend)
    ) as events:
        wanted = StartRequest(resume, warm_start, boundary)
        return train_with(
            events, case, num_workers, backend, config_overrides, output, comm, wanted, max_restarts, threads
        )


def train_with(
    events: RunEvents,
    case: Case | str | PathLike[str] | None,
    num_workers: int,
    backend: str,
    config_overrides: Mapping[str, Any] | None,
    output: str | PathLike[str] | None,
    comm: GroupMember | None,
    wanted: StartRequest,
    max_restarts: int,
    threads: Threads,
) -> TrainingResult:
    """`train`, reporting to ``events``."""
    is_writer = comm is None or comm.rank == 0
    with RunOutput(Path(output) if output is not None and is_writer else None) as results:
        preparation = _Preparation(case, config_overrides, results, wanted, events, wanted_threads(threads))
        if comm is not None:
            order = on_first_rank(comm, preparation.order)
            result = train_together(comm, order, events.receive, events.receive)
        else:

            def attempt(workers: int, restarts: Restarts) -> TrainingResult:
                order = preparation.order(restarts)
                return run_here_or_apart(train_on, train_rank, order, workers, backend, events.receive)

            result = with_restarts(attempt, num_workers, max_restarts, events.note)
        results.write(result)
        events.training_ended(result)
    return result


@dataclass(frozen=True, eq=False)
class _Preparation:
    """Reads the case, takes the output folder over and finds where training starts; once for every attempt."""

    case: Case | str | PathLike[str] | None
    config_overrides: Mapping[str, Any] | None
    results: RunOutput
    wanted: StartRequest
    events: RunEvents
    threads: int | str

    def order(self, restarts: Restarts | None = None) -> TrainingOrder:
        """What the ranks of the next attempt have to know; the user gets the notes."""
        is_first = restarts is None or not restarts.used
        study = configured(self.case, self.config_overrides, self.events.note if is_first else None)
        start, results, events = self._start(study, restarts), self.results, self.events
        events.begin(
            study,
            results.run,
            results.folder,
            threads=self.threads,
            keeps=results.is_continued,
            earlier=() if start.state is None else start.state.records,
        )
        for note in start.notes:
            events.note(note)
        return TrainingOrder(
            study,
            start.state,
            plan_of(study, results.folder),
            start.first_cuts,
            start.boundary,
            events.control_address,
            events.wants_details,
            self.threads,
        )

    def _start(self, study: Case, restarts: Restarts | None) -> Start:
        if restarts is None or not restarts.used:
            return self.results.begin(study, self.wanted)
        return self.results.begin_again(study, self.wanted.again(restarts.since))

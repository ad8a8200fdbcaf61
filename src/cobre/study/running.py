"""A whole run: train, then simulate, as the settings of the case say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from cobre.comm import GroupMember
from cobre.comm.launch.restarts import Restarts
from cobre.core.case import Case, Conventions
from cobre.errors import CobreError
from cobre.io.problems import ProblemReport
from cobre.sddp.events import OnProgress
from cobre.sddp.kept_problems import keeping_problems
from cobre.sddp.policy import Policy
from cobre.sddp.result import TrainingResult
from cobre.sddp.sharing import tell_all
from cobre.study.control import Control
from cobre.study.output import POLICY_FOLDER, tell_how_to_continue
from cobre.study.ranks import backend_name, check_ranks, on_first_rank
from cobre.study.restarting import with_restarts
from cobre.study.run_events import OnEvent, Phase, RunEvents
from cobre.study.starting import Resume, StartRequest
from cobre.study.threads import Threads
from cobre.study.training import train_with

if TYPE_CHECKING:
    from cobre.study.results import SimulationResult


@dataclass(frozen=True)
class RunPlan:
    """Which parts of a run are wanted; None leaves it to the settings of the case."""

    trains: bool | None = None
    simulates: bool | None = None
    scenarios: int | None = None
    """A number asks for the simulation as well."""

    def settled(self, case: Case) -> RunPlan:
        """With the settings of ``case`` where nothing else is wanted."""
        trains = case.config.is_training_enabled if self.trains is None else self.trains
        simulates = case.config.simulation.is_enabled if self.simulates is None else self.simulates
        if self.simulates is None and (self.scenarios is not None or not trains):
            simulates = True
        if not trains and not simulates:
            raise CobreError(
                "there is nothing to do: neither training nor simulation is wanted",
                kind="IncompatibleSettings",
                suggestion="leave out --skip-simulation, or set training.enabled to true",
            )
        if simulates:
            # Not above: a run that only trains need not load simulations.
            from cobre.study.simulation import scenario_count

            scenario_count(case, self.scenarios)  # refused before training, not after it
        return RunPlan(trains, simulates, self.scenarios)


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run gave; None for a part that it does not have."""

    training: TrainingResult | None
    simulation: SimulationResult | None

    @property
    def stop_signal(self) -> int | None:
        """The signal that ended it early, if one did."""
        parts = (self.training, self.simulation)
        return next((part.stop_signal for part in parts if part is not None and part.stop_signal), None)


def run_case(
    case: Case | None,
    plan: RunPlan,
    *,
    num_workers: int = 1,
    backend: str = "auto",
    progress_callback: OnProgress | None = None,
    output: str | PathLike[str],
    policy: Policy | str | PathLike[str] | None = None,
    comm: GroupMember | None = None,
    resume: Resume = None,
    on_note: Callable[[str], None] | None = None,
    max_restarts: int = 0,
    on_event: OnEvent | None = None,
    control: Control | None = None,
    warnings: Sequence[str] = (),
    threads: Threads = None,
) -> RunResult:
    """Train and simulate ``case`` (None on ranks of ``comm`` after the first) into the folder ``output``.

    ``policy`` is what a run without training simulates; by default the one in the folder ``policy`` of ``output``. A
    run that was stopped in training is not simulated. ``resume``, ``on_note``, ``max_restarts``, ``on_event``,
    ``control`` and ``threads`` are those of `train`; a simulation whose worker was killed starts again from its first
    scenario. ``warnings`` are what the caller has told the user already: they become events.
    """
    check_ranks(comm, num_workers, backend)
    if comm is None:
        settled = plan.settled(_given(case))
    else:
        settled = tell_all(comm, on_first_rank(comm, lambda: plan.settled(_given(case))))
    phases: list[Phase] = ["training"] if settled.trains else []
    if settled.simulates:
        phases.append("simulation")
    ranks = num_workers if comm is None else comm.size
    name = backend_name(comm, ranks, backend)
    with (
        RunEvents(progress_callback, on_event, on_note, control, phases, ranks, name) as events,
        keeping_problems(),
    ):
        events.remember(warnings)
        training: TrainingResult | None = None
        if policy is None:
            policy = Path(output) / POLICY_FOLDER
        if settled.trains:
            wanted = StartRequest(resume)
            training = train_with(
                events, case, num_workers, backend, None, output, comm, wanted, max_restarts, threads
            )
            policy = training.policy
            if training.stop_signal is not None:
                return RunResult(training, None)
        if not settled.simulates:
            return RunResult(training, None)
        to_simulate = policy
        from cobre.study.simulation import simulate_with

        def attempt(workers: int, restarts: Restarts) -> SimulationResult:
            return simulate_with(
                events, case, to_simulate, workers, backend, None, output, comm, settled.scenarios, threads
            )

        try:
            return RunResult(training, with_restarts(attempt, num_workers, max_restarts, events.note))
        except CobreError as error:
            if training is not None:
                tell_how_to_continue(error, Path(output))
            raise


def _given(case: Case | None) -> Case:
    if case is None:
        raise TypeError("there is no case to run\n  fix: pass a case")
    return case


def idle_workers(case: Case, plan: RunPlan, ranks: int) -> list[ProblemReport]:
    """A warning if there are more ranks than trajectories, or scenarios, to share among them."""
    settled = plan.settled(case)
    if settled.trains:
        key, count = "training.selection.forward_passes", case.config.training.forward_passes
        shared = "an iteration has " + ("1 trajectory" if count == 1 else f"{count} trajectories")
    else:
        key = "simulation.selection.num_scenarios"
        count = settled.scenarios or case.config.simulation.n_scenarios
        shared = "the simulation has " + ("1 scenario" if count == 1 else f"{count} scenarios")
    if not 1 <= count < ranks:
        return []
    from cobre.io.read.generation import FORMAT_018, OLDER

    field = (OLDER if case.conventions == Conventions() else FORMAT_018).word(key)
    idle = f"{ranks - count} of {ranks} workers {'is' if ranks - count == 1 else 'are'} idle"
    return [
        ProblemReport(
            "IncompatibleSettings",
            "config.json",
            f"{shared} to share: {idle}",
            f"start {count} or fewer (-n {count}), or raise {field}",
            field=field,
            value=count,
        )
    ]

"""The simulation on all ranks: blocks of scenarios, chunk by chunk; tables are written meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

import numpy as np

from cobre.arrays import Floats
from cobre.comm import GroupMember, ReduceOp, contiguous_block
from cobre.core.case import Case
from cobre.errors import CobreError
from cobre.sddp.agreement import agree
from cobre.sddp.control import ControlDesk, ControlPoint, Request
from cobre.sddp.events import ControlTaken, OnDetail, OnProgress, ProgressEvent
from cobre.sddp.interruption import StopRequest
from cobre.sddp.policy import Policy
from cobre.sddp.sharing import share_failure, together
from cobre.sddp.simulation.chunk import Chunk, collect
from cobre.sddp.simulation.engine import Engine
from cobre.sddp.simulation.outcome import StageOutcome, StageView
from cobre.sddp.simulation.statistics import SimulationStatistics, simulation_statistics
from cobre.sddp.simulation.summary import TOTALS
from cobre.sddp.simulation.tables import SimulationTable, tables_of
from cobre.sddp.simulation.writing import WriterThread
from cobre.sddp.solver_tables import by_stage, solver_counters
from cobre.sddp.statistics import gather_rows

CHUNK_BYTES = 16 << 20
"""Tables of one chunk; three are held at once: one is computed, one waits and one is written."""
CHUNK_SCENARIOS = 1000
"""More gain nothing: the cost of a call of NumPy is then small compared with its work."""


class Sink(Protocol):
    """Where tables go. Called from one thread of each rank, chunks in scenario order."""

    def write(self, chunk: Chunk) -> None: ...


@dataclass(frozen=True, eq=False)
class SimulationOutcome:
    """What every rank learns. With a ``stop_signal`` the scenarios are not complete and there are no statistics."""

    statistics: SimulationStatistics | None
    costs: Floats
    """``[scenario]``: discounted, of all ranks."""
    totals: Floats
    """``[scenario, value]``: see `cobre.sddp.simulation.summary.TOTALS`."""
    wall_time_ms: float
    counters: Floats
    """``[stage, counter]`` of the solvers of all ranks: see `cobre.sddp.solver_tables.COUNTERS`."""
    stop_signal: int | None = None
    controls: list[ControlTaken] = field(default_factory=list)
    """Requests that it carried out: pauses, a stop."""


def simulate(
    comm: GroupMember,
    case: Case,
    policy: Policy,
    n_scenarios: int,
    *,
    sink: Sink | None = None,
    on_progress: OnProgress | None = None,
    on_ready: Callable[[], None] | None = None,
    on_detail: OnDetail | None = None,
    desk: ControlDesk | None = None,
    threads: int = 1,
) -> SimulationOutcome:
    """Collective: run scenarios 0 to ``n_scenarios - 1`` under ``policy``; every rank gets the outcome.

    Each rank runs a contiguous block and gives its tables to its own ``sink``. What a scenario does depends on case,
    policy and its number alone. An error of one rank, in a solve or in the sink, is raised on every rank; SIGINT and
    SIGTERM end the simulation after the chunks that run, on all ranks together. ``on_ready`` is called on every rank
    once the policy is known to fit the case; no rank writes before all have returned from it. Requests to pause, to
    resume and to stop arrive at ``desk`` of the first rank and are taken up between chunks. ``threads`` of this rank
    solve its programs.
    """
    with StopRequest() as stop:
        simulation = _Simulation(
            comm, case, policy, n_scenarios, sink, on_progress, stop, on_detail, desk, threads
        )
        if on_ready is not None:
            together(comm, on_ready)
        return simulation.run()


class _Simulation:
    def __init__(
        self,
        comm: GroupMember,
        case: Case,
        policy: Policy,
        n_scenarios: int,
        sink: Sink | None,
        on_progress: OnProgress | None,
        stop: StopRequest,
        on_detail: OnDetail | None,
        desk: ControlDesk | None,
        threads: int,
    ) -> None:
        self.began = time.perf_counter()
        self.comm = comm
        self.n_scenarios = n_scenarios
        self.sink = sink
        self.on_progress = on_progress
        self.stop = stop
        told = on_detail if comm.rank == 0 else None
        self.control = ControlPoint(comm, stop, desk, "simulation", _refuse, told)
        self.first, self.n_mine = contiguous_block(n_scenarios, comm.rank, comm.size)
        self.engine = Engine(comm, case, policy, n_scenarios, threads)
        self.tables = tables_of(case)
        self.chunk_size = chunk_size(
            self.tables, self.engine.views, case.config.simulation.max_waiting, n_scenarios
        )
        self.costs: list[Floats] = []
        self.totals: list[Floats] = []

    def run(self) -> SimulationOutcome:
        most = -(-self.n_scenarios // self.comm.size)  # of the rank with the largest block
        n_rounds = -(-most // self.chunk_size)
        signal = 0
        with WriterThread(self.sink) as writer:
            for number in range(n_rounds):
                failure = self._run_chunk(number, writer, is_last=number == n_rounds - 1)
                share_failure(self.comm, failure)
                sums = agree(self.comm, {**self.stop.counts(), "requests": self.control.pending()})
                self._report(number)
                signal = self.control.settle(int(sums["requests"]), StopRequest.signal_of(sums), None)
                if signal:
                    break
        return self._outcome(signal or None)

    def _run_chunk(self, number: int, writer: WriterThread, *, is_last: bool) -> CobreError | None:
        """One chunk of this rank, if it has that many; what went wrong is returned, so that all ranks hear of it."""
        start = min(number * self.chunk_size, self.n_mine)
        stop = min(start + self.chunk_size, self.n_mine)
        scenarios = range(self.first + start, self.first + stop)
        try:
            if scenarios:
                chunk = collect(scenarios, self.engine.run(scenarios), self.tables)
                self.costs.append(chunk.costs)
                self.totals.append(chunk.totals)
                writer.write(chunk)
            if is_last:
                writer.finish()
        except CobreError as error:
            return error
        return None

    def _elapsed_ms(self) -> float:
        return 1000.0 * (time.perf_counter() - self.began - self.control.paused_s)

    def _report(self, number: int) -> None:
        if self.on_progress is None:
            return
        self.on_progress(
            ProgressEvent(
                phase="simulation",
                iteration=None,
                lower_bound=None,
                upper_bound=None,
                gap=None,
                wall_time_ms=self._elapsed_ms(),
                iteration_time_ms=None,
                scenarios_complete=self._n_complete(number + 1),
                scenarios_total=self.n_scenarios,
                worker_id=self.comm.rank,
            )
        )

    def _n_complete(self, n_rounds: int) -> int:
        """Scenarios of all ranks after so many rounds."""
        blocks = [
            contiguous_block(self.n_scenarios, rank, self.comm.size)[1] for rank in range(self.comm.size)
        ]
        return sum(min(n_rounds * self.chunk_size, block) for block in blocks)

    def _outcome(self, signal: int | None) -> SimulationOutcome:
        elapsed_ms, controls = self._elapsed_ms(), self.control.taken
        if signal is not None:
            nothing = np.empty(0)
            return SimulationOutcome(None, nothing, nothing, elapsed_ms, self._counters(), signal, controls)
        costs = gather_rows(self.comm, _joined(self.costs, ()), self.n_scenarios)
        totals = gather_rows(self.comm, _joined(self.totals, (len(TOTALS),)), self.n_scenarios)
        statistics = simulation_statistics(costs, totals, self.engine.paths.probabilities)
        return SimulationOutcome(statistics, costs, totals, elapsed_ms, self._counters(), None, controls)

    def _counters(self) -> Floats:
        mine = by_stage(self.engine.models, solver_counters(self.engine.models))
        total = np.empty_like(mine)
        self.comm.allreduce(mine, total, ReduceOp.SUM)
        return total


def _refuse(request: Request) -> NoReturn:
    raise CobreError(
        f"{request.action} is for training, and the run simulates now",
        kind="IncompatibleSettings",
        suggestion="pause, resume and stop work in a simulation",
    )


def chunk_size(
    tables: Sequence[SimulationTable], views: Sequence[StageView], max_waiting: int | None, n_scenarios: int
) -> int:
    """Scenarios in a chunk: as many as fit the memory, at most what may wait for the writer. Changes no number."""
    n_bytes = sum(
        column.nbytes
        for view in views
        for table in tables
        for column in table.rows(StageOutcome.of_zeros(view)).values()
        if column.ndim == 2  # others are the same for all scenarios
    )
    return max(1, min(CHUNK_BYTES // max(1, n_bytes), max_waiting or CHUNK_SCENARIOS, n_scenarios))


def _joined(parts: list[Floats], shape: tuple[int, ...]) -> Floats:
    return np.concatenate(parts) if parts else np.empty((0, *shape))

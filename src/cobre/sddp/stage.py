"""One stage on this rank: its linear program, its cuts, its openings and the bases that solves begin from."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir

import numpy as np
from numpy.typing import NDArray

from cobre.core.config import SolverRetries
from cobre.core.horizon import RiskMeasure, Stage
from cobre.errors import CobreError, SolverError
from cobre.sddp.cuts import CutPool
from cobre.sddp.subproblem import StageProblem
from cobre.sddp.truncation import Truncation
from cobre.solver import BatchOutcome, BatchOutput, LpSolver, Status

Floats = NDArray[np.float64]
Bases = NDArray[np.uint8]


class StageModel:
    """What the passes need to know about one stage.

    ``openings [opening, value]`` are the parameters that follow the state in a solve; they lie in memory that
    the ranks of a node share. ``truncation`` is None where inflows are taken as they come, ``probabilities`` of the
    openings are None where all are equally likely.
    """

    def __init__(
        self,
        stage: Stage,
        problem: StageProblem,
        openings: Floats,
        truncation: Truncation | None,
        retries: SolverRetries,
        probabilities: Floats | None = None,
    ) -> None:
        template = problem.template
        if truncation is not None:
            rows = np.concatenate([template.observed_rows, problem.rows.inflow]).astype(np.int32)
            template = replace(template, observed_rows=rows)
        self.index = problem.stage
        self.stage = stage
        self.layout = problem.parameters
        self.openings = openings
        self.probabilities = probabilities
        self.truncation = truncation
        self.solver = LpSolver(
            template,
            retry_max_attempts=retries.max_attempts,
            retry_time_budget_seconds=retries.time_budget_seconds,
        )
        self.pool = CutPool(self.layout.state_dimension)
        storage = problem.columns.state.storage
        self._storage_limits = (template.column_lower[storage], template.column_upper[storage])
        self.future_cost_floor = float(template.column_lower[template.future_cost_column])
        self.bases: Bases | None = None
        """Of this rank's trajectories, as the last forward pass left them."""
        self.counts_future = False
        """Whether the cost of this stage includes its future: where no other stage of the study pays for it."""

    @property
    def risk(self) -> RiskMeasure:
        return self.stage.risk

    @property
    def n_openings(self) -> int:
        return len(self.openings)

    def parameters(self, states: Floats, values: Floats) -> Floats:
        """``[n, parameter]`` for incoming ``states`` and the ``values`` that nature gives, clamped if need be."""
        rows = np.concatenate([states, values], axis=1)
        if self.truncation is not None:
            part = self.layout.inflow
            rows[:, part] = self.truncation.raised(self.lags_of(states), rows[:, part])
        return rows

    def lags_of(self, states: Floats) -> Floats:
        """``[n, lag, hydro]`` of states."""
        return states[:, self.layout.lags].reshape(len(states), self.layout.n_lags, self.layout.n_hydros)

    def outgoing(self, primal: Floats) -> Floats:
        """States that leave this stage; storages exactly within their limits, which a solver passes by a hair."""
        states = primal[:, : self.layout.state_dimension].copy()
        low, high = self._storage_limits
        storage = states[:, self.layout.storage]
        np.clip(storage, low, high, out=storage)
        return states

    def stage_costs(self, batch: BatchOutput) -> Floats:
        """What this stage costs by itself, without the discounted future that later stages pay."""
        if self.counts_future:
            return batch.objective.copy()
        future = batch.observed_primal[:, self.layout.state_dimension]
        costs: Floats = batch.objective - self.stage.discount * future
        return costs

    def set_cuts(self, rows: Floats, active: NDArray[np.bool_]) -> None:
        """Begin with cuts of another run: they count as cuts of iteration 0."""
        none = np.zeros(len(rows), dtype=np.int64)
        self.pool.restore(rows, active, none, none, none)
        self.solver.set_cuts(rows[:, 0], rows[:, 1:], active)

    def append_cuts(self, rows: Floats) -> None:
        """Add rows (intercept, coefficients) that `synchronize_cuts` has inserted into the pool."""
        self.solver.append_cuts(rows[:, 0], rows[:, 1:])

    def keep_active_cuts(self) -> None:
        """Take those cuts out of the program that were dropped from the pool."""
        self.solver.set_active_cuts(self.pool.active)

    def solve(
        self,
        parameters: Floats,
        iteration: int,
        first_chain: int,
        *,
        chain_of: str = "scenario",
        chain_length: int = 1,
        start_bases: Bases | None = None,
        want_bases: bool = False,
        want_cut_duals: bool = False,
        want_solution: bool = False,
    ) -> BatchOutput:
        """Solve all rows of ``parameters``, or raise `SolverError` with the program that has no optimum on disk.

        For the message: ``iteration`` is 0 in a simulation, ``chain_of`` says what a chain of solves is about,
        ``first_chain`` numbers the first one.
        """
        output = self.solver.allocate(
            len(parameters),
            chain_length=chain_length,
            cut_dual=want_cut_duals,
            bases=want_bases,
            solution=want_solution,
        )
        outcome = self.solver.solve_batch(
            parameters, output, chain_length=chain_length, start_bases=start_bases
        )
        if not outcome.is_optimal:
            chain, place = divmod(outcome.index, chain_length)
            opening = f", opening {place}" if chain_length > 1 else ""
            raise self._failure(outcome, iteration, f"{chain_of} {first_chain + chain}{opening}")
        return output

    def _failure(self, outcome: BatchOutcome, iteration: int, where: str) -> SolverError:
        part = f"iteration {iteration}" if iteration else "simulation"
        path = Path(gettempdir()) / f"cobre_{os.getpid()}_stage{self.stage.id}_{part.replace(' ', '')}.mps"
        try:
            written = f"the program is in {self.solver.write_model(path)}"
        except (OSError, CobreError) as error:
            written = f"the program could not be written to {path}: {error}"
        reasons = self.solver.explain_infeasibility() if outcome.status is Status.INFEASIBLE else []
        likely = "".join(f"\n  {reason}" for reason in reasons)
        return SolverError(
            self.stage.id,
            iteration,
            str(outcome.status),
            f"stage {self.stage.id}, {part}, {where}: the linear program is {outcome.status} after "
            f"{outcome.attempts} attempts; {written}{likely}",
            suggestion="correct the data of the limits named above, which cannot hold together"
            if likely
            else "look at bounds and costs of that stage; any LP solver opens the file",
        )

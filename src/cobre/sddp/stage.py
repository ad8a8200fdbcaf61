"""One stage on this rank: its linear program, its cuts, its openings and the bases that solves begin from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.core.config import SolverRetries
from cobre.core.graph import Node
from cobre.core.horizon import OwnRiskMeasure, RiskMeasure, Stage
from cobre.errors import CobreError, SolverError
from cobre.sddp.cuts import CutPool
from cobre.sddp.opening_order import Order, opening_order
from cobre.sddp.outcome_cuts import cuts_of_future, rows_of_future, with_outcomes
from cobre.sddp.subproblem import StageProblem
from cobre.sddp.truncation import Truncation
from cobre.solver import NO_BASIS, BatchOutcome, BatchOutput, LpSolver, Status, ThreadPool

if TYPE_CHECKING:
    from cobre.solver.infeasibility import Violation

Bases = NDArray[np.uint8]
Rows = Ints

BASIC = 1
"""What a stored basis holds for a cut that it does not know."""


class StageModel:
    """What the passes need to know about one stage.

    ``openings [opening, value]`` are the parameters that follow the state in a solve; they lie in memory that
    the ranks of a node share. ``truncation`` is None where inflows are taken as they come, ``probabilities`` of the
    openings are None where all are equally likely. The threads of ``pool``, if there is one, share every batch of
    solves. In a policy graph there is one for each ``node``; ``shares`` is another leaf, whose program and cuts
    are those of all leaves.
    """

    def __init__(
        self,
        stage: Stage,
        problem: StageProblem,
        openings: Floats,
        truncation: Truncation | None,
        retries: SolverRetries,
        probabilities: Floats | None = None,
        pool: ThreadPool | None = None,
        node: Node | None = None,
        shares: StageModel | None = None,
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
        self.node = Node(self.index, self.index) if node is None else node
        self.is_of_graph = node is not None
        self.template = template
        """The program without cuts."""
        self.open_solver = partial(
            LpSolver,
            retry_max_attempts=retries.max_attempts,
            retry_time_budget_seconds=retries.time_budget_seconds,
            pool=pool,
        )
        """For a program like that of this stage, with the threads and retries of the study."""
        self.solver: LpSolver = self.open_solver(template) if shares is None else shares.solver
        self.n_outcomes = 0
        """Outcomes of what comes next that have cuts of their own; 0: only their risk has."""
        self.pool: CutPool = CutPool(self.layout.state_dimension) if shares is None else shares.pool
        storage = problem.columns.state.storage
        self.storage_limits = (template.column_lower[storage], template.column_upper[storage])
        self.state_limits = problem.state_limits()
        self.future_cost_floor = float(template.column_lower[template.future_cost_column])
        self.bases: Bases | None = None
        """Of this rank's trajectories, as their last visit left them; `NO_BASIS` where one never came here."""
        self.counts_future = False
        """Whether the cost of this stage includes its future: where no other stage of the study pays for it."""

    @property
    def n_openings(self) -> int:
        return len(self.openings)

    @property
    def risk(self) -> RiskMeasure | OwnRiskMeasure:
        return self.stage.risk

    @property
    def is_own_nature(self) -> bool:
        """Whether this node has a realisation or probabilities of its own."""
        return self.node.scenario is not None or self.node.opening_probabilities is not None

    @cached_property
    def shares(self) -> Floats:
        """Probabilities of the openings, also where all are equally likely."""
        if self.probabilities is not None:
            return self.probabilities
        return np.full(self.n_openings, 1.0 / self.n_openings)

    @cached_property
    def order(self) -> Order:
        """In which the openings of a trial point are solved."""
        return opening_order(self.openings)

    def parameters(self, states: Floats, values: Floats) -> Floats:
        """``[n, parameter]`` for incoming ``states`` and the ``values`` that nature gives, clamped if need be."""
        return self._clamped(np.concatenate([states, values], axis=1))

    def parameters_of_openings(self, states: Floats) -> Floats:
        """The same for all openings of the first of ``states``, then of the second, and so on."""
        n, dimension = states.shape
        rows = np.empty((n, self.n_openings, dimension + self.openings.shape[1]))
        rows[:, :, :dimension] = states[:, np.newaxis, :]
        rows[:, :, dimension:] = self.openings
        return self._clamped(rows.reshape(n * self.n_openings, -1))

    def _clamped(self, rows: Floats) -> Floats:
        if self.truncation is not None:
            part, dimension = self.layout.inflow, self.layout.state_dimension
            rows[:, part] = self.truncation.raised(self.lags_of(rows[:, :dimension]), rows[:, part])
        return rows

    def lags_of(self, states: Floats) -> Floats:
        """``[n, lag, hydro]`` of states."""
        return states[:, self.layout.lags].reshape(len(states), self.layout.n_lags, self.layout.n_hydros)

    def outgoing(self, primal: Floats) -> Floats:
        """States that leave this stage, exactly within their limits, which a solver passes by a hair."""
        low, high = self.state_limits
        states: Floats = np.maximum(primal[:, : self.layout.state_dimension], low)
        return np.minimum(states, high, out=states)

    def stage_costs(self, batch: BatchOutput) -> Floats:
        """What this stage costs by itself, without the discounted future that later stages pay."""
        if self.counts_future:
            return batch.objective.copy()
        future = batch.observed_primal[:, self.layout.state_dimension]
        costs: Floats = batch.objective - self.stage.discount * future
        return costs

    def start_bases(self, rows: Rows) -> Bases | None:
        """What solves of the trajectories ``rows`` of this rank begin from."""
        if self.bases is None or len(rows) == len(self.bases):
            return self.bases
        return np.ascontiguousarray(self.bases[rows])

    def keep_bases(self, rows: Rows, bases: Bases | None, n_rows: int) -> None:
        """Remember what the trajectories ``rows`` of this rank, which has ``n_rows``, left here."""
        if bases is None or len(rows) == n_rows:
            self.bases = bases
            return
        kept = np.full((n_rows, bases.shape[1]), BASIC, dtype=np.uint8)
        kept[:, 0] = NO_BASIS
        if self.bases is not None:
            kept[:, : self.bases.shape[1]] = self.bases
        kept[rows] = bases
        self.bases = kept

    def first_basis(self) -> Bases | None:
        """That of the first trajectory of this rank that came here."""
        if self.bases is None:
            return None
        found = np.flatnonzero(self.bases[:, 0] != NO_BASIS)
        return self.bases[found[0]] if len(found) else None

    def give_cuts_to_outcomes(self, probabilities: Floats, risk: RiskMeasure) -> None:
        """Before there are cuts: a future cost and cuts for each outcome, which has one of the ``probabilities``."""
        self.n_outcomes = len(probabilities)
        floor = self.future_cost_floor / (
            1.0 - self.node.stop_probability
        )  # the end of a cycle costs nothing
        self.solver = self.open_solver(with_outcomes(self.template, risk, probabilities, floor))
        self.pool = CutPool(self.layout.state_dimension + 1 + self.n_outcomes, self.pool.comm)

    def fill_expected_cuts(
        self,
        rows: Floats,
        trial: Floats,
        iteration: int,
        chains: Sequence[int],
        block_length: int,
        start_bases: Bases | None,
        claims: Ints | None = None,
    ) -> None:
        """Fill ``rows`` (intercept, coefficients) with cuts of the expectation of all openings at ``trial`` states.

        ``chains`` are the numbers of their paths, for messages. With ``claims`` only of points that no other process
        has claimed: see `cobre.solver.LpSolver.cut_expectation`.
        """
        outcome = self.solver.cut_expectation(
            trial,
            self.openings,
            self.shares,
            rows,
            block_length=block_length,
            start_bases=start_bases,
            order=self.order,
            claims=claims,
        )
        if not outcome.is_optimal:
            raise self._failed(outcome, iteration, chains, "scenario", self.n_openings)

    def cuts(self) -> CutPool:
        """The cuts about the whole future cost."""
        return cuts_of_future(self.pool, self.n_outcomes) if self.n_outcomes else self.pool

    def set_cuts(self, rows: Floats, active: NDArray[np.bool_]) -> None:
        """Begin with cuts of another run: they count as cuts of iteration 0."""
        if self.n_outcomes:
            rows = rows_of_future(rows, self.n_outcomes)
        none = np.zeros(len(rows), dtype=np.int64)
        self.pool.restore(rows, active, none, none, none)
        self.share_cuts()
        self.keep_active_cuts()

    def share_cuts(self) -> None:
        """Collective: have the cuts that the pool has got in the program, too; there is one copy of them."""
        self.solver.share_cuts(self.pool.rows)
        self.pool.close_outgrown()

    def free_shared_cuts(self) -> None:
        """Collective, at the end: free the memory of cuts that ranks share; MPI would keep it until it closes."""
        if self.pool.is_shared:
            self.solver.set_cuts(np.empty(0), np.empty((0, self.pool.state_dimension)))
            self.pool.close()

    def keep_active_cuts(self) -> None:
        """Have just the active cuts of the pool in the program."""
        self.solver.set_active_cuts(self.pool.active)

    def solve(
        self,
        parameters: Floats,
        iteration: int,
        first_chain: int | Sequence[int],
        *,
        chain_of: str = "scenario",
        chain_length: int = 1,
        block_length: int | None = None,
        start_bases: Bases | None = None,
        want_bases: bool = False,
        want_cut_duals: bool = False,
        want_solution: bool = False,
        order: Order | None = None,
    ) -> BatchOutput:
        """Solve all rows of ``parameters``, or raise `SolverError` with the program that has no optimum on disk.

        For the message: ``iteration`` is 0 in a simulation, ``chain_of`` says what a chain of solves is about,
        ``first_chain`` numbers the first one, or all of them.
        """
        output = self.solver.allocate(
            len(parameters),
            chain_length=chain_length,
            cut_dual=want_cut_duals,
            bases=want_bases,
            solution=want_solution,
        )
        outcome = self.solver.solve_batch(
            parameters,
            output,
            chain_length=chain_length,
            block_length=block_length,
            start_bases=start_bases,
            order=order,
        )
        if not outcome.is_optimal:
            raise self._failed(outcome, iteration, first_chain, chain_of, chain_length)
        return output

    def _failed(
        self,
        outcome: BatchOutcome,
        iteration: int,
        first_chain: int | Sequence[int],
        chain_of: str,
        chain_length: int,
    ) -> SolverError:
        chain, place = divmod(outcome.index, chain_length)
        opening = f", opening {place}" if chain_length > 1 else ""
        number = first_chain + chain if isinstance(first_chain, int) else first_chain[chain]
        return self.failure(outcome, iteration, f"{chain_of} {number}{opening}")

    def failure(
        self, outcome: BatchOutcome, iteration: int, where: str, solver: LpSolver | None = None
    ) -> SolverError:
        """What is known about a solve without optimum, of this stage's solver or of another one with its program."""
        solver = self.solver if solver is None else solver
        part = f"iteration {iteration}" if iteration else "simulation"
        part += f", node {self.node.id}" if self.is_of_graph else ""
        path = (
            Path(gettempdir())
            / f"cobre_{os.getpid()}_stage{self.stage.id}_{part.replace(', ', '_').replace(' ', '')}.mps"
        )
        try:
            written = f"the program is in {solver.write_model(path)}"
        except (OSError, CobreError) as error:
            written = f"the program could not be written to {path}: {error}"
        reasons = solver.explain_infeasibility() if outcome.status is Status.INFEASIBLE else []
        likely = "".join(f"\n  {reason}" for reason in reasons)
        return SolverError(
            self.stage.id,
            iteration,
            str(outcome.status),
            f"stage {self.stage.id}, {part}, {where}: the linear program is {outcome.status} after "
            f"{outcome.attempts} attempts; {written}{likely}",
            suggestion=_remedy(reasons),
        )


def _remedy(reasons: Sequence[Violation]) -> str:
    """What to do about a program without a solution."""
    if not reasons:
        return "look at bounds and costs of that stage; any LP solver opens the file"
    names = {reason.name.partition("[")[0] for reason in reasons}
    if names & {"fix_storage", "inflow_model", "water_balance"}:
        return (
            "correct the data of the limits named above, which cannot hold together; where an inflow is negative, "
            "modeling.inflow_non_negativity.method penalty or truncation helps"
        )
    return "correct the data of the limits named above, which cannot hold together"

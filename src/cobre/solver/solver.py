"""`LpSolver`: solves one template for many parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobre._native import lp
from cobre.arrays import Floats
from cobre.solver.batch import BatchOutcome, BatchOutput, Status
from cobre.solver.highs import load_highs
from cobre.solver.template import LpTemplate

if TYPE_CHECKING:
    from cobre.solver.infeasibility import Violation
    from cobre.solver.model_file import ModelData

__all__ = ["LpSolver"]


class LpSolver:
    """Solves a template in batches, natively and with the GIL released.

    A batch is cut into chains of consecutive solves. The first solve of a chain begins from a cleared solver and the
    start basis of the chain, the others from where the one before ended. With a ``block_length`` the solves after the
    first are cut into blocks of that many, and each block begins from a cleared solver and the basis that the first
    solve of its chain ended with. So the results of a chain depend on the template, the active cuts, the chain's
    parameters and its start basis alone, to the last bit: never on what this instance solved before, nor on the other
    chains of the batch, nor on the threads that share its blocks.

    With a `ThreadPool` the blocks of a batch are shared by its threads, each with a solver of its own; all see one copy
    of the cuts.

    One caller at a time. Not picklable: send the template, and bases as the arrays that they are.
    """

    def __init__(
        self,
        template: LpTemplate,
        *,
        feasibility_tolerance: float = 1e-9,
        retry_max_attempts: int = 5,
        retry_time_budget_seconds: float = 30.0,
        iteration_limit: int | None = None,
        pool: lp.ThreadPool | None = None,
        only_highs: bool = False,
    ) -> None:
        """Make the solver of the calling thread; those of other threads are made when first needed.

        Small programs are solved by the dual simplex method of Cobre's own, with HiGHS for what that has no answer to;
        with ``only_highs`` HiGHS solves everything.

        ``feasibility_tolerance`` holds for the scaled program. A solve that fails is tried again in other ways, in a
        fixed order: ``retry_max_attempts`` counts the first one, too. The time budget of the retries can end them
        with an error, never choose a result. ``iteration_limit`` bounds one attempt; by default it grows with the
        program and only ends cycling.
        """
        patches = template.patches
        self._shared_rows: Floats | None = None
        """What the native solver reads; it would not let go of an array where the interpreter ends first."""
        self.template = template
        self.is_threaded = pool is not None
        self.native = lp.Solver(  # for the other modules of this package
            load_highs(),
            cost=template.column_cost,
            column_lower=template.column_lower,
            column_upper=template.column_upper,
            row_lower=template.row_lower,
            row_upper=template.row_upper,
            row_starts=template.row_starts,
            column_indices=template.column_indices,
            values=template.values,
            patch_target=patches.target,
            patch_index=patches.index,
            patch_source=patches.source,
            patch_offset=patches.offset,
            patch_factor=patches.factor,
            n_parameters=patches.n_parameters,
            cut_columns=template.cut_columns,
            future_cost_column=template.future_cost_column,
            observed_columns=template.observed_columns,
            observed_rows=template.observed_rows,
            feasibility_tolerance=feasibility_tolerance,
            max_attempts=retry_max_attempts,
            retry_seconds=retry_time_budget_seconds,
            iteration_limit=iteration_limit or 0,
            uses_simplex=not only_highs,
            pool=pool,
        )

    @property
    def n_slots(self) -> int:
        """Cuts ever appended, active or not."""
        return self.native.n_slots

    def append_cuts(self, intercepts: ArrayLike, coefficients: ArrayLike) -> None:
        """Add active cuts in the next slots: ``future cost - coefficients[k] . x[cut_columns] >= intercepts[k]``."""
        rows = np.ascontiguousarray(coefficients, np.float64)
        self.native.append_cuts(np.ascontiguousarray(intercepts, np.float64), rows)

    def share_cuts(self, rows: Floats) -> None:
        """Add active cuts without a copy: ``rows`` are all cuts so far, then new ones.

        A row is an intercept and the coefficients. The memory has to stay as it is, until a later call gives other
        memory that holds the same cuts.
        """
        self.native.share_cuts(rows)
        self._shared_rows = rows

    def set_active_cuts(self, active: ArrayLike) -> None:
        """Keep in the program exactly the slots where ``active`` (bool, one per slot) is true, in slot order.

        A cut that is switched off keeps its slot and may be switched on again.
        """
        self.native.set_active(np.ascontiguousarray(active, np.bool_))

    @property
    def n_active_cuts(self) -> int:
        return self.native.n_active

    def set_cuts(
        self, intercepts: ArrayLike, coefficients: ArrayLike, active: ArrayLike | None = None
    ) -> None:
        """Replace all cuts; slots count from 0 again."""
        self.native.clear_cuts()
        self._shared_rows = None
        self.append_cuts(intercepts, coefficients)
        if active is not None:
            self.set_active_cuts(active)

    def cuts(self) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Copies of intercepts ``[slots]``, coefficients ``[slots, d]`` and the active mask, in slot order."""
        intercepts, coefficients, active = self.native.cuts()
        shape = (len(intercepts), len(self.template.cut_columns))
        return intercepts, coefficients.reshape(shape), active.astype(np.bool_)

    @property
    def basis_size(self) -> int:
        """Bytes of a basis stored now: one per column, row and cut slot."""
        return self.native.basis_size

    def allocate(
        self,
        n: int,
        *,
        chain_length: int = 1,
        cut_dual: bool = False,
        solution: bool = False,
        full: bool = False,
        iterations: bool = False,
        bases: bool = False,
    ) -> BatchOutput:
        """Arrays for ``n`` solves of this program as it is now.

        ``solution`` means primal and dual values of all columns and rows, ``full`` reduced costs as well.
        """
        template = self.template
        return BatchOutput(
            objective=np.empty(n),
            observed_primal=np.empty((n, len(template.observed_columns))),
            observed_dual=np.empty((n, len(template.observed_rows))),
            cut_dual=np.empty((n, self.n_slots)) if cut_dual else None,
            primal=np.empty((n, template.n_columns)) if full or solution else None,
            dual=np.empty((n, template.n_rows)) if full or solution else None,
            reduced_cost=np.empty((n, template.n_columns)) if full else None,
            iterations=np.empty(n, np.int32) if iterations else None,
            bases=np.empty((n // max(chain_length, 1), self.basis_size), np.uint8) if bases else None,
        )

    def solve_batch(
        self,
        parameters: Floats,
        output: BatchOutput,
        *,
        chain_length: int = 1,
        block_length: int | None = None,
        start_bases: NDArray[np.uint8] | None = None,
        basis_of: int = -1,
        order: NDArray[np.int32] | None = None,
    ) -> BatchOutcome:
        """Solve for each row of ``parameters`` (float64 ``[n, n_parameters]``) and write into ``output``.

        ``start_bases`` holds one row per chain, or a single row for all, of a basis that this program stored now or
        when it had fewer slots (cuts that came later begin basic); without it, or with ``NO_BASIS`` in a row's first
        byte, a chain begins from the slack basis. ``output.bases`` receives the basis after row ``basis_of`` of
        each chain. ``order`` says in which order the rows of every chain are solved, by default as they stand; blocks
        are parts of that order, and results are written in the rows' own places.

        Stops at the first solve without an optimum (with a ``block_length`` the first solves of all chains come before
        all others): what was solved before it is written, and `write_model` and
        `explain_infeasibility` speak of that solve. Ctrl-C raises KeyboardInterrupt between two solves and leaves
        the solver usable.
        """
        status, index, attempts = self.native.solve(
            parameters,
            chain_length=chain_length,
            block_length=chain_length if block_length is None else block_length,
            start_bases=start_bases,
            basis_of=basis_of,
            order=order,
            objective=output.objective,
            observed_primal=output.observed_primal,
            observed_dual=output.observed_dual,
            cut_dual=output.cut_dual,
            primal=output.primal,
            dual=output.dual,
            reduced_cost=output.reduced_cost,
            iterations=output.iterations,
            bases=output.bases,
        )
        if status is lp.Status.OPTIMAL:  # nearly always, and at once
            return BatchOutcome(Status.OPTIMAL, index, attempts)
        if status is lp.Status.BAD_PARAMETER:
            self.refuse_parameters(parameters[index], index)
        return BatchOutcome(Status[status.name], index, attempts)

    def cut_expectation(
        self,
        states: Floats,
        openings: Floats,
        weights: Floats,
        rows: Floats,
        *,
        block_length: int,
        start_bases: NDArray[np.uint8] | None = None,
        order: NDArray[np.int32] | None = None,
        claims: NDArray[np.int64] | None = None,
        risk_weight: float = 0.0,
        tail: float = 1.0,
    ) -> BatchOutcome:
        """Fill ``rows[point]`` with the cut of each of ``states``: the weighted sum of its openings, linearised there.

        The parameters of a solve are a state and an opening, and the rows observed first are those whose duals say what
        a component of the state is worth. A trial point is a chain of all ``openings``; the other arguments and
        the order of solves are those of `solve_batch`, and an intercept and coefficients have the bits of
        `linearise`.

        With a ``risk_weight`` it is not the expectation but ``(1 - risk_weight)`` of it and ``risk_weight`` of the mean
        of the dearest share ``tail`` of the openings (CVaR).

        With ``claims``, an array of one number that begins with 0 in memory that several processes share, this one
        solves and fills only the points that no other has claimed: when all have returned, all rows are filled. Each
        point is one block then.
        """
        status, index, attempts = self.native.cut_expectation(
            states,
            openings,
            weights,
            rows,
            block_length=block_length,
            start_bases=start_bases,
            order=order,
            next=claims,
            risk_weight=risk_weight,
            tail=tail,
        )
        if status is lp.Status.OPTIMAL:
            return BatchOutcome(Status.OPTIMAL, index, attempts)
        if status is lp.Status.BAD_PARAMETER:
            point, opening = divmod(index, len(weights))
            self.refuse_parameters(np.concatenate([states[point], openings[opening]]), index)
        return BatchOutcome(Status[status.name], index, attempts)

    def counters(self) -> dict[str, int]:
        """Since the start or `reset_counters`: ns in patch, basis (clearing included), run, extract and cuts; counts.

        All threads together; names that begin with ``own`` are of the calling thread, which waited for the others
        ``waiting_ns``. ``run_ns`` includes retries.
        """
        return self.native.counters()

    def reset_counters(self) -> None:
        self.native.reset_counters()

    def patched_model(self) -> ModelData:
        """The program of the last solve in the caller's units, its active cuts as rows at the end."""
        from cobre.solver.model_file import ModelData  # only for programs without an optimum

        return ModelData.of(self.template, self.native.patched(), *self.cuts())

    def write_model(self, path: str | Path) -> Path:
        """Write the program of the last solve for any LP solver; ``.lp`` or ``.mps`` decides the format.

        The file appears whole or not at all.
        """
        from cobre.solver.model_file import write_model_file

        return write_model_file(self.patched_model(), Path(path))

    def explain_infeasibility(self, limit: int = 5) -> list[Violation]:
        """The rows and bounds that the last solve cannot keep together, the worst first; empty if it has a solution."""
        from cobre.solver.infeasibility import explain

        return explain(self.patched_model(), limit)

    def refuse_parameters(self, parameters: Floats, index: int) -> NoReturn:
        """Raise what a solve for ``parameters`` that no program can have ends with."""
        bad = np.flatnonzero(~np.isfinite(parameters))
        where = f"parameters {bad[:5].tolist()} of them" if bad.size else "a value computed from them"
        raise ValueError(
            f"solve {index} was given parameters that no program can have: {where} is not finite\n"
            "  fix: check what the parameters are computed from"
        )

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            "an LpSolver cannot be pickled: it owns native solvers\n"
            "  fix: send the LpTemplate and make a solver where it arrives"
        )

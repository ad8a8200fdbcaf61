"""Columns that one equation defines, and equations that leave no choice, are taken out: answers are HiGHS's."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.solver import LpSolver, LpTemplate, Patches, Target
from matrices import IS_SOAK
from solver.certificates import certify
from solver.river_programs import RiverProgram

CHAIN = 6
PROGRAMS = 1500 if IS_SOAK else 60


def run(solver: LpSolver, rows: np.ndarray, start: np.ndarray | None = None, *, chain_length: int = CHAIN):
    output = solver.allocate(
        len(rows), chain_length=chain_length, cut_dual=True, full=True, bases=True, iterations=True
    )
    outcome = solver.solve_batch(rows, output, chain_length=chain_length, start_bases=start)
    return outcome, output


@pytest.mark.parametrize("least_arriving", [0.0, -6.0])
def test_chains_have_the_optima_and_certificates_that_highs_finds(least_arriving):
    """With less than nothing on the way, a bucket is at its limit of 0 unless enough is released."""
    n_at_limit = n_solves = n_handed_over = 0
    for seed in range(PROGRAMS):
        program = RiverProgram(seed)
        ours, highs = LpSolver(program.template()), LpSolver(program.template(), only_highs=True)
        start = None
        for _ in range(3):
            new = program.cuts(4)
            for solver in (ours, highs):
                solver.append_cuts(*new)
            rows = program.parameters(CHAIN, least_arriving=least_arriving)
            outcome, output = run(ours, rows, start)
            expected_outcome, expected = run(highs, rows, start)
            assert (outcome.status, outcome.index) == (expected_outcome.status, expected_outcome.index)
            done = slice(0, CHAIN if outcome.is_optimal else outcome.index)
            np.testing.assert_allclose(output.objective[done], expected.objective[done], rtol=1e-9, atol=1e-8)
            if not outcome.is_optimal:
                break
            certify(ours, output, CHAIN - 1)
            buckets = output.observed_primal[:, program.n_hydros :]
            n_at_limit += int(np.sum(np.abs(buckets) < 1e-9))
            n_solves += CHAIN
            n_handed_over += ours.counters()["handed_over"]
            start = output.bases
    assert n_solves > 2 * PROGRAMS
    assert n_at_limit > 0
    assert n_handed_over == 0


def test_bases_go_to_highs_and_come_back():
    n_solves = n_moved = 0
    for seed in range(PROGRAMS):
        program = RiverProgram(seed)
        ours, highs = LpSolver(program.template()), LpSolver(program.template(), only_highs=True)
        new = program.cuts(8)
        for solver in (ours, highs):
            solver.append_cuts(*new)
        rows = program.parameters(1)
        for first, second in ((ours, highs), (highs, ours)):
            _, output = run(first, rows, chain_length=1)
            _, again = run(second, rows, output.bases, chain_length=1)
            assert again.objective[0] == pytest.approx(output.objective[0], rel=1e-9, abs=1e-8)
            n_solves += 1
            n_moved += again.iterations[0] > 0
    assert n_moved <= 0.02 * n_solves


def test_chains_that_share_a_start_basis_have_the_bits_they_have_alone():
    """Whatever the chain before them leaves no choice about."""
    for seed in range(PROGRAMS):
        program = RiverProgram(seed)
        solver = LpSolver(program.template())
        new = program.cuts(8)
        solver.append_cuts(*new)
        _, first = run(solver, program.parameters(1), chain_length=1)
        rows = program.parameters(5 * 2)
        _, together = run(solver, rows, first.bases, chain_length=2)
        for chain in range(5):
            alone = LpSolver(program.template())
            alone.append_cuts(*new)
            part = slice(2 * chain, 2 * chain + 2)
            _, output = run(alone, rows[part], first.bases, chain_length=2)
            for name in ("objective", "primal", "dual", "reduced_cost", "cut_dual", "iterations"):
                assert getattr(output, name).tobytes() == getattr(together, name)[part].tobytes(), name
            assert output.bases[0].tobytes() == together.bases[chain].tobytes()


def delivery(maxima: list[float]) -> LpTemplate:
    """One plant in three blocks with a mean that is given, and loads of 10, 8 and 6 with deficits of 50, 20, 30."""
    shares = [0.5, 0.25, 0.25]
    rows = [[(6, 1.0)], [*zip(range(3), shares, strict=True), (6, -1.0)]]
    rows += [[(k, 1.0), (3 + k, 1.0)] for k in range(3)]
    loads = [10.0, 8.0, 6.0]
    return LpTemplate(
        column_cost=[0.0, 0.0, 0.0, 50.0, 20.0, 30.0, 0.0],
        column_lower=[0.0] * 6 + [-np.inf],
        column_upper=[*maxima, np.inf, np.inf, np.inf, np.inf],
        row_lower=[0.0, 0.0, *loads],
        row_upper=[0.0, 0.0, *loads],
        row_starts=np.cumsum([0] + [len(row) for row in rows]),
        column_indices=[j for row in rows for j, _ in row],
        values=[a for row in rows for _, a in row],
        patches=Patches.of(1, [(Target.ROW_EQUAL, 0, 0, 0.0, 1.0)]),
        observed_rows=[0],
    )


def test_a_plant_that_runs_at_its_limit_or_not_at_all_costs_no_pivot_and_its_value_is_that_of_the_free_side():
    """Not running, the first MW would meet the dearest deficit per share; at the limit the last one meets the least."""
    solver = LpSolver(delivery([4.0, 4.0, 4.0]))
    output = solver.allocate(3, chain_length=3, iterations=True, full=True)
    rows = np.array([[0.0], [4.0], [4.0 - 1e-11]])
    assert solver.solve_batch(rows, output, chain_length=3).is_optimal
    np.testing.assert_allclose(output.primal[:, :3], [[0.0] * 3, [4.0] * 3, [4.0] * 3], atol=1e-9)
    np.testing.assert_allclose(output.observed_dual.ravel(), [-120.0, -80.0, -80.0])
    assert output.iterations[1:].tolist() == [0, 0]
    assert solver.counters()["handed_over"] == 0
    highs = LpSolver(delivery([4.0, 4.0, 4.0]), only_highs=True)
    for value in (1e-3, 4.0 - 1e-3):  # what the two duals say about the costs beside the limits
        _, near = run(highs, np.array([[value]]), chain_length=1)
        at, dual = (0, -120.0) if value < 1.0 else (1, -80.0)
        step = value - rows[at, 0]
        assert near.objective[0] == pytest.approx(output.objective[at] + dual * step, abs=1e-6)


def test_what_no_limit_allows_is_infeasible_and_between_the_limits_there_is_a_choice():
    solver = LpSolver(delivery([4.0, 4.0, 4.0]))
    for beyond in (-0.1, 4.1):
        outcome, _ = run(solver, np.array([[2.0], [beyond]]), chain_length=2)
        assert (outcome.status, outcome.index) == ("infeasible", 1)
    outcome, output = run(solver, np.array([[0.0], [1.0], [4.0], [3.5], [0.0]]), chain_length=5)
    assert outcome.is_optimal
    np.testing.assert_allclose(output.primal[1, :3], [0.0, 0.0, 4.0], atol=1e-9)
    np.testing.assert_allclose(output.primal[3, :3], [4.0, 2.0, 4.0], atol=1e-9)

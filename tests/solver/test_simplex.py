"""The dual simplex method of our own: every answer is optimal, equals HiGHS's, and depends on its chain alone."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.solver import LpSolver, LpTemplate, Patches, Target
from matrices import IS_SOAK
from solver.certificates import certify
from solver.random_programs import RandomProgram

CHAIN = 8
PROGRAMS = 2500 if IS_SOAK else 60
"""Programs of a part; each is solved for four chains."""


def run(solver: LpSolver, rows: np.ndarray, start: np.ndarray | None):
    output = solver.allocate(len(rows), chain_length=len(rows), cut_dual=True, full=True, bases=True)
    outcome = solver.solve_batch(rows, output, chain_length=len(rows), start_bases=start)
    return outcome, output


LARGE = range(10_000, 10_000 + PROGRAMS // 10)


@pytest.mark.parametrize(
    ("scale", "seeds"), [(1, range(PROGRAMS)), (1, range(PROGRAMS, 2 * PROGRAMS)), (25, LARGE)]
)
def test_random_chains_have_the_optima_that_highs_finds(scale, seeds):
    n_solves = n_given_up = 0
    for seed in seeds:
        program = RandomProgram(seed, scale=scale)
        ours, highs = LpSolver(program.template()), LpSolver(program.template(), only_highs=True)
        start = None
        for turn in range(4):
            new = program.cuts(int(program.rng.integers(1, 12)))
            for solver in (ours, highs):
                solver.append_cuts(*new)
            if turn == 2:
                keep = program.rng.random(ours.n_slots) < 0.7
                for solver in (ours, highs):
                    solver.set_active_cuts(keep)
            rows = program.parameters(CHAIN)
            outcome, output = run(ours, rows, start)
            expected_outcome, expected = run(highs, rows, start)
            assert outcome.is_optimal, (seed, turn, outcome)
            assert expected_outcome.is_optimal
            np.testing.assert_allclose(output.objective, expected.objective, rtol=1e-9, atol=1e-8)
            certify(ours, output, CHAIN - 1)
            start = output.bases
        n_solves += ours.counters()["solves"]
        n_given_up += ours.counters()["handed_over"]
    assert n_given_up <= 0.02 * n_solves


@pytest.mark.parametrize("part", range(2))
def test_programs_without_a_solution_are_called_so_at_the_same_solve(part):
    n_infeasible = 0
    for seed in range(part * PROGRAMS, (part + 1) * PROGRAMS, 4):
        program = RandomProgram(seed, is_hard=True)
        ours, highs = LpSolver(program.template()), LpSolver(program.template(), only_highs=True)
        rows = program.parameters(CHAIN)
        outcome, output = run(ours, rows, None)
        expected_outcome, expected = run(highs, rows, None)
        assert (outcome.status, outcome.index) == (expected_outcome.status, expected_outcome.index)
        done = slice(0, outcome.index)
        np.testing.assert_allclose(output.objective[done], expected.objective[done], rtol=1e-9, atol=1e-8)
        n_infeasible += outcome.status == "infeasible"
    assert n_infeasible > 0


def test_bases_go_to_highs_and_come_back():
    """The stored form of a basis is the same for both solvers: where one ends, the other has nothing to do."""
    n_solves = n_moved = 0
    for seed in range(PROGRAMS):
        program = RandomProgram(seed)
        ours, highs = LpSolver(program.template()), LpSolver(program.template(), only_highs=True)
        new = program.cuts(10)
        for solver in (ours, highs):
            solver.append_cuts(*new)
        rows = program.parameters(1)
        for first, second in ((ours, highs), (highs, ours)):
            _, output = run(first, rows, None)
            again = second.allocate(1, iterations=True)
            assert second.solve_batch(rows, again, start_bases=output.bases).is_optimal
            assert again.objective[0] == pytest.approx(output.objective[0], rel=1e-9, abs=1e-8)
            n_solves += 1
            n_moved += again.iterations[0] > 0
    assert n_moved <= 0.02 * n_solves


def test_an_invalid_start_basis_is_repaired():
    rng = np.random.default_rng(3)
    for seed in range(PROGRAMS):
        program = RandomProgram(seed)
        solver = LpSolver(program.template())
        solver.append_cuts(*program.cuts(6))
        rows = program.parameters(1)
        _, expected = run(solver, rows, None)
        noise = rng.integers(0, 5, (1, solver.basis_size)).astype(np.uint8)
        outcome, output = run(solver, rows, noise)
        assert outcome.is_optimal
        assert output.objective[0] == pytest.approx(expected.objective[0], rel=1e-9, abs=1e-8)


def test_the_order_of_a_chain_moves_no_result_to_another_row():
    program = RandomProgram(1)
    solver = LpSolver(program.template())
    solver.append_cuts(*program.cuts(6))
    rows = program.parameters(CHAIN)
    _, expected = run(solver, rows, None)
    output = solver.allocate(CHAIN, chain_length=CHAIN)
    order = np.array([3, 0, 7, 1, 2, 6, 5, 4], np.int32)
    assert solver.solve_batch(rows, output, chain_length=CHAIN, order=order).is_optimal
    np.testing.assert_allclose(output.objective, expected.objective, rtol=1e-9)
    along = solver.allocate(CHAIN, chain_length=CHAIN)
    solver.solve_batch(rows[order], along, chain_length=CHAIN)
    assert output.observed_dual[order].tobytes() == along.observed_dual.tobytes()


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 4], [0, 1, 2, -1]])
def test_an_order_names_every_solve_once(order):
    program = RandomProgram(1)
    solver = LpSolver(program.template())
    with pytest.raises(ValueError, match="each of the 4 solves of a chain once"):
        solver.solve_batch(
            program.parameters(4), solver.allocate(4), chain_length=4, order=np.array(order, np.int32)
        )


def test_where_it_costs_nothing_the_state_takes_what_is_left_over():
    """Ten units arrive; they can be kept (up to 6) or thrown away, and neither costs anything."""
    template = LpTemplate(
        column_cost=[0.0, 0.0, 1.0],
        column_lower=[0.0, 0.0, 0.0],
        column_upper=[6.0, np.inf, np.inf],
        row_lower=[0.0],
        row_upper=[0.0],
        row_starts=[0, 2],
        column_indices=[0, 1],
        values=[1.0, 3.0],
        patches=Patches.of(1, [(Target.ROW_EQUAL, 0, 0, 0.0, 1.0)]),
        cut_columns=[0],
        future_cost_column=2,
    )
    _, output = run(LpSolver(template), np.array([[10.0], [4.0], [8.0]]), None)
    np.testing.assert_allclose(output.primal[:, 0], [6.0, 4.0, 6.0])
    assert output.objective.tolist() == [0.0, 0.0, 0.0]


def test_what_was_decided_before_is_delivered_within_its_limits():
    """min 2 delivered + 5 deficit, together 10; delivered is what was decided, between 1 and 6."""
    template = LpTemplate(
        column_cost=[2.0, 5.0],
        column_lower=[1.0, 0.0],
        column_upper=[6.0, np.inf],
        row_lower=[10.0, 0.0],
        row_upper=[10.0, 0.0],
        row_starts=[0, 2, 3],
        column_indices=[0, 1, 0],
        values=[1.0, 1.0, 1.0],
        patches=Patches.of(1, [(Target.ROW_EQUAL, 1, 0, 0.0, 1.0)]),
    )
    solver = LpSolver(template)
    _, output = run(solver, np.array([[4.0], [6.0], [1.0], [6.0 + 1e-12]]), None)
    np.testing.assert_allclose(output.objective, [38.0, 32.0, 47.0, 32.0], atol=1e-9)
    np.testing.assert_allclose(output.dual, [[5.0, -3.0]] * 4)
    assert solver.counters()["handed_over"] == 0
    assert solver.counters()["iterations"] == 0  # the equations leave no choice
    for beyond in (7.0, 0.5):
        outcome, _ = run(solver, np.array([[4.0], [beyond]]), None)
        assert (outcome.status, outcome.index) == ("infeasible", 1)
    outcome, output = run(solver, np.array([[4.0]]), None)
    assert outcome.is_optimal
    assert output.objective[0] == pytest.approx(38.0)


def test_a_demand_that_takes_every_column_to_its_limit_is_met():
    """All of three plants, or nothing of them: however the sum of limits is rounded, there is a solution."""
    rng = np.random.default_rng(4)
    n_solves = n_given_up = 0
    for sign in (1.0, -1.0):
        for _ in range(100):
            limits = rng.integers(1, 1000, 3) / 100.0
            template = LpTemplate(
                column_cost=sign * np.array([1.0, 2.0, 3.0]),
                column_lower=np.zeros(3),
                column_upper=limits,
                row_lower=[0.0],
                row_upper=[0.0],
                row_starts=[0, 3],
                column_indices=[0, 1, 2],
                values=np.array([744.0, 168.0, 24.0]) / 936.0,
                patches=Patches.of(1, [(Target.ROW_EQUAL, 0, 0, 0.0, 1.0)]),
            )
            demand = float(np.array([744.0, 168.0, 24.0]) / 936.0 @ limits) if sign > 0 else 0.0
            solver = LpSolver(template)
            outcome, output = run(solver, np.array([[demand]]), None)
            assert outcome.is_optimal
            np.testing.assert_allclose(output.primal[0], limits if sign > 0 else 0.0, atol=1e-9)
            n_solves += solver.counters()["solves"]
            n_given_up += solver.counters()["handed_over"]
    assert (n_solves, n_given_up) == (200, 0)


def test_the_work_of_a_chain_is_that_of_the_cuts_that_bind():
    """A thousand cuts below the others change neither the results nor the pivots."""
    program = RandomProgram(5)
    few, many = LpSolver(program.template()), LpSolver(program.template())
    intercepts, slopes = program.cuts(8)
    few.append_cuts(intercepts, slopes)
    many.append_cuts(intercepts, slopes)
    many.append_cuts(np.full(1000, -1e4), np.repeat(slopes[:1], 1000, axis=0))
    rows = program.parameters(CHAIN)
    found = [solver.allocate(CHAIN, chain_length=CHAIN, iterations=True, full=True) for solver in (few, many)]
    for solver, output in zip((few, many), found, strict=True):
        assert solver.solve_batch(rows, output, chain_length=CHAIN).is_optimal
    assert found[0].iterations.tolist() == found[1].iterations.tolist()
    assert found[0].dual.tobytes() == found[1].dual.tobytes()

"""What a batch computes: optima, duals, cuts, patches."""

from __future__ import annotations

import highspy
import numpy as np
import pytest

from cobre.solver import NO_BASIS, LpSolver, LpTemplate, Patches, Status, Target
from solver.programs import cuts, parameters, stage


def optimum(solver: LpSolver) -> float:
    """The last program's objective by highspy with its defaults."""
    model = solver.patched_model()
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for lower, upper in zip(model.column_lower, model.column_upper, strict=True):
        highs.addVar(lower, upper)
    for column, cost in enumerate(model.column_cost):
        highs.changeColCost(column, cost)
    for lower, upper, (indices, values) in zip(model.row_lower, model.row_upper, model.rows, strict=True):
        highs.addRow(lower, upper, len(indices), indices, values)
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value


def single(**changes) -> LpTemplate:
    """min 2a + 3b with a + b = p, a <= 5, b <= 4."""
    fields = {
        "column_cost": [2.0, 3.0],
        "column_lower": [0.0, 0.0],
        "column_upper": [5.0, 4.0],
        "row_lower": [1.0],
        "row_upper": [1.0],
        "row_starts": [0, 2],
        "column_indices": [0, 1],
        "values": [1.0, 1.0],
        "patches": Patches.of(1, [(Target.ROW_EQUAL, 0, 0, 0.0, 1.0)]),
        "observed_columns": [0, 1],
        "observed_rows": [0],
    }
    return LpTemplate(**{**fields, **changes})


def solve(solver: LpSolver, rows, **options):
    rows = np.atleast_2d(np.asarray(rows, float))
    output = solver.allocate(
        len(rows), full=True, cut_dual=True, bases=True, chain_length=options.get("chain_length", 1)
    )
    outcome = solver.solve_batch(rows, output, **options)
    return outcome, output


def stage_with_cuts(seed, n_cuts):
    rng = np.random.default_rng(seed)
    template = stage(rng)
    solver = LpSolver(template)
    solver.append_cuts(*cuts(rng, template, n_cuts))
    return rng, template, solver


@pytest.mark.parametrize("seed", range(30))
def test_objectives_equal_those_of_highspy(seed):
    rng = np.random.default_rng(seed)
    template = stage(rng, int(rng.integers(1, 6)), int(rng.integers(1, 5)), is_degenerate=seed % 2 == 0)
    solver = LpSolver(template)
    solver.append_cuts(*cuts(rng, template, int(rng.integers(0, 30))))
    for row in parameters(rng, template, 5):
        outcome, output = solve(solver, row)
        assert outcome.is_optimal
        assert output.objective[0] == pytest.approx(optimum(solver), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_units_of_any_size_give_the_same_optimum(scale):
    factors = np.array([1.0, scale])
    template = single(
        column_cost=np.array([2.0, 3.0]) * factors,
        column_upper=np.array([5.0, 4.0]) / factors,
        values=factors * 1e3,
        patches=Patches.of(1, [(Target.ROW_EQUAL, 0, 0, 0.0, 1e3)]),
    )
    _, output = solve(LpSolver(template), [[8.0]])
    assert output.objective[0] == pytest.approx(19.0, rel=1e-12)
    assert output.observed_dual[0, 0] == pytest.approx(3.0e-3, rel=1e-12)


def test_a_dual_is_the_derivative_by_the_right_hand_side():
    rng = np.random.default_rng(5)
    template = stage(rng, 3, 2, is_degenerate=False)
    solver = LpSolver(template)
    solver.append_cuts(*cuts(rng, template, 10))
    base = parameters(rng, template, 1)[0] + rng.uniform(0.1, 0.9, template.patches.n_parameters)
    _, at_base = solve(solver, base)
    step, moved = 1e-4, 0
    for h in range(3):
        above, below = base.copy(), base.copy()
        above[h] += step
        below[h] -= step
        _, both = solve(solver, [above, below])
        slope = (both.objective[0] - both.objective[1]) / (2 * step)
        assert at_base.observed_dual[0, h] == pytest.approx(slope, rel=1e-5, abs=1e-6)
        moved += slope != 0.0
    assert moved


def test_duals_have_the_documented_signs():
    cheaper = {"column_cost": [2.0, 3.0, 1.0], "column_lower": [0.0] * 3, "column_upper": [5.0, 4.0, np.inf]}
    solver = LpSolver(single(**cheaper, cut_columns=[1], future_cost_column=2))
    solver.append_cuts([10.0], [[-1.0]])  # theta + b >= 10
    _, output = solve(solver, [[6.0]])
    assert output.objective[0] == pytest.approx(5 * 2 + 1 * 3 + 9)
    assert output.observed_dual[0, 0] == pytest.approx(2.0)  # one more b costs 3 and lowers theta by 1
    assert output.cut_dual[0, 0] == pytest.approx(1.0)
    np.testing.assert_allclose(output.reduced_cost[0], [0.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(solve(solver, [[3.0]])[1].reduced_cost[0], [0.0, 0.0, 0.0], atol=1e-9)


def test_full_results_agree_with_the_observed_ones():
    rng, template, solver = stage_with_cuts(3, 9)
    _, output = solve(solver, parameters(rng, template, 6), chain_length=3)
    np.testing.assert_array_equal(output.primal[:, template.observed_columns], output.observed_primal)
    np.testing.assert_array_equal(output.dual[:, template.observed_rows], output.observed_dual)


def test_cuts_bind_only_while_they_are_active():
    template = single(
        column_cost=[2.0, 3.0, 1.0],
        column_lower=[0.0] * 3,
        column_upper=[5.0, 4.0, np.inf],
        cut_columns=[0],
        future_cost_column=2,
    )
    solver = LpSolver(template)
    assert solve(solver, [[2.0]])[1].objective[0] == pytest.approx(4.0)
    solver.append_cuts([7.0, 1.0], [[0.0], [1.0]])
    assert solve(solver, [[2.0]])[1].objective[0] == pytest.approx(11.0)
    solver.set_active_cuts([False, True])
    _, output = solve(solver, [[2.0]])
    assert output.objective[0] == pytest.approx(7.0)  # a = 2 costs 4, and 1 + 2 in the future
    assert output.cut_dual[0, 0] == 0.0
    assert (solver.n_slots, solver.n_active_cuts) == (2, 1)
    solver.set_active_cuts([True, True])
    assert solve(solver, [[2.0]])[1].objective[0] == pytest.approx(11.0)
    solver.set_cuts(np.empty(0), np.empty((0, 1)))
    assert solve(solver, [[2.0]])[1].objective[0] == pytest.approx(4.0)
    assert solver.n_slots == 0


def test_patches_add_up_in_one_target_and_share_a_source():
    patches = Patches.of(
        2,
        [
            (Target.ROW_EQUAL, 0, 0, 1.0, 2.0),
            (Target.COLUMN_COST, 1, 1, 0.0, 1.0),
            (Target.ROW_EQUAL, 0, 1, 0.5, -1.0),
            (Target.COLUMN_UPPER, 0, 0, 0.0, 0.5),
            (Target.COLUMN_LOWER, 1, 0, 0.0, 0.25),
        ],
    )
    solver = LpSolver(single(patches=patches))
    outcome, output = solve(solver, [[4.0, 6.0]])  # a + b = 1 + 8 + 0.5 - 6 = 3.5; a <= 2; b >= 1; b costs 6
    assert outcome.is_optimal
    np.testing.assert_allclose(output.primal[0], [2.0, 1.5])
    assert output.objective[0] == pytest.approx(2 * 2 + 6 * 1.5)


def test_one_sided_row_patches_leave_the_other_side_alone():
    patches = Patches.of(2, [(Target.ROW_LOWER, 0, 0, 0.0, 1.0), (Target.ROW_UPPER, 0, 1, 0.0, 1.0)])
    template = single(column_cost=[-1.0, 3.0], row_lower=[0.0], row_upper=[9.0], patches=patches)
    _, output = solve(LpSolver(template), [[6.0, 8.0], [0.0, 4.0], [-np.inf, np.inf]])
    np.testing.assert_allclose(output.primal, [[5.0, 1.0], [4.0, 0.0], [5.0, 0.0]])


def test_a_program_without_rows_is_solved():
    template = LpTemplate([1.0, -1.0], [-2.0, 0.0], [5.0, 3.0], [], [], [0], [], [])
    solver = LpSolver(template)
    outcome, output = solve(solver, np.empty((2, 0)), chain_length=2)
    assert outcome.is_optimal
    np.testing.assert_allclose(output.primal, [[-2.0, 3.0]] * 2)
    outcome, _ = solve(solver, np.empty((2, 0)), start_bases=output.bases)
    assert outcome.is_optimal


def test_an_empty_batch_does_nothing():
    outcome, _ = solve(LpSolver(single()), np.empty((0, 1)))
    assert (outcome.status, outcome.index) == (Status.OPTIMAL, 0)


def test_a_start_from_the_optimal_basis_takes_no_iteration():
    rng, template, solver = stage_with_cuts(8, 12)
    rows = parameters(rng, template, 7)
    cold = solver.allocate(7, bases=True, iterations=True)
    solver.solve_batch(rows, cold)
    warm = solver.allocate(7, iterations=True)
    solver.solve_batch(rows, warm, start_bases=cold.bases)
    assert cold.iterations.min() > 0
    assert warm.iterations.max() == 0


def test_an_older_basis_is_extended_by_cuts_that_came_later():
    rng, template, solver = stage_with_cuts(9, 4)
    rows = parameters(rng, template, 3)
    _, old = solve(solver, rows)
    solver.append_cuts(*cuts(rng, template, 5))
    outcome, new = solve(solver, rows, start_bases=old.bases)
    assert outcome.is_optimal
    assert new.bases.shape[1] == old.bases.shape[1] + 5
    _, cold = solve(solver, rows, start_bases=np.full((1, solver.basis_size), NO_BASIS, np.uint8))
    np.testing.assert_allclose(new.objective, cold.objective, rtol=1e-9)


def test_basis_of_names_the_solve_whose_basis_is_kept():
    rng = np.random.default_rng(10)
    template = stage(rng)
    solver = LpSolver(template)
    rows = parameters(rng, template, 4)
    _, first = solve(solver, rows, chain_length=4, basis_of=0)
    _, alone = solve(solver, rows[:1])
    _, last = solve(solver, rows, chain_length=4)
    _, same = solve(solver, rows, chain_length=4, basis_of=3)
    assert first.bases.tobytes() == alone.bases.tobytes()
    assert last.bases.tobytes() == same.bases.tobytes()
    assert first.bases.tobytes() != last.bases.tobytes()


def test_counters_add_up_and_reset():
    rng = np.random.default_rng(2)
    template = stage(rng)
    solver = LpSolver(template)
    solve(solver, parameters(rng, template, 6), chain_length=3)
    counters = solver.counters()
    assert (counters["solves"], counters["chains"], counters["retries"]) == (6, 2, 0)
    assert min(counters[name] for name in ("patch_ns", "basis_ns", "run_ns", "extract_ns")) > 0
    solver.reset_counters()
    assert set(solver.counters().values()) == {0}

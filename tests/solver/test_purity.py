"""A chain's results are a function of template, cuts, parameters and start basis: to the bit, whatever came before."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.solver import BatchOutput, LpSolver, LpTemplate
from solver.programs import cuts, parameters, stage

FIELDS = (
    "objective observed_primal observed_dual cut_dual primal dual reduced_cost iterations".split()
)  # one row per solve


def run(solver: LpSolver, rows: np.ndarray, chain_length: int, start: np.ndarray | None) -> BatchOutput:
    output = solver.allocate(
        len(rows), chain_length=chain_length, cut_dual=True, full=True, iterations=True, bases=True
    )
    outcome = solver.solve_batch(rows, output, chain_length=chain_length, start_bases=start)
    assert outcome.is_optimal, outcome
    return output


def bits(output: BatchOutput, chain: int, chain_length: int) -> bytes:
    solves = slice(chain * chain_length, (chain + 1) * chain_length)
    parts = [getattr(output, name)[solves].tobytes() for name in FIELDS]
    return b"".join([*parts, output.bases[chain].tobytes()])


def fresh(template: LpTemplate, like: LpSolver) -> LpSolver:
    solver = LpSolver(template)
    solver.set_cuts(*like.cuts())
    return solver


def disturb(rng: np.random.Generator, template: LpTemplate, solver: LpSolver) -> None:
    """Anything that leaves traces: cuts that come, go and return, other solves, and solves that fail."""
    for _ in range(int(rng.integers(1, 4))):
        match int(rng.integers(0, 4)):
            case 0:
                solver.append_cuts(*cuts(rng, template, int(rng.integers(1, 20))))
            case 1:
                solver.set_active_cuts(rng.random(solver.n_slots) < 0.6)
            case 2:
                rows = parameters(rng, template, 3)
                rows[1, -1] = -5.0  # a plant that must not produce less than nothing, nor more than -5
                outcome = solver.solve_batch(rows, solver.allocate(3))
                assert (outcome.status, outcome.index) == ("infeasible", 1)
            case _:
                run(solver, parameters(rng, template, 6), 3, None)


@pytest.mark.parametrize("seed", range(60))
def test_results_do_not_depend_on_what_the_solver_did_before(seed):
    rng = np.random.default_rng(seed)
    template = stage(rng, int(rng.integers(1, 6)), int(rng.integers(1, 5)), is_degenerate=seed % 4 != 3)
    solver = LpSolver(template)
    bases = None
    for _ in range(6):
        disturb(rng, template, solver)
        chain_length, chains = int(rng.integers(1, 6)), int(rng.integers(1, 6))
        rows = parameters(rng, template, chain_length * chains)
        start = None if bases is None else bases[rng.integers(0, len(bases), chains)]
        output = run(solver, rows, chain_length, start)
        other = fresh(template, solver)
        for chain in rng.permutation(chains):
            solves = slice(chain * chain_length, (chain + 1) * chain_length)
            alone = run(other, rows[solves], chain_length, None if start is None else start[[chain]])
            assert bits(alone, 0, chain_length) == bits(output, chain, chain_length)
        bases = output.bases


def test_rows_of_cuts_stand_in_slot_order_however_they_came():
    rng = np.random.default_rng(1)
    template = stage(rng)
    intercepts, coefficients = cuts(rng, template, 12)
    rows = parameters(rng, template, 8)
    at_once = LpSolver(template)
    at_once.append_cuts(intercepts, coefficients)
    piecemeal = LpSolver(template)
    for k in range(12):
        piecemeal.append_cuts(intercepts[k : k + 1], coefficients[k : k + 1])
        piecemeal.set_active_cuts(np.arange(k + 1) % 3 == k % 3)
    piecemeal.set_active_cuts(np.ones(12, bool))
    expected, got = run(at_once, rows, 4, None), run(piecemeal, rows, 4, None)
    assert [bits(expected, chain, 4) for chain in (0, 1)] == [bits(got, chain, 4) for chain in (0, 1)]
    assert at_once.patched_model().row_names == piecemeal.patched_model().row_names


def test_a_retried_solve_changes_no_later_bit():
    rng = np.random.default_rng(4)
    template = stage(rng)
    rows = parameters(rng, template, 6)
    solver = LpSolver(template)
    expected = run(solver, rows, 3, None)
    failing = rows[:1].copy()
    failing[0, 8] = -1e6  # a load that no plant can meet: all rows are equalities
    outcome = solver.solve_batch(failing, solver.allocate(1))
    assert outcome.status == "infeasible"
    assert outcome.attempts == 2
    again = run(solver, rows, 3, None)
    assert bits(expected, 1, 3) == bits(again, 1, 3)


@pytest.mark.parametrize("seed", range(20))
def test_a_start_basis_for_all_chains_is_the_same_as_one_for_each(seed):
    """The inverse of a shared start is kept from chain to chain, until cuts or the start change."""
    rng = np.random.default_rng(seed)
    template = stage(rng, int(rng.integers(1, 6)), int(rng.integers(1, 5)), is_degenerate=seed % 4 != 3)
    solver = LpSolver(template)
    bases = run(solver, parameters(rng, template, 4), 1, None).bases
    for turn in range(6):
        if turn % 2:
            disturb(rng, template, solver)
        rows, start = parameters(rng, template, 5), bases[[turn % len(bases)]]
        shared = run(solver, rows, 1, start)
        separate = run(fresh(template, solver), rows, 1, np.repeat(start, 5, axis=0))
        for chain in range(5):
            assert bits(shared, chain, 1) == bits(separate, chain, 1)
        bases = shared.bases

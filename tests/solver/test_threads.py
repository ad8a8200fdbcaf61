"""Threads that share a batch: the same bits as one thread, the same failure, and nothing left waiting."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from cobre.solver import BatchOutput, LpSolver, Status, ThreadPool
from solver.programs import cuts, parameters, stage

FIELDS = "objective observed_primal observed_dual cut_dual primal dual reduced_cost iterations bases".split()
CHAINS, LENGTH = 7, 5


def program(seed: int):
    rng = np.random.default_rng(seed)
    template = stage(rng, 4, 3, is_degenerate=seed % 2 == 0)
    return rng, template


def solved(
    solver: LpSolver, rows: np.ndarray, start=None, block_length: int | None = None, order=None
) -> BatchOutput:
    output = solver.allocate(
        len(rows), chain_length=LENGTH, cut_dual=True, full=True, iterations=True, bases=True
    )
    outcome = solver.solve_batch(
        rows, output, chain_length=LENGTH, start_bases=start, block_length=block_length, order=order
    )
    assert outcome.is_optimal, outcome
    return output


def bits(output: BatchOutput) -> list[bytes]:
    return [getattr(output, name).tobytes() for name in FIELDS]


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("block_length", [None, 1, 2])
@pytest.mark.parametrize("only_highs", [False, True])
def test_any_number_of_threads_gives_the_bits_of_one(threads, block_length, only_highs):
    rng, template = program(threads)
    alone = LpSolver(template, only_highs=only_highs)
    together = LpSolver(template, pool=ThreadPool(threads), only_highs=only_highs)
    order = rng.permutation(LENGTH).astype(np.int32)
    start = None
    for _ in range(4):
        added = cuts(rng, template, 6)
        rows = parameters(rng, template, CHAINS * LENGTH)
        for solver in (alone, together):
            solver.append_cuts(*added)
        active = rng.random(alone.n_slots) < 0.8
        for solver in (alone, together):
            solver.set_active_cuts(active)
        expected = solved(alone, rows, start, block_length, order)
        assert bits(solved(together, rows, start, block_length, order)) == bits(expected)
        start = expected.bases


def test_a_block_gives_the_bits_of_a_chain_that_begins_where_the_first_solve_ended():
    rng, template = program(5)
    solver = LpSolver(template)
    solver.append_cuts(*cuts(rng, template, 9))
    rows = parameters(rng, template, 2 * LENGTH)
    start = solved(solver, rows).bases
    whole = solved(solver, rows, start, block_length=2)
    for chain in range(2):
        basis = start[chain : chain + 1]
        for first, end in [(0, 1), *((first, min(first + 2, LENGTH)) for first in range(1, LENGTH, 2))]:
            part = slice(chain * LENGTH + first, chain * LENGTH + end)
            own = solver.allocate(end - first, chain_length=end - first, iterations=True, bases=True)
            assert solver.solve_batch(rows[part], own, chain_length=end - first, start_bases=basis).is_optimal
            assert own.objective.tobytes() == whole.objective[part].tobytes()
            assert own.observed_dual.tobytes() == whole.observed_dual[part].tobytes()
            assert own.iterations.tobytes() == whole.iterations[part].tobytes()
            if first == 0:
                basis = own.bases


def test_blocks_are_parts_of_the_order():
    rng, template = program(7)
    solver = LpSolver(template)
    solver.append_cuts(*cuts(rng, template, 9))
    rows = parameters(rng, template, LENGTH)
    start = solved(solver, rows).bases
    order = np.array([3, 0, 4, 1, 2], np.int32)
    whole = solved(solver, rows, start, block_length=2, order=order)
    along = solved(solver, rows[order], start, block_length=2)
    assert whole.observed_dual[order].tobytes() == along.observed_dual.tobytes()
    assert whole.iterations[order].tobytes() == along.iterations.tobytes()


@pytest.mark.parametrize("only_highs", [False, True])
def test_cuts_that_replace_others_in_their_slots_reach_every_thread(only_highs):
    rng, template = program(6)
    together = LpSolver(template, pool=ThreadPool(3), only_highs=only_highs)
    rows = parameters(rng, template, CHAINS * LENGTH)
    together.append_cuts(*cuts(rng, template, 8))
    solved(together, rows)
    others = cuts(rng, template, 8)
    together.set_cuts(*others)
    alone = LpSolver(template, only_highs=only_highs)
    alone.set_cuts(*others)
    assert bits(solved(together, rows)) == bits(solved(alone, rows))


@pytest.mark.parametrize("bad", [(3,), (30, 11, 17), (34,)])
def test_the_first_solve_without_an_optimum_is_told_and_all_before_it_are_solved(bad):
    rng, template = program(8)
    rows = parameters(rng, template, CHAINS * LENGTH)
    for index in bad:
        rows[index, -1] = -5.0
    outputs, reasons = [], []
    for pool in (None, ThreadPool(4)):
        solver = LpSolver(template, pool=pool)
        output = solver.allocate(len(rows))
        outcome = solver.solve_batch(rows, output, chain_length=LENGTH)
        assert (outcome.status, outcome.index) == (Status.INFEASIBLE, min(bad))
        outputs.append(output.objective[: min(bad)].tobytes())
        reasons.append([str(violation) for violation in solver.explain_infeasibility()])
    assert outputs[0] == outputs[1]
    assert reasons[0] == reasons[1] != []


def test_counters_are_of_all_threads_and_own_times_of_the_caller():
    rng, template = program(9)
    solver = LpSolver(template, pool=ThreadPool(3))
    solved(solver, parameters(rng, template, CHAINS * LENGTH))
    counted = solver.counters()
    assert (counted["solves"], counted["chains"]) == (CHAINS * LENGTH, CHAINS)
    assert 0 <= counted["own_run_ns"] <= counted["run_ns"]
    assert counted["waiting_ns"] >= 0
    solver.reset_counters()
    assert not any(solver.counters().values())


def test_two_callers_share_a_pool_and_neither_waits_for_the_other():
    pool = ThreadPool(2)
    found: dict[int, list[bytes]] = {}

    def work(seed: int) -> None:
        rng, template = program(seed)
        found[seed] = bits(solved(LpSolver(template, pool=pool), parameters(rng, template, CHAINS * LENGTH)))

    callers = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60.0)
    for seed in (1, 2):
        rng, template = program(seed)
        assert found[seed] == bits(solved(LpSolver(template), parameters(rng, template, CHAINS * LENGTH)))


def test_the_child_of_a_fork_solves_without_the_threads_it_does_not_have():
    rng, template = program(3)
    solver = LpSolver(template, pool=ThreadPool(3))
    rows = parameters(rng, template, CHAINS * LENGTH)
    expected = bits(solved(solver, rows))
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if bits(solved(solver, rows)) == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert bits(solved(solver, rows)) == expected


def test_a_pool_without_threads_is_refused():
    with pytest.raises(ValueError, match="1 or more"):
        ThreadPool(0)

"""Cuts whose memory the solver shares with its caller."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

from cobre.solver import LpSolver
from commands import run_command
from solver.random_programs import RandomProgram

CHAIN = 8


def solved(solver, rows):
    output = solver.allocate(CHAIN, chain_length=CHAIN, cut_dual=True, full=True, bases=True)
    assert solver.solve_batch(rows, output, chain_length=CHAIN).is_optimal
    return [part.tobytes() for part in (output.objective, output.primal, output.dual, output.cut_dual)]


def solver_and_cuts(count):
    """A solver without cuts, and cuts for it: apart, and as the rows of one matrix."""
    program = RandomProgram(1)
    intercepts, slopes = program.cuts(count)
    return LpSolver(program.template()), intercepts, slopes, np.column_stack([intercepts, slopes])


@pytest.mark.parametrize("only_highs", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_they_are_the_cuts_that_a_copy_would_be(seed, only_highs):
    program = RandomProgram(seed)
    copied, shared = (LpSolver(program.template(), only_highs=only_highs) for _ in range(2))
    rows = np.empty((0, 1 + shared.cuts()[1].shape[1]))
    for turn in range(5):
        intercepts, slopes = program.cuts(3)
        new = np.column_stack([intercepts, slopes])
        copied.append_cuts(intercepts, slopes)
        if turn == 2:
            shared.append_cuts(intercepts, slopes)  # a copy between shared ones
            rows = np.concatenate([rows, new])
        else:
            rows = np.concatenate([rows, new])  # other memory every time; the solver alone keeps it
            shared.share_cuts(rows)
        gc.collect()
        if turn == 3:
            keep = np.arange(len(rows)) % 3 != 1
            for solver in (copied, shared):
                solver.set_active_cuts(keep)
        for ours, theirs in zip(shared.cuts(), copied.cuts(), strict=True):
            assert ours.tobytes() == theirs.tobytes()
        parameters = program.parameters(CHAIN)
        assert solved(shared, parameters) == solved(copied, parameters)


def test_memory_that_grows_in_place_is_not_copied():
    solver, intercepts, slopes, rows = solver_and_cuts(6)
    solver.share_cuts(rows[:2])
    solver.share_cuts(rows)
    assert solver.n_slots == 6
    rows[0, 0] += 1.0
    assert solver.cuts()[0][0] == intercepts[0] + 1.0
    solver.set_cuts(intercepts[:1], slopes[:1])
    assert solver.cuts()[0].tolist() == [intercepts[0]]


def test_what_cannot_be_the_cuts_of_the_program_is_refused_and_changes_nothing():
    solver, intercepts, slopes, rows = solver_and_cuts(4)
    solver.share_cuts(rows[:3])
    for wrong in (rows[:2], rows[:, :-1].copy(), np.zeros((5, rows.shape[1] + 1))):
        with pytest.raises(ValueError, match="give all cuts so far and new ones"):
            solver.share_cuts(wrong)
    bad = rows.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="cut 0 of those to be added has a number that is not finite"):
        solver.share_cuts(bad)
    with pytest.raises(TypeError):
        solver.share_cuts(np.asfortranarray(rows))
    assert [part.tobytes() for part in solver.cuts()[:2]] == [
        intercepts[:3].tobytes(),
        slopes[:3].tobytes(),
    ]


WHERE_MEMORY_ENDS = """
import gc, resource, sys
import numpy as np
from cobre.solver import LpSolver, LpTemplate

n = 100
template = LpTemplate(
    np.r_[np.zeros(n), 1.0], np.zeros(n + 1), np.full(n + 1, 9.0), [1.0], [1.0], [0, 1], [0], [1.0],
    cut_columns=np.arange(n), future_cost_column=n,
)
few = np.random.default_rng(0).random((1000, 1 + n))
many = np.concatenate([few, np.random.default_rng(1).random((60_000, 1 + n))])


def add(solver, rows):
    if sys.argv[1] == "share":
        solver.share_cuts(rows)
    else:
        new = rows[solver.n_slots :]
        solver.append_cuts(new[:, 0], new[:, 1:])


def objective(solver):
    output = solver.allocate(1)
    assert solver.solve_batch(np.empty((1, 0)), output).is_optimal
    return output.objective[0]


solver, twin = LpSolver(template), LpSolver(template)
for each in (solver, twin):
    add(each, few)
expected = objective(solver)
for spare in (2**20, 2**22, 2**23, 2**24):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + spare, resource.RLIM_INFINITY))
    try:
        add(solver, many)
        raise SystemExit("there was memory enough")
    except MemoryError:
        pass
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    many = many.copy()
    gc.collect()
    assert (solver.n_slots, solver.n_active_cuts) == (1000, 1000), (solver.n_slots, solver.n_active_cuts)
    assert solver.cuts()[1].tobytes() == few[:, 1:].tobytes()
    assert objective(solver) == expected
for each in (solver, twin):
    add(each, many)
assert objective(solver) == objective(twin)
print("nothing is half done")
"""


@pytest.mark.parametrize("way", ["share", "append"])
def test_where_memory_ends_no_cut_is_added(way):
    done = run_command([sys.executable, "-c", WHERE_MEMORY_ENDS, way])
    assert done.stdout == "nothing is half done\n", done.stderr


IN_A_WORKER = """
import sys
sys.path.insert(0, {tests!r})
from cobre.comm import run
from solver.test_shared_cuts import solver_and_cuts

def use(comm):
    solver, _, _, rows = solver_and_cuts(6)
    shared = comm.create_shared_region(rows.size).as_mut_block(0, rows.size).reshape(rows.shape)
    shared[:] = rows
    solver.share_cuts(shared)
    comm.barrier()
    cycle = [solver]
    cycle.append(cycle)  # is there until the interpreter ends

if __name__ == "__main__":
    run(use, num_workers=2, backend="shm")
"""


def test_a_worker_that_ends_with_shared_cuts_says_nothing(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(IN_A_WORKER.format(tests=str(Path(__file__).parents[1])))
    done = run_command([sys.executable, str(program)])
    assert (done.returncode, done.stdout + done.stderr) == (0, "")

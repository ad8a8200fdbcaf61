"""What a caller sees when a program has no optimum, an argument is wrong or HiGHS is not there."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import highspy
import numpy as np
import pytest

import cobre
from cobre.solver import LpSolver, LpTemplate, Patches, Status, Target, ThreadPool
from commands import run_command
from solver.programs import cuts, parameters, stage


def small(**changes) -> LpTemplate:
    """min -a with a - b = p."""
    fields = {
        "column_cost": [-1.0, 0.0],
        "column_lower": [0.0, 0.0],
        "column_upper": [np.inf, 4.0],
        "row_lower": [0.0],
        "row_upper": [0.0],
        "row_starts": [0, 2],
        "column_indices": [0, 1],
        "values": [1.0, -1.0],
        "patches": Patches.of(1, [(Target.ROW_EQUAL, 0, 0, 0.0, 1.0)]),
    }
    return LpTemplate(**{**fields, **changes})


def solve(solver: LpSolver, rows):
    rows = np.asarray(rows, float)
    output = solver.allocate(len(rows))
    return solver.solve_batch(rows, output), output


def test_a_batch_stops_at_the_solve_that_has_no_solution():
    solver = LpSolver(small(column_names=["made", "sold"], row_names=["balance"]))
    outcome, output = solve(solver, [[1.0], [2.0], [-7.0], [3.0]])
    assert (outcome.status, outcome.index) == (Status.INFEASIBLE, 2)
    np.testing.assert_allclose(output.objective[:2], [-5.0, -6.0])
    (violation,) = solver.explain_infeasibility()
    assert violation.name == "balance"
    assert violation.amount == pytest.approx(3.0)
    assert str(violation) == "row balance must be -7 but comes to -4"
    assert solve(solver, [[1.0]])[0].is_optimal


def test_an_unbounded_program_is_called_so():
    outcome, _ = solve(LpSolver(small(column_upper=[np.inf, np.inf])), [[1.0]])
    assert (outcome.status, outcome.index) == (Status.UNBOUNDED, 0)


def test_bounds_that_cross_are_infeasible_and_named():
    patches = Patches.of(1, [(Target.COLUMN_UPPER, 1, 0, 0.0, 1.0)])
    solver = LpSolver(small(patches=patches, column_names=["made", "sold"]))
    outcome, _ = solve(solver, [[2.0], [-1e-12]])
    assert (outcome.status, outcome.index) == (Status.INFEASIBLE, 1)
    assert str(solver.explain_infeasibility()[0]).startswith("column sold: the lower bound is above")
    outcome, output = solve(solver, [[3.0]])
    assert outcome.is_optimal
    assert output.objective[0] == -3.0


def test_a_solvable_program_has_nothing_to_explain():
    solver = LpSolver(small())
    solve(solver, [[1.0]])
    assert solver.explain_infeasibility() == []


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_parameters_that_are_not_finite_are_refused(value):
    with pytest.raises(ValueError, match=r"solve 1 .*parameters \[0\]"):
        solve(LpSolver(small()), [[1.0], [value]])


def test_a_solve_that_fails_is_retried_in_a_fixed_order():
    rng = np.random.default_rng(0)
    template = stage(rng)
    rows = parameters(rng, template, 1)
    expected, answers = LpSolver(template), []
    for _ in range(2):
        solver = LpSolver(template, iteration_limit=1)
        outcome, output = solve(solver, rows)
        assert outcome.is_optimal
        assert outcome.attempts > 1
        assert solver.counters()["retries"] == outcome.attempts - 1
        answers.append((outcome.attempts, output.objective.tobytes(), output.observed_dual.tobytes()))
    assert answers[0] == answers[1]
    assert output.objective[0] == pytest.approx(solve(expected, rows)[1].objective[0], rel=1e-9)


def test_attempts_and_time_for_retries_are_limited():
    rng = np.random.default_rng(0)
    template = stage(rng)
    rows = parameters(rng, template, 1)
    outcome, _ = solve(LpSolver(template, iteration_limit=1, retry_max_attempts=2), rows)
    assert (outcome.status, outcome.attempts) == (Status.FAILED, 2)
    outcome, _ = solve(LpSolver(template, iteration_limit=1, retry_time_budget_seconds=0.0), rows)
    assert (outcome.status, outcome.attempts) == (Status.OUT_OF_TIME, 1)


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_a_model_file_is_the_program_that_was_solved(tmp_path, suffix):
    rng = np.random.default_rng(6)
    template = stage(rng)
    solver = LpSolver(template)
    solver.append_cuts(*cuts(rng, template, 7))
    solver.set_active_cuts([True, False, True, True, False, True, True])
    _, output = solve(solver, parameters(rng, template, 2))
    path = solver.write_model(tmp_path / f"stage{suffix}")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(output.objective[1], rel=1e-9)
    assert highs.getNumRow() == template.n_rows + 5
    text = path.read_text()
    assert "water_2" in text
    assert "cut_3" in text
    assert "cut_4" not in text
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_a_model_file_keeps_ranges_free_columns_and_awkward_names(tmp_path, suffix):
    template = LpTemplate(
        [1.0, 1.0, 0.1, -1.0], [-np.inf, -np.inf, 2.0, -3.0], [np.inf, 5.0, 2.0, np.inf],
        [-1.5, -np.inf, 0.1], [4.0, 1 / 3, np.inf], [0, 2, 4, 6], [0, 1, 2, 3, 0, 1],
        [1.0, 1.0, 1.0, 3.0, 1.0, -1.0],
        column_names=["a b", "a_b", "2x", "e5"], row_names=["r", "r", "<="],
    )  # fmt: skip
    solver = LpSolver(template)
    outcome, output = solve(solver, np.empty((1, 0)))
    assert outcome.is_optimal
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(solver.write_model(tmp_path / f"odd{suffix}")))
    highs.run()
    assert highs.getNumCol() == 4
    assert highs.getInfo().objective_function_value == pytest.approx(output.objective[0], rel=1e-12)


def test_a_model_file_that_cannot_be_written_is_an_io_error(tmp_path):
    solver = LpSolver(small())
    (tmp_path / "file").touch()
    with pytest.raises(cobre.IOError, match="cannot write"):
        solver.write_model(tmp_path / "file" / "stage.lp")
    with pytest.raises(ValueError, match=r"\.lp or \.mps"):
        solver.write_model(tmp_path / "stage.txt")


@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_ends_a_long_batch_and_leaves_the_solver_usable(threads):
    rng = np.random.default_rng(1)
    template = stage(rng)
    solver = LpSolver(template, pool=ThreadPool(threads))
    rows = np.tile(parameters(rng, template, 50), (8000, 1))
    output = solver.allocate(len(rows))

    def interrupt():
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                solver.counters()
            except RuntimeError:  # refused: the batch has begun
                os.kill(os.getpid(), signal.SIGINT)
                return

    other = threading.Thread(target=interrupt)

    def solve_until_interrupted():
        other.start()
        solver.solve_batch(rows, output)

    with pytest.raises(KeyboardInterrupt):
        solve_until_interrupted()
    other.join()
    assert solver.counters()["solves"] < len(rows)
    assert solve(solver, rows[:3])[0].is_optimal


def test_a_second_thread_is_refused_while_a_batch_runs():
    rng = np.random.default_rng(1)
    template = stage(rng)
    solver = LpSolver(template)
    rows = np.tile(parameters(rng, template, 50), (60, 1))
    is_over = threading.Event()
    solved = []

    def work() -> None:
        output = solver.allocate(len(rows))
        while not is_over.is_set():
            with contextlib.suppress(RuntimeError):  # the other thread was first, for a moment
                solver.solve_batch(rows, output)
                solved.append(len(rows))

    worker = threading.Thread(target=work)
    worker.start()
    refused, deadline = "", time.monotonic() + 60
    while not refused and time.monotonic() < deadline:
        try:
            solver.counters()
        except RuntimeError as error:
            refused = str(error)
    is_over.set()
    worker.join()
    assert "another thread" in refused
    assert solver.counters()["solves"] == sum(solved)


def test_pickling_a_solver_is_an_error_with_a_remedy():
    with pytest.raises(TypeError, match="send the LpTemplate"):
        pickle.dumps(LpSolver(small()))
    template = pickle.loads(pickle.dumps(small()))
    assert solve(LpSolver(template), [[1.0]])[0].is_optimal


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"column_cost": [np.nan, 0.0]}, "column 0 has the cost"),
        ({"column_lower": [0.0, 9.0]}, "column 1 has the bounds"),
        ({"row_starts": [0, 1]}, "row_starts must begin with 0"),
        ({"column_indices": [0, 2]}, "refers to column 2 of 2"),
        ({"column_indices": [0, 0]}, "names column 0 twice"),
        ({"values": [np.inf, 1.0]}, "coefficient inf"),
        ({"values": [1.0]}, "differ in length"),
        ({"observed_rows": [1]}, "observed_rows holds 1"),
        ({"cut_columns": [0], "future_cost_column": 0}, "column 0 is named twice"),
        ({"future_cost_column": 7}, "future_cost_column is 7"),
        ({"patches": Patches.of(1, [(Target.ROW_EQUAL, 3, 0, 0.0, 1.0)])}, "changes row 3 of 1"),
        ({"patches": Patches.of(1, [(Target.COLUMN_COST, 0, 1, 0.0, 1.0)])}, "reads parameter 1 of 1"),
        (
            {
                "patches": Patches.of(
                    1, [(Target.ROW_LOWER, 0, 0, 0.0, 1.0), (Target.ROW_EQUAL, 0, 0, 0.0, 1.0)]
                )
            },
            "as equal and as a bound",
        ),
    ],
)
def test_a_template_that_makes_no_sense_is_refused(changes, message):
    with pytest.raises(ValueError, match=message) as caught:
        LpSolver(small(**changes))
    assert "\n  fix: " in str(caught.value)


def test_arrays_that_do_not_fit_are_refused():
    solver = LpSolver(small(cut_columns=[1], future_cost_column=0))
    output = solver.allocate(2)
    with pytest.raises(ValueError, match="holds 2 values but the patches read 1"):
        solver.solve_batch(np.zeros((2, 2)), output)
    with pytest.raises(ValueError, match="objective holds 2 elements but this batch writes 3"):
        solver.solve_batch(np.zeros((3, 1)), output)
    with pytest.raises(ValueError, match="2 solves do not fill chains of 3"):
        solver.solve_batch(np.zeros((2, 1)), output, chain_length=3)
    with pytest.raises(ValueError, match="a start basis has 2 bytes"):
        solver.solve_batch(np.zeros((2, 1)), output, start_bases=np.zeros((2, 2), np.uint8))
    with pytest.raises(ValueError, match="has the byte 9 at 1"):
        solver.solve_batch(np.zeros((2, 1)), output, start_bases=np.full((2, 3), [0, 9, 1], np.uint8))
    with pytest.raises(ValueError, match=r"coefficients have the shape \(1, 2\)"):
        solver.append_cuts([1.0], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="not finite"):
        solver.append_cuts([1.0, np.nan], [[1.0], [2.0]])
    assert solver.n_slots == 0
    with pytest.raises(ValueError, match="takes no cuts"):
        LpSolver(small()).append_cuts([1.0], np.empty((1, 0)))


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return run_command([sys.executable, "-c", code])


def test_only_solving_imports_highspy_and_maps_highs_once():
    done = _python(
        "import sys, cobre.comm, cobre.solver\n"
        "assert 'highspy' not in sys.modules\n"
        "from cobre.solver.highs import load_highs\n"
        "load_highs()\n"
        "maps = {line.split()[-1] for line in open('/proc/self/maps') if 'libhighs' in line}\n"
        "print(len(maps))"
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_highspy_without_the_library_is_named_with_the_remedy(tmp_path):
    (tmp_path / "highspy.py").write_text("")
    done = _python(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from cobre.errors import CobreError\n"
        "from cobre.solver.highs import load_highs\n"
        "try: load_highs()\n"
        "except CobreError as error: print(error.message, '|', error.suggestion)"
    )
    assert "no shared library with HiGHS's C interface" in done.stdout, done.stderr
    assert "highspy>=1.15" in done.stdout


def test_nothing_is_printed(capfd):
    solver = LpSolver(small())
    solve(solver, [[1.0], [-9.0]])
    solver.explain_infeasibility()
    assert capfd.readouterr() == ("", "")

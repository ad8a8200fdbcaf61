"""Calls about several solves at once: the bits and failures of `solve_batch`, step by step."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from cobre.core.horizon import RiskMeasure
from cobre.sddp.risk import opening_weights
from cobre.solver import LpSolver, Status, ThreadPool, follow_paths, linearise
from solver.programs import cuts, parameters, stage

N_STATE, PATHS, STAGES = 4, 7, 5


class Study:
    """Stages with cuts, and paths through them, for solvers with a pool or without one."""

    def __init__(self, seed: int, pool: ThreadPool | None = None, *, only_highs: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.templates = [stage(rng, N_STATE, 3, is_degenerate=seed % 2 == 0) for _ in range(STAGES)]
        self.solvers = [LpSolver(each, pool=pool, only_highs=only_highs) for each in self.templates]
        for template, solver in zip(self.templates, self.solvers, strict=True):
            solver.append_cuts(*cuts(rng, template, 9))
        limits = [(each.column_lower, each.column_upper) for each in self.templates]
        self.low, self.high = (np.stack([both[side][:N_STATE] for both in limits]) for side in (0, 1))
        self.parameters = np.stack([parameters(rng, each, PATHS) for each in self.templates])
        self.starts: list[np.ndarray | None] = [None] * STAGES

    def by_stage(self):
        """What `solve_batch` finds, one stage after the other."""
        rows = self.parameters.copy()
        found = []
        for s, solver in enumerate(self.solvers):
            output = solver.allocate(PATHS, bases=True)
            outcome = solver.solve_batch(rows[s], output, start_bases=self.starts[s])
            states = np.clip(output.observed_primal[:, :N_STATE], self.low[s], self.high[s])
            found.append((output, states))
            if not outcome.is_optimal:
                return found, s, outcome
            if s + 1 < STAGES:
                rows[s + 1, :, :N_STATE] = states
        return found, STAGES - 1, None

    def follow(self):
        return follow_paths(self.solvers, self.parameters.copy(), self.low, self.high, self.starts)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("only_highs", [False, True])
def test_paths_have_the_bits_of_batches_stage_by_stage(threads, only_highs):
    alone = Study(threads, only_highs=only_highs)
    together = Study(threads, ThreadPool(threads) if threads > 1 else None, only_highs=only_highs)
    for _ in range(2):
        expected, _, failure = alone.by_stage()
        assert failure is None
        found, _, outcome = together.follow()
        assert outcome.is_optimal
        for s, (output, states) in enumerate(expected):
            assert found.objective[s].tobytes() == output.objective.tobytes()
            assert found.next[s].tobytes() == output.observed_primal[:, N_STATE].tobytes()
            assert found.states[s].tobytes() == states.tobytes()
            assert found.bases[s].tobytes() == output.bases.tobytes()
            alone.starts[s] = together.starts[s] = output.bases


@pytest.mark.parametrize("bad", [[(3, 5)], [(3, 5), (1, 6), (1, 4), (4, 0)], [(0, 6), (4, 0)]])
@pytest.mark.parametrize("threads", [1, 4])
def test_the_first_failure_in_order_of_stages_is_told_and_all_before_it_is_solved(bad, threads):
    study = Study(8, ThreadPool(threads) if threads > 1 else None)
    for s, path in bad:
        study.parameters[s, path, -1] = -5.0  # a limit below 0
    expected, stage, failure = study.by_stage()
    found, at, outcome = study.follow()
    assert (at, outcome.index, outcome.status) == (*min(bad), Status.INFEASIBLE)
    assert (stage, failure.index, failure.status) == (at, outcome.index, outcome.status)
    for s in range(at):
        assert found.states[s].tobytes() == expected[s][1].tobytes()
    done = slice(0, outcome.index)
    assert found.objective[at, done].tobytes() == expected[at][0].objective[done].tobytes()
    reasons = [str(violation) for violation in study.solvers[at].explain_infeasibility()]
    again = Study(8)
    again.parameters[:] = study.parameters
    again.by_stage()
    assert reasons == [str(violation) for violation in again.solvers[at].explain_infeasibility()] != []


def test_parameters_that_no_program_can_have_are_refused():
    study = Study(2)
    study.parameters[2, 3, N_STATE] = np.nan
    with pytest.raises(ValueError, match="solve 3 was given parameters"):
        study.follow()


def test_arguments_that_do_not_fit_are_refused():
    study = Study(2)
    calls = {
        "as many stages": (study.solvers[:-1], study.parameters, study.low, study.high, study.starts),
        "limits must be": (study.solvers, study.parameters, study.low, study.high[:, 1:], study.starts),
        "patches read": (
            study.solvers,
            study.parameters[:, :, 1:].copy(),
            study.low,
            study.high,
            study.starts,
        ),
        "different pools": (
            [*study.solvers[:-1], Study(2, ThreadPool(2)).solvers[-1]],
            study.parameters,
            study.low,
            study.high,
            study.starts,
        ),
        "same solver": ([study.solvers[0]] * STAGES, study.parameters, study.low, study.high, study.starts),
        "one start basis per path": (
            study.solvers,
            study.parameters,
            study.low,
            study.high,
            [np.zeros((1, study.solvers[0].basis_size), np.uint8)] * STAGES,
        ),
    }
    for text, arguments in calls.items():
        with pytest.raises(ValueError, match=text):
            follow_paths(*arguments)


class Trial:
    """Trial points of one stage with openings."""

    def __init__(self, seed: int, pool: ThreadPool | None = None) -> None:
        rng = np.random.default_rng(seed)
        self.template = stage(rng, N_STATE, 3)
        self.solver = LpSolver(self.template, pool=pool)
        self.solver.append_cuts(*cuts(rng, self.template, 9))
        rows = parameters(rng, self.template, 6)
        self.openings = rows[:, N_STATE:].copy()
        self.states = parameters(rng, self.template, PATHS)[:, :N_STATE].copy()
        self.weights = rng.random(6)
        self.order = rng.permutation(6).astype(np.int32)
        output = self.solver.allocate(PATHS, bases=True)
        first = np.concatenate([self.states, np.repeat(self.openings[:1], PATHS, axis=0)], axis=1)
        assert self.solver.solve_batch(first, output).is_optimal
        self.starts = output.bases

    def made(self, block_length: int, **risk: float):
        rows = np.full((PATHS, 1 + N_STATE), np.nan)
        outcome = self.solver.cut_expectation(
            self.states,
            self.openings,
            self.weights,
            rows,
            block_length=block_length,
            start_bases=self.starts,
            order=self.order,
            **risk,
        )
        return rows, outcome

    def by_batch(self, block_length: int, measure: RiskMeasure | None = None):
        states = np.repeat(self.states, 6, axis=0)
        all_parameters = np.concatenate([states, np.tile(self.openings, (PATHS, 1))], axis=1)
        output = self.solver.allocate(len(all_parameters), chain_length=6)
        outcome = self.solver.solve_batch(
            all_parameters,
            output,
            chain_length=6,
            block_length=block_length,
            start_bases=self.starts,
            order=self.order,
        )
        rows = np.full((PATHS, 1 + N_STATE), np.nan)
        if outcome.is_optimal:
            linearise(
                output.objective.reshape(PATHS, 6),
                output.observed_dual.reshape(PATHS, 6, -1)[:, :, :N_STATE],
                opening_weights(output.objective.reshape(PATHS, 6), measure or RiskMeasure(), self.weights),
                self.states,
                rows,
            )
        return rows, outcome


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block_length", [2, 6])
def test_cuts_of_an_expectation_have_the_bits_of_a_batch_and_of_linearise(threads, block_length):
    alone, together = Trial(threads), Trial(threads, ThreadPool(threads) if threads > 1 else None)
    expected, _ = alone.by_batch(block_length)
    rows, outcome = together.made(block_length)
    assert outcome.is_optimal
    assert np.isfinite(rows).all()
    assert rows.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("risk_weight", "tail"), [(1.0, 0.25), (0.3, 0.5), (0.7, 1.0 / 3.0), (1.0, 1e-3)])
def test_cuts_of_a_tail_have_the_weights_of_the_risk_measure(risk_weight, tail):
    trial = Trial(4)
    trial.weights = np.array([0.1, 0.2, 0.3, 0.1, 0.1, 0.2])
    trial.openings[4] = trial.openings[1]  # equally dear
    expected, _ = trial.by_batch(6, RiskMeasure(risk_weight, tail))
    rows, _ = trial.made(6, risk_weight=risk_weight, tail=tail)
    plain, _ = trial.made(6)
    assert rows.tobytes() == expected.tobytes() != plain.tobytes()


def resident_bytes() -> int:
    (line,) = [
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")
    ]
    return 1024 * int(line.split()[1])


@pytest.mark.parametrize("is_claimed", [False, True])
def test_solves_of_a_step_take_memory_only_while_it_is_made(is_claimed):
    rng = np.random.default_rng(1)
    template = stage(rng, N_STATE, 3)
    points, openings = 400, parameters(rng, template, 100)[:, N_STATE:].copy()
    states = parameters(rng, template, points)[:, :N_STATE].copy()
    rows = np.empty((points, 1 + N_STATE))
    solvers = [LpSolver(template) for _ in range(10)]
    one_step = 8 * points * openings.size
    before = resident_bytes()
    for solver in solvers:
        claims = np.full(1, points - 1) if is_claimed else None
        weights = np.full(len(openings), 1.0 / len(openings))
        outcome = solver.cut_expectation(states, openings, weights, rows, block_length=100, claims=claims)
        assert outcome.is_optimal
    assert resident_bytes() - before < 5 * one_step


def test_processes_that_claim_points_fill_all_rows_with_the_same_bits():
    expected, _ = Trial(3).by_batch(6)
    rows = np.full((PATHS, 1 + N_STATE), np.nan)
    claims = np.zeros(1, np.int64)
    claimants = [Trial(3) for _ in range(3)]
    outcomes = []

    def work(trial: Trial) -> None:
        outcomes.append(
            trial.solver.cut_expectation(
                trial.states,
                trial.openings,
                trial.weights,
                rows,
                block_length=6,
                start_bases=trial.starts,
                order=trial.order,
                claims=claims,
            )
        )

    threads = [threading.Thread(target=work, args=(trial,)) for trial in claimants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert [outcome.is_optimal for outcome in outcomes] == [True] * 3
    assert rows.tobytes() == expected.tobytes()
    assert claims.tolist() == [PATHS + 3]
    assert sum(trial.solver.counters()["solves"] for trial in claimants) == 3 * PATHS + 6 * PATHS


def test_a_point_without_an_optimum_is_told_by_the_one_that_claimed_it():
    trial = Trial(3)
    trial.openings[3, -1] = -5.0
    claims = np.full(1, 2, np.int64)  # others have the first two
    rows = np.full((PATHS, 1 + N_STATE), np.nan)
    outcome = trial.solver.cut_expectation(
        trial.states, trial.openings, trial.weights, rows, block_length=6, claims=claims
    )
    assert (outcome.status, outcome.index) == (Status.INFEASIBLE, 2 * 6 + 3)
    assert np.isnan(rows).all()


def test_cuts_of_an_expectation_tell_the_same_failure_as_a_batch():
    trial = Trial(5)
    trial.openings[3, -1] = -5.0
    _, expected = trial.by_batch(6)
    _, found = trial.made(6)
    assert (found.status, found.index) == (expected.status, expected.index) == (Status.INFEASIBLE, 3)
    trial.openings[3, -1] = np.inf
    trial.openings[4, 0] = np.nan
    with pytest.raises(ValueError, match="solve 4 was given parameters"):
        trial.made(6)


def test_cuts_of_an_expectation_refuse_arrays_that_do_not_fit():
    trial = Trial(5)
    good = [trial.states, trial.openings, trial.weights, np.empty((PATHS, 1 + N_STATE))]
    for place, text in enumerate(["patches read", "patches read", "weights for", "rows has the shape"]):
        arguments = list(good)
        arguments[place] = np.ascontiguousarray(good[place][..., 1:])
        with pytest.raises(ValueError, match=text):
            trial.solver.cut_expectation(*arguments, block_length=6)
    with pytest.raises(ValueError, match="no solves"):
        trial.solver.cut_expectation(*good, block_length=0)
    for risk in ({"risk_weight": 1.5}, {"risk_weight": 0.5, "tail": 0.0}, {"risk_weight": np.nan}):
        with pytest.raises(ValueError, match="the risk measure has the weight"):
            trial.solver.cut_expectation(*good, block_length=6, **risk)
    with pytest.raises(ValueError, match="the counter has 2 numbers"):
        trial.solver.cut_expectation(*good, block_length=6, claims=np.zeros(2, np.int64))

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from cobre.comm import LocalCommunicator
from cobre.core.config import BoundStalling, CutSelection, IterationLimit, TimeLimit, TrainingConfig
from cobre.core.training_tables import CONVERGENCE
from cobre.errors import SolverError, ValidationError
from cobre.sddp.training import train
from sddp.cases import make_case
from sddp.specs import BusSpec, HydroSpec, StageSpec, ThermalSpec
from sddp.studies import study
from sddp.trained import bounds, digest, optimum, settings, trained, with_training


def small(**training):
    return study(training=settings(**{"iterations": 6, "passes": 3, **training}))


def test_the_result_tells_how_training_went():
    result = trained(small())
    history = result.convergence_history
    assert history.column_names == list(CONVERGENCE.column_names)
    assert history["lp_solves"].to_pylist() == [3 * 4 + 3 * 3 * 3 + 3] * 6  # forward, backward, lower bound
    assert history["cuts_added"].to_pylist() == [9] * 6
    assert history["cuts_active"].to_pylist() == [9, 18, 27, 36, 45, 54]
    assert history["iteration"].to_pylist() == [1, 2, 3, 4, 5, 6]
    last = history.to_pylist()[-1]
    assert result.iterations == 6
    assert result.final_lower_bound == last["lower_bound"]
    assert result.final_upper_bound == last["upper_bound"]
    assert (
        result.final_gap
        == last["gap"]
        == pytest.approx((last["upper_bound"] - last["lower_bound"]) / last["upper_bound"])
    )
    assert last["ci_95"] == pytest.approx(1.96 * last["upper_bound_std"] / 3**0.5)
    assert result.termination_reason == "iteration_limit"
    assert result.total_cuts == 3 * 6 * 3
    assert result.workers is None
    assert result.policy.summary() == {
        "stages": 4,
        "state_dimension": 2,
        "total_cuts": 54,
        "cuts_per_stage": [18, 18, 18, 0],
        "active_cuts": 54,
    }
    assert result.policy.cuts(3)["coefficients"].shape == (0, 2)
    times = history["wall_time_ms"].to_pylist()
    assert times == sorted(times)


def test_progress_comes_after_each_iteration():
    events = []
    result = trained(small(), on_progress=events.append)
    assert [event.iteration for event in events] == [1, 2, 3, 4, 5, 6]
    assert [event.lower_bound for event in events] == bounds(result)
    assert {event.phase for event in events} == {"training"}
    assert [event.scenarios_complete for event in events] == [3, 6, 9, 12, 15, 18]
    assert {event.scenarios_total for event in events} == {18}
    assert {event.worker_id for event in events} == {0}
    assert events[-1].to_dict()["gap"] == result.final_gap


def test_the_policy_is_below_the_cost_to_go():
    case = small(iterations=30)
    policy = trained(case).policy
    full, empty = policy.evaluate(0, [80.0, 80.0]), policy.evaluate(0, [0.0, 0.0])
    assert full < empty
    assert policy.evaluate(3, [0.0, 0.0]) == 0.0


def test_stalling_ends_training():
    rules = (IterationLimit(500), BoundStalling(5, 1e-6))
    result = trained(with_training(small(), TrainingConfig(forward_passes=3, stopping_rules=rules)))
    assert result.termination_reason == "bound_stalling"
    found = bounds(result)
    assert abs(found[-1] - found[-5]) / found[-1] < 1e-6
    assert abs(found[-2] - found[-6]) / found[-2] >= 1e-6


def test_time_ends_training_after_the_iteration_that_runs():
    rules = (TimeLimit(1e-9), IterationLimit(50))
    result = trained(with_training(small(), TrainingConfig(stopping_rules=rules)))
    assert (result.termination_reason, result.iterations) == ("time_limit", 1)


def test_stopping_may_require_all_rules():
    training = TrainingConfig(stopping_rules=(TimeLimit(1e-9), IterationLimit(4)), stop_when_all=True)
    assert trained(with_training(small(), training)).iterations == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_training_after_the_iteration_with_a_usable_policy(number):
    before = signal.getsignal(number)

    def ask(event):
        if event.iteration == 3:
            os.kill(os.getpid(), number)

    result = trained(small(iterations=1000), on_progress=ask)
    assert result.termination_reason == "shutdown"
    assert result.stop_signal == number
    assert result.iterations == 4
    assert digest(replace(result, termination_reason="iteration_limit")) == digest(
        trained(small(iterations=4))
    )
    assert signal.getsignal(number) is before


def test_training_in_another_thread_keeps_signal_handlers():
    results = []
    thread = threading.Thread(target=lambda: results.append(trained(small())))
    thread.start()
    thread.join(60)
    assert digest(results[0]) == digest(trained(small()))


METHODS = {
    "level1": CutSelection("level1", check_frequency=3),
    "lml1": CutSelection("lml1", check_frequency=2, memory_window=10),
    "domination": CutSelection("domination", check_frequency=3, domination_epsilon=1e-6),
    "value level1": CutSelection("value_level1", check_frequency=3, domination_epsilon=1e-10),
    "value lml1": CutSelection("value_lml1", check_frequency=2, domination_epsilon=1e-10),
    "cap": CutSelection(max_active_per_stage=30),
    "level1 and cap": CutSelection("level1", check_frequency=4, max_active_per_stage=30),
}


@pytest.mark.parametrize("method", METHODS)
def test_selection_drops_cuts_and_keeps_the_bound(method):
    plain = settings(100, 3)
    case = small()
    result = trained(with_training(case, replace(plain, cut_selection=METHODS[method])))
    assert result.final_lower_bound == pytest.approx(optimum(case), rel=1e-6)
    counts = result.policy.summary()
    assert counts["active_cuts"] < counts["total_cuts"] == 3 * 100 * 3
    assert result.policy.cuts(0)["active"].all()
    for stage in range(3):
        assert result.policy.cuts(stage)["active"][-3:].all()  # this iteration's cuts always stay


def test_the_cap_holds_at_every_stage_but_the_first():
    training = settings(10, 3, cut_selection=CutSelection(max_active_per_stage=7))
    policy = trained(with_training(small(), training)).policy
    assert [int(policy.cuts(stage)["active"].sum()) for stage in range(4)] == [30, 7, 7, 0]


def impossible():
    """A reservoir that must hold more than there is."""
    return make_case(
        [StageSpec(10.0, 2)] * 2,
        buses=[BusSpec(load=5.0)],
        thermals=[ThermalSpec(max_mw=10.0)],
        hydros=[HydroSpec(initial=50.0, min_storage=[0.0, 90.0], inflow=1.0)],
        training=settings(3),
    )


def test_a_stage_without_a_solution_is_explained():
    with pytest.raises(SolverError) as caught:
        trained(impossible())
    error = caught.value
    assert (error.stage, error.iteration, error.solver_status) == (1, 1, "infeasible")
    assert "scenario 0" in error.message
    assert "[H0] must be" in error.message
    path = Path(error.message.partition(" is in ")[2].partition(".mps")[0] + ".mps")
    assert path.exists()
    path.unlink()


def test_a_negative_inflow_that_no_reservoir_holds_names_the_setting_for_it():
    case = make_case(
        [StageSpec(10.0, 1)] * 2,
        buses=[BusSpec(load=5.0)],
        thermals=[ThermalSpec(max_mw=10.0)],
        hydros=[HydroSpec(initial=0.0, inflow=-20.0)],
        training=settings(3),
    )
    with pytest.raises(SolverError) as caught:
        trained(case)
    assert "[H0] must be" in caught.value.message
    assert "where an inflow is negative, modeling.inflow_non_negativity.method" in caught.value.suggestion
    Path(caught.value.message.partition(" is in ")[2].partition(".mps")[0] + ".mps").unlink()


def test_training_that_would_never_end_does_not_begin():
    with pytest.raises(ValidationError, match="never end"):
        trained(with_training(small(), TrainingConfig(stopping_rules=())))


def test_a_study_without_hydros_has_cuts_without_coefficients():
    case = make_case(
        [StageSpec(10.0, 2)] * 3,
        buses=[BusSpec(load=5.0, load_std=1.0)],
        thermals=[ThermalSpec(max_mw=10.0, cost=7.0)],
        training=settings(3, 2),
    )
    result = trained(case)
    assert result.final_lower_bound == pytest.approx(optimum(case), rel=1e-12)
    assert result.policy.cuts(0)["coefficients"].shape == (6, 0)


def test_two_runs_and_a_used_communicator_give_the_same_bits():
    case = small(cut_selection=METHODS["lml1"])
    with LocalCommunicator() as comm:
        assert digest(train(comm, case)) == digest(train(comm, case)) == digest(trained(case))

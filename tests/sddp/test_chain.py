"""The passes of a study without branches as native calls: the bits and errors of the passes step by step."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from cobre.comm import LocalCommunicator, run
from cobre.core.horizon import RiskMeasure
from cobre.errors import CobreError, SolverError
from cobre.sddp.backward import give_cuts_to_outcomes
from cobre.sddp.chain import Chain
from cobre.sddp.passes import Passes
from cobre.sddp.shared_trial_points import SharedTrialPoints
from cobre.sddp.training import train
from cobre.sddp.workspace import open_workspace
from sddp.cases import make_case
from sddp.graph_studies import graph_cases
from sddp.specs import BusSpec, HydroSpec, StageSpec, ThermalSpec
from sddp.studies import split_cases, study
from sddp.trained import digest, settings, trained


def cases():
    discounted = study(
        [StageSpec((200.0, 100.0), n, discount=0.97) for n in (2, 5, 4, 3)],
        hydro={
            "lags": [0.5, 0.2],
            "residual_ratio": 0.8,
            "past": [12.0, 9.0],
            "costs": {"negative_inflow": 30.0},
        },
        load_std=4.0,
        training=settings(12, 3),
        non_negativity="penalty",
    )
    risk = RiskMeasure(weight=0.5, tail=0.4)
    risky = study([StageSpec((200.0, 100.0), n, risk=risk) for n in (2, 5, 4, 3)], training=settings(12, 8))
    return {**split_cases(), "discounted": discounted, "CVaR": risky}


def chain_of(case) -> Chain | None:
    with LocalCommunicator() as comm:
        work = open_workspace(comm, case)
        if case.config.training.is_multi_cut:
            give_cuts_to_outcomes(work.nodes)
        passes = Passes(comm, work, case.config.training)
        passes.forward(1)
        return passes.chain


@pytest.mark.parametrize("name", cases())
def test_the_bits_are_those_of_the_passes_step_by_step(name, monkeypatch):
    case = cases()[name]
    by_chain = digest(trained(case))
    with_threads = digest(trained(case, threads=3))
    monkeypatch.setattr(Chain, "of", lambda *_: None)
    assert digest(trained(case)) == by_chain == with_threads


def test_which_studies_are_chains():
    found = {name: chain_of(case) for name, case in cases().items()}
    assert found["stalling"] is None  # truncated inflows need their lags
    assert found["sampled"].makes_cuts
    assert found["discounted"].makes_cuts
    assert found["CVaR"].makes_cuts
    assert not found["multi-cut"].makes_cuts
    assert chain_of(graph_cases()["climates"]) is None


def failing():
    """The reservoir cannot be as full as it must be where it rains little: paths fail in several stages."""
    return make_case(
        [StageSpec(744.0, 3)] * 5,
        buses=[BusSpec(load=5.0)],
        thermals=[ThermalSpec(max_mw=10.0)],
        hydros=[
            HydroSpec(initial=50.0, min_storage=[0.0, 0.0, 48.0, 49.0, 90.0], inflow=1.0, inflow_std=4.0)
        ],
        training=settings(3, 9),
        non_negativity="none",
    )


@pytest.mark.parametrize("threads", [1, 4])
def test_a_program_without_a_solution_is_told_alike(threads, monkeypatch):
    def told() -> tuple[int, str]:
        with pytest.raises(SolverError) as caught:
            trained(failing(), threads=threads)
        message, _, rest = caught.value.message.partition("; the program is in ")
        Path(rest.splitlines()[0]).unlink()
        return caught.value.stage, message + rest.partition("\n")[2]

    by_chain = told()
    monkeypatch.setattr(Chain, "of", lambda *_: None)
    assert told() == by_chain
    assert by_chain[0] in (2, 3)


class WithLittleMemory:
    """A group whose shared memory ends with the region number ``last``."""

    def __init__(self, comm, last):
        self._comm = comm
        self._left = last

    def create_shared_region(self, count, dtype="float64"):
        self._left -= 1
        return self._comm.create_shared_region(count if self._left >= 0 else 10**17, dtype)

    def __getattr__(self, name):
        return getattr(self._comm, name)


def _digests_and_sharing(comm, regions):
    """Of a study, where ``regions`` can be made once its passes have begun."""
    found = []
    made = SharedTrialPoints.of

    def noted(group, *shape, can_claim):
        shared = made(WithLittleMemory(group, regions), *shape, can_claim=can_claim)
        found.append(shared)
        return shared

    SharedTrialPoints.of = noted
    used = []
    publish = SharedTrialPoints.publish
    SharedTrialPoints.publish = lambda *arguments: used.append(publish(*arguments)) or used[-1]
    return digest(train(comm, cases()["sampled"])), found[0] is not None, used


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_ranks_of_a_machine_claim_trial_points(n_ranks):
    alone = digest(trained(cases()["sampled"]))
    for found, is_shared, used in run(_digests_and_sharing, num_workers=n_ranks, backend="shm", args=(100,)):
        assert found == alone
        assert is_shared
        assert len(used) > 1
        assert all(used)


@pytest.mark.parametrize(("regions", "is_shared", "used"), [(2, False, []), (3, True, [False])])
def test_where_shared_memory_ends_each_rank_solves_its_own_trial_points(regions, is_shared, used):
    alone = digest(trained(cases()["sampled"]))
    expected = [(alone, is_shared, used)] * 2
    assert run(_digests_and_sharing, num_workers=2, backend="shm", args=(regions,)) == expected


def _shared_points_left(comm):
    made_here = []
    made = SharedTrialPoints.of

    def noted(*shape, **options):
        shared = made(*shape, **options)
        made_here.append(weakref.ref(shared))
        return shared

    SharedTrialPoints.of = noted
    gc.disable()
    try:
        train(comm, cases()["sampled"])
        return [each() is None for each in made_here]
    finally:
        gc.enable()


def test_the_shared_memory_of_a_training_is_freed_at_its_end():
    assert run(_shared_points_left, num_workers=2, backend="shm") == [[True]] * 2


def _digest_with_unlike_threads(comm):
    return digest(train(comm, cases()["sampled"], threads=1 + comm.rank % 2))


def test_ranks_may_have_unlike_numbers_of_threads():
    alone = digest(trained(cases()["sampled"]))
    assert run(_digest_with_unlike_threads, num_workers=3, backend="shm") == [alone] * 3


def failing_backward():
    """The reservoir cannot stay full in an opening that no forward pass of the first iteration draws."""
    return make_case(
        [StageSpec(744.0, 1), StageSpec(744.0, 60)],
        buses=[BusSpec(load=5.0)],
        thermals=[ThermalSpec(max_mw=10.0)],
        hydros=[HydroSpec(initial=50.0, min_storage=[50.0, 50.0], inflow=1.0, inflow_std=[0.0, 0.5])],
        training=settings(3, 8, tree_seed=44),
        non_negativity="none",
    )


def _failure_of(comm):
    with pytest.raises(CobreError) as caught:
        train(comm, failing_backward())
    message, _, rest = caught.value.message.partition("; the program is in ")
    if rest:
        Path(rest.splitlines()[0]).unlink()
    return message


def test_a_program_without_a_solution_ends_all_ranks_that_claim():
    alone = _failure_of(LocalCommunicator())
    assert "scenario 0, opening 10: the linear program is infeasible" in alone
    told = run(_failure_of, num_workers=3, backend="shm")
    assert sum("opening 10: the linear program is infeasible" in each for each in told) >= 1
    assert all(told)

"""Helpers of tests that train."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from cobre.comm import LocalCommunicator
from cobre.core.case import Case
from cobre.core.config import IterationLimit, TrainingConfig
from cobre.sddp.forecast import open_forecast
from cobre.sddp.given_cuts import Boundary
from cobre.sddp.nature import Nature
from cobre.sddp.realisations import realisations
from cobre.sddp.result import TrainingResult
from cobre.sddp.subproblem import build_stage_problems
from cobre.sddp.training import train
from sddp.extensive import Tree


def settings(iterations: int = 20, passes: int = 1, **others) -> TrainingConfig:
    return TrainingConfig(forward_passes=passes, stopping_rules=(IterationLimit(iterations),), **others)


def with_training(case: Case, training: TrainingConfig) -> Case:
    return replace(case, config=replace(case.config, training=training))


def trained(case: Case, **kwargs) -> TrainingResult:
    with LocalCommunicator() as comm:
        return train(comm, case, **kwargs)


def optimum(case: Case, boundary: Boundary | None = None) -> float:
    """Of the whole scenario tree as one LP."""
    nature = Nature.of(case)
    with LocalCommunicator() as comm:
        openings, _, probabilities = open_forecast(comm, nature)
    given = realisations(nature, case.horizon.policy_graph, openings, probabilities)
    shares = {node: each for node, (_, each) in enumerate(given) if each is not None}
    state = np.concatenate([case.initial.storage_hm3, nature.initial_lags.ravel()])
    floor = None if boundary is None else boundary.floor
    problems = build_stage_problems(case, nature.inflow, nature.transition, end_cost_bound=floor)
    cuts = None if boundary is None else boundary.cuts.rows[boundary.cuts.active]
    values = [rows for rows, _ in given]
    return Tree(case, problems, values, state, nature.transition.advance, shares, cuts).optimum()


def bounds(result: TrainingResult) -> list[float]:
    return result.convergence_history["lower_bound"].to_pylist()


def assert_optimal(found: list[float], expected: float, rel: float = 1e-6) -> None:
    """That these bounds reach the optimum from below."""
    assert max(found) <= expected * (1 + 1e-8)
    assert found[-1] == pytest.approx(expected, rel=rel)


def digest(result: TrainingResult) -> str:
    """One hash over everything that must not depend on how training was split."""
    columns = ("iteration", "lower_bound", "upper_bound", "upper_bound_std", "ci_95", "gap")
    found = hashlib.sha256(result.policy.to_bytes())
    for name in columns:
        found.update(result.convergence_history[name].to_numpy().tobytes())
    found.update(repr((result.iterations, result.termination_reason, result.total_cuts)).encode())
    return found.hexdigest()

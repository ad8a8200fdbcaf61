"""The backward pass: from the last stage to the second, one new cut per trial point for the stage before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cobre.comm import Communicator, ReduceOp
from cobre.core.horizon import RiskMeasure
from cobre.sddp.cuts import synchronize_cuts
from cobre.sddp.forward import Trajectories
from cobre.sddp.risk import opening_weights, weighted_sum
from cobre.sddp.stage import StageModel
from cobre.sddp.truncation import Truncation
from cobre.solver import BatchOutput

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def backward_pass(
    comm: Communicator,
    models: Sequence[StageModel],
    trajectories: Trajectories,
    n_scenarios: int,
    iteration: int,
    activity_tolerance: float | None = None,
) -> None:
    """Collective: add ``n_scenarios`` cuts to every stage but the last, on every rank the same.

    Each trial point is solved for all openings of its stage in one chain, which begins from the basis of that
    scenario's forward solve. With an ``activity_tolerance`` it also counts how often each cut was binding.
    """
    counts: list[Counts] = []
    for index in range(len(models) - 1, 0, -1):
        model, before = models[index], models[index - 1]
        trial = trajectories.states[index - 1]
        rows = np.empty((len(trial), 1 + model.layout.state_dimension))
        binding = np.zeros(np.count_nonzero(model.pool.active), dtype=np.int64)
        if len(trial):
            batch = _solve_openings(
                model, trial, trajectories.first_scenario, iteration, activity_tolerance is not None
            )
            rows = cuts_of(model, before.risk, trial, batch)
            if activity_tolerance is not None and batch.cut_dual is not None:
                used = np.count_nonzero(batch.cut_dual > activity_tolerance, axis=0)
                binding = used.astype(np.int64)[model.pool.active]
        counts.append(binding)
        before.append_cuts(synchronize_cuts(comm, before.pool, rows, n_scenarios, iteration))
    if activity_tolerance is not None:
        _record_activity(comm, list(reversed(models[1:])), counts, iteration)


def cuts_of(model: StageModel, risk: RiskMeasure, trial: Floats, batch: BatchOutput) -> Floats:
    """Rows (intercept, coefficients), one per trial point: the risk of all openings, linearised there."""
    n, dimension = trial.shape
    costs = batch.objective.reshape(n, model.n_openings)
    duals = batch.observed_dual.reshape(n, model.n_openings, -1)
    gradients = duals[:, :, :dimension]
    weights = opening_weights(costs, risk, model.probabilities)
    values = costs
    if model.truncation is not None:
        values, gradients = _corrected(
            model.truncation, model, trial, costs, gradients, duals[:, :, dimension:]
        )
    rows = np.empty((n, 1 + dimension))
    rows[:, 0] = weighted_sum(values, weights)
    rows[:, 1:] = weighted_sum(gradients, weights)
    for j in range(dimension):  # in index order, whatever the number of trial points
        rows[:, 0] -= rows[:, 1 + j] * trial[:, j]
    return rows


def _corrected(
    truncation: Truncation,
    model: StageModel,
    trial: Floats,
    costs: Floats,
    gradients: Floats,
    inflow_duals: Floats,
) -> tuple[Floats, Floats]:
    """Values at the trial points and gradients of cuts that hold for clamped inflows, too."""
    lags = model.lags_of(trial)
    changes, constants = truncation.corrections(lags, inflow_duals)
    values = costs + constants
    for lag in range(changes.shape[2]):
        for hydro in range(changes.shape[3]):
            values += changes[:, :, lag, hydro] * lags[:, np.newaxis, lag, hydro]
    corrected = gradients.copy()
    corrected[:, :, model.layout.lags] += changes.reshape(*changes.shape[:2], -1)
    return values, corrected


def _solve_openings(
    model: StageModel, trial: Floats, first_scenario: int, iteration: int, want_cut_duals: bool
) -> BatchOutput:
    n = model.n_openings
    states = np.repeat(trial, n, axis=0)
    return model.solve(
        model.parameters(states, np.tile(model.openings, (len(trial), 1))),
        iteration,
        first_scenario,
        chain_length=n,
        start_bases=model.bases,
        want_cut_duals=want_cut_duals,
    )


def _record_activity(
    comm: Communicator, models: Sequence[StageModel], counts: Sequence[Counts], iteration: int
) -> None:
    """Collective: add up over ranks how often each cut was binding, in one message for all stages."""
    mine = np.concatenate(counts)
    everyone = np.zeros_like(mine)
    if len(mine):
        comm.allreduce(mine, everyone, ReduceOp.SUM)  # of integers: exact in any order
    ends = np.cumsum([len(part) for part in counts])
    for model, part in zip(models, np.split(everyone, ends[:-1]), strict=True):
        model.pool.record_activity(part, iteration)

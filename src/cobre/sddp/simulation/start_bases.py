"""The bases that the solves of a simulation begin from.

The policy has one basis per stage, from before its last cuts were made. A program of many rows takes hundreds of steps
from there to its optimum. So a few trajectories through the opening tree are solved first, with all cuts; then each
solve begins from the basis of the trajectory whose parameters are nearest to its own. Case and policy alone decide what
these trajectories are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.comm import GroupMember, contiguous_block
from cobre.errors import CobreError
from cobre.sddp.checkpointing import gather_bases
from cobre.sddp.forecast import OpeningForecast
from cobre.sddp.sharing import share_failure
from cobre.sddp.stage import Bases, StageModel
from cobre.sddp.stage_cuts import StageCuts
from cobre.sddp.statistics import gather_rows

TRAJECTORIES = 8
LARGE_ROWS = 400
"""Smaller programs are a few steps from the policy's basis: choosing among several would cost more than it saves."""


@dataclass(frozen=True, eq=False)
class StartBases:
    """Of one stage."""

    bases: Bases | None
    """``[k, byte]``; None: from the slack basis."""
    parameters: Floats
    """``[k, parameter]`` that the bases belong to."""
    weights: Floats
    """``[parameter]``: one over the spread of each, 0 where there is none."""

    def nearest(self, parameters: Floats) -> Bases | None:
        """One basis for each row of ``parameters [n, parameter]``, or one for all; None where there is none."""
        if self.bases is None or len(self.bases) == 1:
            return self.bases
        apart = (parameters[:, np.newaxis, :] - self.parameters) * self.weights
        # Added from left to right: how NumPy would pair the terms depends on how many rows there are.
        distances = np.add.accumulate(apart * apart, axis=2)[:, :, -1]
        return np.ascontiguousarray(self.bases[np.argmin(distances, axis=1)])


def start_bases(
    comm: GroupMember,
    models: Sequence[StageModel],
    cuts: Sequence[StageCuts],
    tree_seed: int,
    initial_state: Floats,
    *,
    is_chain: bool = True,
) -> list[StartBases]:
    """Collective: of every stage. The programs must have their cuts.

    Where the stages are no chain, the bases are those of the policy.
    """
    given = [_of_policy(model, own) for model, own in zip(models, cuts, strict=True)]
    if not is_chain or all(model.solver.template.n_rows < LARGE_ROWS for model in models):
        return [_one(basis) for basis in given]
    solved: list[tuple[Floats, Bases | None]] = []
    failure: CobreError | None = None
    try:
        first, n = contiguous_block(TRAJECTORIES, comm.rank, comm.size)
        forecast = OpeningForecast(tree_seed, [model.openings for model in models])
        solved = _solve(models, given, forecast, initial_state, first, n)
    except CobreError as error:
        failure = error
    share_failure(comm, failure)
    bases = gather_bases(comm, [own for _, own in solved], [TRAJECTORIES] * len(models))
    everyone = [gather_rows(comm, rows, TRAJECTORIES) for rows, _ in solved]
    return [StartBases(own, rows, _weights(rows)) for own, rows in zip(bases, everyone, strict=True)]


def _solve(
    models: Sequence[StageModel],
    given: Sequence[Bases | None],
    forecast: OpeningForecast,
    initial_state: Floats,
    first: int,
    n: int,
) -> list[tuple[Floats, Bases | None]]:
    """Parameters and bases by stage of ``n`` trajectories from number ``first`` on."""
    incoming = np.repeat(initial_state[np.newaxis, :], n, axis=0)
    if n == 0:
        return [(np.empty((0, model.solver.template.patches.n_parameters)), None) for model in models]
    forecast.start_iteration(0, first, n)
    found = []
    for model, basis in zip(models, given, strict=True):
        parameters = model.parameters(incoming, forecast.values(model.index))
        batch = model.solve(parameters, 0, first, chain_of="trajectory", start_bases=basis, want_bases=True)
        incoming = model.outgoing(batch.observed_primal)
        found.append((parameters, batch.bases))
    return found


def _one(basis: Bases | None) -> StartBases:
    nothing = np.empty((0, 0))
    return StartBases(basis, nothing, nothing)


def _weights(parameters: Floats) -> Floats:
    spread = parameters.max(axis=0) - parameters.min(axis=0)
    weights: Floats = np.zeros_like(spread)
    np.divide(1.0, spread, out=weights, where=spread > 0.0)
    return weights


def _of_policy(model: StageModel, cuts: StageCuts) -> Bases | None:
    """The basis that the policy keeps, if it fits the program."""
    template = model.solver.template
    size_without_cuts = template.n_columns + template.n_rows
    fits = size_without_cuts <= len(cuts.basis) <= size_without_cuts + len(cuts.intercepts)
    return np.ascontiguousarray(cuts.basis[np.newaxis, :]) if fits else None

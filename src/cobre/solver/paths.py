"""Calls about the solvers of several stages at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre._native import lp
from cobre.arrays import Floats
from cobre.solver.batch import COUNTED, BatchOutcome, Status
from cobre.solver.solver import LpSolver

__all__ = ["PathOutput", "count_all", "follow_paths"]


@dataclass(slots=True, eq=False)
class PathOutput:
    """What `follow_paths` found."""

    objective: Floats
    """``[stage, path]``"""
    next: Floats
    """``[stage, path]``: the observed column after those of the outgoing state."""
    states: Floats
    """``[stage, path, component]``: the outgoing states, exactly within their limits."""
    bases: list[NDArray[np.uint8]]
    """By stage ``[path, basis_size]``."""


def follow_paths(
    solvers: Sequence[LpSolver],
    parameters: Floats,
    low: Floats,
    high: Floats,
    start_bases: Sequence[NDArray[np.uint8] | None],
) -> tuple[PathOutput, int, BatchOutcome]:
    """Solve one stage after the other, each path with the state in which it left the stage before.

    ``parameters [stage, path, parameter]`` begin with the incoming state: the caller gives that of the first stage, the
    others are filled in. A program observes the outgoing state first, whose limits ``low`` and ``high`` are ``[stage,
    component]``. Every solve begins from its start basis. Threads of the first solver's pool take whole paths; bits are
    those of `LpSolver.solve_batch`, stage by stage.

    The outcome is that of the first solve without an optimum, in the order of stages and of paths in them, with its
    stage before it; what comes later is not written then.
    """
    n_stages, n_paths, _ = parameters.shape
    output = PathOutput(
        np.empty((n_stages, n_paths)),
        np.empty((n_stages, n_paths)),
        np.empty((n_stages, n_paths, low.shape[1])),
        [np.empty((n_paths, solver.basis_size), np.uint8) for solver in solvers],
    )
    status, stage, path, attempts = lp.follow_paths(
        [solver.native for solver in solvers],
        parameters,
        low,
        high,
        start_bases,
        output.objective,
        output.next,
        output.states,
        output.bases,
    )
    if status is lp.Status.OPTIMAL:
        return output, stage, BatchOutcome(Status.OPTIMAL, path, attempts)
    if status is lp.Status.BAD_PARAMETER:
        solvers[stage].refuse_parameters(parameters[stage, path], path)
    return output, stage, BatchOutcome(Status[status.name], path, attempts)


def count_all(solvers: Sequence[LpSolver]) -> Floats:
    """``[solver, counter]``: those that `COUNTED` names, then the active cuts."""
    found = np.empty((len(solvers), len(COUNTED) + 1))
    lp.count_all([solver.native for solver in solvers], found)
    return found

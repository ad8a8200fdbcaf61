"""The sampling methods of a stage: how normal noise is spread over openings, or over fresh trajectories.

==================  ===================================================================================================
``saa``             independent draws
``lhs``             Latin hypercube: each of n equally likely strata of every entity is met once
``qmc_sobol``       Sobol points, multiplied and shifted as integers; keeps the strata of each single entity
``qmc_sobol_lms``   Sobol points with a linear matrix scramble and a shift; keeps those of several entities together
``qmc_halton``      Halton points with permuted digits
==================  ===================================================================================================

Two methods need more than a seed and are made in `cobre.stochastic.trees`: ``selective`` (k-means) and
``historical_residuals``. A trajectory with fresh noise draws ``saa`` in their stages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cobre._native import noise
from cobre.arrays import Floats
from cobre.stochastic.sobol import sobol_directions

__all__ = ["POINT_METHODS", "Draw", "draw_points", "sample_points"]

_SCRAMBLES = {"qmc_sobol": noise.Scramble.MULTIPLY, "qmc_sobol_lms": noise.Scramble.MATRIX}
_SAMPLERS: dict[str, Callable[[int, int, Floats], None]] = {
    "saa": noise.sample_saa,
    "lhs": noise.sample_lhs,
    "qmc_halton": noise.sample_halton,
}
_DRAWS: dict[str, Callable[[int, int, int, int, int, int, int, Floats], None]] = {
    "saa": noise.draw_saa,
    "lhs": noise.draw_lhs,
    "qmc_halton": noise.draw_halton,
}

POINT_METHODS = ("saa", "lhs", "qmc_sobol", "qmc_sobol_lms", "qmc_halton")
"""Methods that need nothing but a seed."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Fresh noise of some trajectories of an iteration: ``first``, ``first + 1``, ... of ``total`` over all ranks."""

    seed: int
    iteration: int
    group: int
    first: int
    total: int


def sample_points(method: str, seed: int, stage_id: int, out: Floats) -> None:
    """Fill ``out`` (openings, entities), C-contiguous, with the openings of a stage of the tree."""
    if method in _SCRAMBLES:
        directions = sobol_directions(out.shape[1])
        noise.sample_sobol(seed, stage_id, directions, _SCRAMBLES[method], out)
    else:
        _SAMPLERS[method](seed, stage_id, out)


def draw_points(method: str, draw: Draw, columns: slice, out: Floats) -> None:
    """Fill the ``columns`` of ``out`` (scenarios, entities), C-contiguous, with fresh noise of one noise group."""
    n = columns.stop - columns.start
    place = (draw.seed, draw.iteration, draw.group, draw.first, draw.total, columns.start, n)
    if method in _SCRAMBLES:
        noise.draw_sobol(*place, sobol_directions(n), _SCRAMBLES[method], out)
    else:
        _DRAWS[method if method in _DRAWS else "saa"](*place, out)

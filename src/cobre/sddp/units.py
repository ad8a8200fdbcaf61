"""How the solves of a backward pass are cut into units that ranks and threads take."""

from __future__ import annotations

UNITS = 8
"""So many units at least, over all trial points, are worth the price of beginning a block anew."""
FEWEST_OPENINGS = 5
"""Of a block: each solve begins where the one before ended, and a block gives that up once."""


def openings_per_block(n_openings: int, n_trial_points: int) -> int:
    """Openings in a unit: all openings of a trial point, or a part of them where there are few trial points.

    It depends on the study alone and never on who computes, because the start of a block has a part in its bits.

    >>> openings_per_block(20, 8), openings_per_block(20, 4), openings_per_block(20, 1), openings_per_block(3, 1)
    (20, 10, 5, 3)
    """
    n_blocks = -(-UNITS // max(1, n_trial_points))
    return min(n_openings, max(FEWEST_OPENINGS, -(-n_openings // n_blocks)))

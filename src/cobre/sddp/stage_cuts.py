"""The cuts of one stage of a policy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobre.arrays import Floats


@dataclass(frozen=True, eq=False)
class StageCuts:
    """The cuts of one stage in slot order: ``future cost >= intercept + coefficients . state``."""

    intercepts: Floats
    coefficients: Floats
    active: NDArray[np.bool_]
    floor: float = 0.0
    """The future costs no less, with or without cuts; below 0 only where something can earn money."""
    basis: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, dtype=np.uint8))
    """What a simulation starts the solves of this stage from: the last basis of the first trajectory; may be empty."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StageCuts)
            and self.floor == other.floor
            and all(
                a.shape == b.shape and a.tobytes() == b.tobytes()
                for a, b in (
                    (self.intercepts, other.intercepts),
                    (self.coefficients, other.coefficients),
                    (self.active, other.active),
                    (self.basis, other.basis),
                )
            )
        )


def cut_values(cuts: StageCuts, states: Floats) -> Floats:
    """``[slot, state]``: the value of each cut at each of ``states [n, dimension]``, terms added in state order."""
    values = np.repeat(cuts.intercepts[:, np.newaxis], len(states), axis=1)
    for j in range(states.shape[1]):
        values += cuts.coefficients[:, j : j + 1] * states[np.newaxis, :, j]
    return values


def as_numbers(given: ArrayLike) -> Floats:
    """States as an array; `TypeError` names what is none."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{given!r:.80} is no list of numbers\n  "
            "fix: pass the storages in hm3, then the lagged inflows in m3/s"
        ) from error

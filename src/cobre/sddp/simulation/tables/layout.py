"""The rows of a table that has one per entity and block of a stage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cobre.core.entities import Identified
from cobre.sddp.simulation.outcome import Scalar, StageView

OPERATING = 2
"""Code of an entity that operates: see ``operative_state`` in ``codes.json``."""


def keys(view: StageView, name: str, entities: Sequence[Identified]) -> dict[str, NDArray[np.generic]]:
    """The columns ``block_id`` and ``name`` (the entity's id) of all rows."""
    ids = np.array([entity.id for entity in entities], dtype=np.int32)
    blocks = np.arange(view.n_blocks, dtype=np.int32)
    return {
        "block_id": np.tile(blocks, len(entities)),
        name: np.repeat(ids, view.n_blocks),
    }


def flat(values: NDArray[Scalar]) -> NDArray[Scalar]:
    """``[n, entity, block]`` as ``[n, row]``; without scenarios ``[entity, block]`` as ``[row]``."""
    if values.ndim == 2:
        return values.reshape(-1)
    n, n_entities, n_blocks = values.shape
    return (
        values.transpose(1, 2, 0).reshape(n_entities * n_blocks, n).T
    )  # no copy where scenarios are neighbours


def states(view: StageView, codes: NDArray[np.int8] | None, n_entities: int) -> NDArray[np.int8]:
    """The column ``operative_state_code`` from a table ``[entity, stage]``; without one all operate."""
    own = np.full(n_entities, OPERATING, dtype=np.int8) if codes is None else codes[:, view.scope.index]
    return np.repeat(own, view.n_blocks)

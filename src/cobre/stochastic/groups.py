"""Which stages share their noise.

Stages with the same season that start in the same year form a *noise group*: the weeks of a month, say, which
follow one monthly inflow model. Where such stages follow one another in the tree, they have the same noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cobre.core.horizon import Stage

__all__ = ["noise_groups", "noise_sources"]


def noise_groups(stages: Sequence[Stage]) -> NDArray[np.uint32]:
    """A number per stage, equal where season and start year are; numbered by first appearance.

    A stage without a season is a group of its own.
    """
    known: dict[tuple[int, int], int] = {}
    groups, following = [], 0
    for stage in stages:
        key = None if stage.season_id is None else (stage.season_id, stage.start_date.year)
        if key is not None and key in known:
            groups.append(known[key])
            continue
        if key is not None:
            known[key] = following
        groups.append(following)
        following += 1
    return np.array(groups, dtype=np.uint32)


def noise_sources(stages: Sequence[Stage]) -> NDArray[np.int64]:
    """For every stage the index of the stage whose noise it has in the tree: itself, or one before it.

    A stage copies when it follows a stage of its noise group. With fewer openings than there it takes the first
    of them; with more there is nothing to copy for some, so it has noise of its own, as do those that follow it.
    """
    groups = noise_groups(stages)
    sources = np.arange(len(stages), dtype=np.int64)
    for stage in range(1, len(stages)):
        source = sources[stage - 1]
        if groups[stage] == groups[stage - 1] and stages[stage].n_openings <= stages[source].n_openings:
            sources[stage] = source
    return sources

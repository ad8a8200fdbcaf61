"""Which stages share their noise.

Stages in the same occurrence of a season form a *noise group*: the weeks of a month, say, which follow one monthly
inflow model. A week of January that starts in December belongs to the January that follows. Where such stages follow
one another in the tree, they have the same noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Ints
from cobre.core.horizon import Stage

__all__ = ["noise_groups", "noise_sources"]


def noise_groups(stages: Sequence[Stage]) -> NDArray[np.uint32]:
    """A number per stage, equal where the occurrence of the season is; numbered by first appearance.

    A stage without a season is a group of its own.
    """
    known: dict[tuple[int, int], int] = {}
    groups, following = [], 0
    for stage in stages:
        year = stage.start_date.year if stage.season_year is None else stage.season_year
        key = None if stage.season_id is None else (stage.season_id, year)
        if key is not None and key in known:
            groups.append(known[key])
            continue
        if key is not None:
            known[key] = following
        groups.append(following)
        following += 1
    return np.array(groups, dtype=np.uint32)


def noise_sources(stages: Sequence[Stage]) -> Ints:
    """For every stage the index of the stage whose noise it has in the tree: itself, or one before it.

    A stage copies when it follows a stage of its noise group. With fewer openings than there it takes the first
    of them; with more there is nothing to copy for some, so it has noise of its own, as do those that follow it.
    Openings that stand for clusters of a sample are copied all or not at all.
    """
    groups = noise_groups(stages)
    sources = np.arange(len(stages), dtype=np.int64)
    for stage in range(1, len(stages)):
        source = sources[stage - 1]
        wanted, there = stages[stage].n_openings, stages[source].n_openings
        is_enough = wanted == there if stages[source].sampling_method == "selective" else wanted <= there
        if groups[stage] == groups[stage - 1] and is_enough:
            sources[stage] = source
    return sources

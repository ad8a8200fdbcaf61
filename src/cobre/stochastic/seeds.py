"""Hashed seeds: SipHash-1-3 with keys 0/0 over little-endian indices.

========================  ===========================================================================
``opening_seed``          u64 base, u32 opening, u32 stage id
``stage_seed``            u64 base, u32 stage id
``forward_seed``          u64 base, u32 iteration, u32 scenario, u32 stage index
``grouped_forward_seed``  byte 1, u64 seed, u32 iteration, u32 scenario, u32 noise group
``class_seed``            byte 2, u64 seed, name of the class in ASCII
========================  ===========================================================================

Iterations count from 1; a simulation uses iteration 0. ``base`` is the ``tree_seed`` of the study, which is taken
without its sign.

>>> forward_seed(42, 0, 0, 0)
4418977803187233897
"""

from __future__ import annotations

from cobre._native import noise
from cobre.core.scenarios import EntityClass

__all__ = [
    "class_seed",
    "external_scenario",
    "forward_seed",
    "grouped_forward_seed",
    "historical_window",
    "opening_seed",
    "stage_seed",
]

# ASCII of "external" and "historic": seeds of their own, so that these choices never meet the noise.
_EXTERNAL = 0x65787465726E616C
_HISTORICAL = 0x686973746F726963


def opening_seed(base: int, opening: int, stage_id: int) -> int:
    """Where the noise of one opening of one stage starts."""
    return noise.opening_seed(base, opening, stage_id)


def stage_seed(base: int, stage_id: int) -> int:
    """Where the noise of a stage starts when its openings are spread together."""
    return noise.stage_seed(base, stage_id)


def forward_seed(base: int, iteration: int, scenario: int, stage: int) -> int:
    """What decides which opening a trajectory meets; ``stage`` is the 0-based index, not the id."""
    return noise.forward_seed(base, iteration, scenario, stage)


def grouped_forward_seed(seed: int, iteration: int, scenario: int, group: int) -> int:
    """Where the fresh noise of a trajectory starts, for all stages of a noise group."""
    return noise.grouped_forward_seed(seed, iteration, scenario, group)


def class_seed(seed: int, entity_class: EntityClass) -> int:
    """The seed of fresh noise for one class of entities; inflows use the seed as it is."""
    return seed if entity_class == "inflow" else noise.class_seed(seed, entity_class)


def external_scenario(iteration: int, scenario: int, n_scenarios: int) -> int:
    """Which scenario of the external files a trajectory follows, the same in all stages."""
    return noise.forward_seed(_EXTERNAL, iteration, scenario, 0) % n_scenarios


def historical_window(iteration: int, scenario: int, n_windows: int) -> int:
    """Which window of the history a trajectory follows, the same in all stages."""
    return noise.forward_seed(_HISTORICAL, iteration, scenario, 0) % n_windows

"""Matches what is under way in one study with what is under way in another, by dates.

Water under way and commitments of thermals are components of the state that belong to an interval of time: when the
water arrives, when the generation is delivered. Two studies may cut time differently, so that an interval of one
overlaps with several of the other.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cobre.sddp.carried import Carried, DatedSlot

TRANSIT, COMMITMENT = "in_transit", "commitment"
Slots = Mapping[str, tuple[str, str]]
"""By name of a component, the interval that it belongs to."""

_NAME = re.compile(r"(in_transit|commitment)\d+:(-?\d+)")


@dataclass(frozen=True)
class Source:
    """The components of a policy that belong to an interval, at one of its stages."""

    names: Sequence[str]
    slots: Slots

    def of(self, family: str, entity: int) -> list[tuple[int, dt.datetime, dt.datetime]]:
        """Place and interval of the components of a plant."""
        return [
            (place, *_interval(self.slots[name]))
            for place, name in enumerate(self.names)
            if name in self.slots and family_of(name) == (family, entity)
        ]


def family_of(name: str) -> tuple[str, int] | None:
    """``in_transit`` or ``commitment`` and the id of the plant; None for any other component."""
    found = _NAME.fullmatch(name)
    return None if found is None else (found[1], int(found[2]))


def slots_of(carried: Carried, stage: int) -> dict[str, tuple[str, str]]:
    """The components of a study that belong to an interval as ``stage`` ends."""
    pairs: Iterable[tuple[str, DatedSlot]] = zip(carried.names, carried.intervals(stage), strict=True)
    return {name: interval for name, interval in pairs if interval is not None}


def weights(source: Source, name: str, interval: tuple[str, str]) -> list[tuple[int, float]]:
    """Places in the policy and factors: one unit of component ``name`` counts as so much of each.

    Water that arrives evenly during ``interval`` is divided by time. A MW that is delivered during ``interval`` is a MW
    for as much of an interval of the policy as both share; where the policy covers only a part of ``interval``, that
    part speaks for all of it.
    """
    family = family_of(name)
    if family is None:
        return []
    begin, end = _interval(interval)
    found = []
    for place, first, last in source.of(*family):
        shared = max(0.0, (min(end, last) - max(begin, first)).total_seconds())
        if shared > 0.0:
            found.append((place, shared, (last - first).total_seconds()))
    length, covered = (end - begin).total_seconds(), sum(shared for _, shared, _ in found)
    if family[0] == TRANSIT:
        return [(place, shared / length) for place, shared, _ in found]
    return [(place, shared / whole * (length / covered)) for place, shared, whole in found]


def _interval(text: tuple[str, str]) -> tuple[dt.datetime, dt.datetime]:
    return dt.datetime.fromisoformat(text[0]), dt.datetime.fromisoformat(text[1])

"""State other than storages and past inflows: water under way, and generation that is decided ahead."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.core.case import Case
from cobre.sddp.commitments import Commitments
from cobre.sddp.transit import Transit

DatedSlot = tuple[str, str] | None
"""First and last moment (ISO 8601) that a component of the state is about; None where it is about none."""


@dataclass(frozen=True)
class Carried:
    """The last components of the state."""

    transit: Transit
    commitments: Commitments

    @classmethod
    def of(cls, case: Case, *, is_open_ended: bool = False) -> Carried:
        """Of a case; ``is_open_ended`` if cuts price what follows its last stage."""
        return cls(Transit(case, is_open_ended=is_open_ended), Commitments(case))

    @property
    def names(self) -> list[str]:
        """Of the components."""
        return [*self.transit.names, *self.commitments.names]

    @property
    def seed(self) -> Floats:
        """``[component]``: as the study begins."""
        return np.concatenate([self.transit.seed, self.commitments.seed])

    def intervals(self, stage: int) -> tuple[DatedSlot, ...]:
        """By component, when the water arrives or the generation is delivered that ``stage`` hands on."""
        found = [*self.transit.intervals(stage), *self.commitments.intervals(stage)]
        return tuple(None if each is None else (_text(each[0]), _text(each[1])) for each in found)

    def commitment_limits(self, stage: int) -> tuple[Floats, Floats]:
        """``[commitment]``: limits of the deliveries that slots stand for as ``stage`` ends; 0 where for none."""
        found = [
            (0.0, 0.0)
            if delivery is None
            else self.commitments.limits(self.commitments.lanes[i].thermal, delivery)
            for (i, _), delivery in zip(
                self.commitments.components, self.commitments.deliveries(stage), strict=True
            )
        ]
        limits = np.array(found, dtype=np.float64).reshape(-1, 2)
        return limits[:, 0], limits[:, 1]


def _text(moment: dt.datetime) -> str:
    """A day, or a moment within one."""
    return moment.date().isoformat() if moment.time() == dt.time() else moment.isoformat()

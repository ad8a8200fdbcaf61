"""The components of a noise vector: all hydros, then buses with uncertain load, then sources with statistics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.scenarios import EntityClass

__all__ = ["ENTITY_CLASSES", "NoiseEntities"]

ENTITY_CLASSES: tuple[EntityClass, ...] = ("inflow", "load", "ncs")


@dataclass(frozen=True, slots=True)
class NoiseEntities:
    """The entities of a noise vector, each class in index order.

    ``load_buses`` are the indices of the buses whose load is uncertain in any stage, ``ncs_sources`` those of the
    non-controllable sources that have statistics.

    >>> entities = NoiseEntities(2, load_buses=(0, 4))
    >>> entities.n_entities, entities.position("load", 4), entities.position("load", 1)
    (4, 3, -1)
    """

    n_hydros: int
    load_buses: tuple[int, ...] = ()
    ncs_sources: tuple[int, ...] = ()

    @classmethod
    def of(cls, n_hydros: int, load_std_mw: Floats, ncs_has_statistics: NDArray[np.bool_]) -> NoiseEntities:
        """From the deviations of loads (buses, stages) and the sources that have statistics (sources)."""
        uncertain = (load_std_mw > 0.0).any(axis=1)
        return cls(
            n_hydros,
            tuple(np.flatnonzero(uncertain).tolist()),
            tuple(np.flatnonzero(ncs_has_statistics).tolist()),
        )

    @property
    def n_entities(self) -> int:
        return self.n_hydros + len(self.load_buses) + len(self.ncs_sources)

    def columns(self, entity_class: EntityClass) -> slice:
        """Where a class stands in the vector."""
        first_load = self.n_hydros
        first_ncs = first_load + len(self.load_buses)
        bounds = {
            "inflow": (0, first_load),
            "load": (first_load, first_ncs),
            "ncs": (first_ncs, self.n_entities),
        }
        return slice(*bounds[entity_class])

    def position(self, entity_class: EntityClass, index: int) -> int:
        """The column of one entity; -1 if it has no noise."""
        members = {
            "inflow": range(self.n_hydros),
            "load": self.load_buses,
            "ncs": self.ncs_sources,
        }[entity_class]
        return self.columns(entity_class).start + members.index(index) if index in members else -1

"""One study: the system, its horizon, its numbers and how to run it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobre.core.config import Config
from cobre.core.digest import LATER
from cobre.core.energy import EnergyConversion
from cobre.core.entities import System
from cobre.core.horizon import Horizon
from cobre.core.production import EvaporationReference, ProductionFit
from cobre.core.provenance import InflowProvenance, SetupSeconds
from cobre.core.representation import counted
from cobre.core.scenarios import InflowObservation, PastInflows, Scenarios
from cobre.core.tables import Tables, UnitGroup


@dataclass(frozen=True, slots=True)
class DatedValue:
    """What a plant did, or is to do, on the days from the first until before the last: m3/s or MW."""

    entity: int
    """Index of the hydro or thermal."""
    start_date: dt.date
    end_date: dt.date
    value: float


@dataclass(frozen=True)
class InitialState:
    """Where the study starts."""

    storage_hm3: NDArray[np.float64]
    """``[hydro]``."""
    past_inflows: tuple[PastInflows, ...] = ()
    observations: tuple[InflowObservation, ...] = ()
    """Inflows of days before the study, in the season under way."""
    defluences: tuple[DatedValue, ...] = field(default=(), metadata=LATER)
    """Water that hydros released before the study and that takes time to the plant below, m3/s."""
    commitments: tuple[DatedValue, ...] = field(default=(), metadata=LATER)
    """Generation of thermals that was decided before the study, MW."""

    def __repr__(self) -> str:
        parts = {
            "storages": len(self.storage_hm3),
            "past inflows": len(self.past_inflows),
            "observations": len(self.observations),
        }
        return f"<InitialState of {', '.join(f'{count} {name}' for name, count in parts.items() if count)}>"


@dataclass(frozen=True)
class Conventions:
    """What the same words mean in the generation of the format that a case is written in; these are of 0.5.1."""

    diversion_is_outflow: bool = True
    """Whether limits of the outflow count diverted water."""
    withdrawal_is_limited: bool = False
    """Whether a violation may at most undo the withdrawal; otherwise it has no limit."""
    counts_seasons: bool = True
    """Whether a lag whose season no stage has takes the statistics of another one: the seasons of the study are counted
    as if they were a whole cycle. Otherwise its coefficient counts as 0."""


@dataclass(frozen=True)
class Case:
    """A complete, validated study. Nothing in it depends on the order of entities or rows in files."""

    name: str
    system: System
    horizon: Horizon
    tables: Tables
    scenarios: Scenarios
    initial: InitialState
    config: Config
    conventions: Conventions = Conventions()
    production_fits: tuple[ProductionFit, ...] = ()
    """Production planes that were fitted to the data of plants; ``tables.hydro`` holds the planes, too."""
    evaporation_references: tuple[EvaporationReference, ...] = ()
    """Of the hydros that evaporate."""
    energy: EnergyConversion | None = None
    """Productivities of hydros, for energy in results and constraints; None in a case that was not read."""
    folder: str | None = field(default=None, compare=False)
    """Where it was read from, if it was; no part of what the study is."""
    fitting_report: str | None = field(default=None, compare=False, repr=False)
    """JSON: orders and coefficients of the inflow model, if it was fitted to a history."""
    inflow_provenance: InflowProvenance | None = field(default=None, compare=False, repr=False)
    """None in a case that was not read."""
    unit_groups: tuple[UnitGroup, ...] = field(default=(), compare=False, repr=False)
    """Of the hydros, in their order; for the dictionaries of results alone."""
    setup_seconds: SetupSeconds | None = field(default=None, compare=False, repr=False)
    """None in a case that was not read."""

    def __repr__(self) -> str:
        stages = counted(self.horizon.n_stages, "stage")
        return f"<Case {self.name!r} of {stages}: {self.system.described()}>"

    def _repr_html_(self) -> str:
        from cobre.core.pictures import case_html

        return case_html(self)

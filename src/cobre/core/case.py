"""One study: the system, its horizon, its numbers and how to run it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobre.core.config import Config
from cobre.core.energy import EnergyConversion
from cobre.core.entities import System
from cobre.core.horizon import Horizon
from cobre.core.production import EvaporationReference, ProductionFit
from cobre.core.provenance import InflowProvenance, SetupSeconds
from cobre.core.representation import counted
from cobre.core.scenarios import InflowObservation, PastInflows, Scenarios
from cobre.core.tables import Tables


@dataclass(frozen=True)
class InitialState:
    """Where the study starts."""

    storage_hm3: NDArray[np.float64]
    """``[hydro]``."""
    past_inflows: tuple[PastInflows, ...] = ()
    observations: tuple[InflowObservation, ...] = ()
    """Inflows of days before the study, in the season under way."""


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
    setup_seconds: SetupSeconds | None = field(default=None, compare=False, repr=False)
    """None in a case that was not read."""

    def __repr__(self) -> str:
        stages = counted(self.horizon.n_stages, "stage")
        return f"<Case {self.name!r} of {stages}: {self.system.described()}>"

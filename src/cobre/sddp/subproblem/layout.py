"""Where each quantity of a stage problem is found: its parameters, columns and rows.

Arrays hold column (or row) numbers of the template, ``ABSENT`` (-1) where the stage has none, with one axis
per noun: ``[hydro]``, ``[hydro, block]``, and so on, entities in id order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Indices


class ParameterLayout:
    """The vector that tells one solve of a stage from another.

    In order: incoming storage [hm3] by hydro; incoming lags [m3/s], all hydros of lag 1, then of lag 2, ...; water
    under way [hm3] by plant that it goes to, nearest stage first; commitments of thermals [MW]; inflow without its lag
    terms [m3/s] by hydro; load [MW] by bus and available power [MW] by non-controllable source, both before block
    factors. The first four are the incoming state. Where the stages of
    one season share it, the last lag gathers the inflow so far and has no part in the inflow.
    """

    def __init__(
        self, n_hydros: int, n_lags: int, n_buses: int, n_sources: int, n_transit: int, n_commitments: int
    ) -> None:
        self.n_hydros = n_hydros
        self.n_lags = n_lags
        sizes = (n_hydros, n_hydros * n_lags, n_transit, n_commitments, n_hydros, n_buses, n_sources)
        ends = tuple(accumulate(sizes, initial=0))
        self.storage, self.lags, self.transit, self.commitments, self.inflow, self.load, self.available = map(
            slice, ends, ends[1:]
        )
        self.state_dimension = self.commitments.stop
        self.state = slice(0, self.state_dimension)
        self.size = ends[-1]

    def numbers(self, part: slice) -> Indices:
        """Positions in the vector that ``part`` covers."""
        return np.arange(part.start, part.stop, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class StateColumns:
    """What comes in, what nature adds, and what the future costs."""

    incoming_storage: Indices
    """``[hydro]``, hm3."""
    incoming_lags: Indices
    """``[lag, hydro]``, m3/s."""
    inflow: Indices
    """``[hydro]``, m3/s, lag terms included."""
    storage: Indices
    """``[hydro]``, hm3 at the end of the stage."""
    future_cost: int
    """Expected cost from the next stage on, in its own money."""
    storage_before: Indices
    """``[hydro, block]``, hm3 as the block begins; of parallel blocks as the stage does."""
    storage_after: Indices
    """``[hydro, block]``, hm3 as the block ends; of parallel blocks as the stage does."""


@dataclass(frozen=True, eq=False)
class HydroColumns:
    """Decisions of hydros: ``[hydro, block]`` flows in m3/s, and ``[hydro]`` what holds for the whole stage.

    Evaporation is ``[hydro, period]``, a period being a block of a chronological stage, or the whole of another one.
    What turbines do is ``[cell, block]``: see `cobre.core.entities.System.cells`.
    """

    turbined: Indices
    """``[cell, block]``."""
    spillage: Indices
    diversion: Indices
    generation: Indices
    """``[cell, block]``: column whose value times ``generation_factor`` is the power: ``turbined``, or its own with
    planes."""
    generation_factor: Floats
    """``[cell]``: productivity in MW per m3/s, or 1."""
    has_planes: NDArray[np.bool_]
    """``[hydro]``: whether production planes rule in this stage."""
    turbined_below: Indices
    """``[cell, block]``."""
    outflow_below: Indices
    outflow_above: Indices
    generation_below: Indices
    """``[cell, block]``."""
    negative_inflow: Indices
    evaporation: Indices
    evaporation_above: Indices
    evaporation_below: Indices
    withdrawal_above: Indices
    withdrawal_below: Indices
    filling_below: Indices
    """``[hydro]``, hm3: by how much the storage misses its target of filling."""
    storage_below: Indices
    """``[hydro]``, hm3: by how much the storage misses its lowest one, of a plant that was filled in the study."""


@dataclass(frozen=True, eq=False)
class TransitColumns:
    """Water under way between plants, hm3, ``[component]`` as in `cobre.sddp.transit.Transit`."""

    incoming: Indices
    outgoing: Indices


@dataclass(frozen=True, eq=False)
class CommitmentColumns:
    """Generation that is decided ahead, MW."""

    incoming: Indices
    """``[component]`` as in `cobre.sddp.commitments.Commitments`."""
    outgoing: Indices
    """``[component]``."""
    decision: Indices
    """``[thermal]``: what this stage decides for a later one."""
    delivered: Indices
    """``[thermal]``: the incoming column that this stage must generate."""


@dataclass(frozen=True, eq=False)
class NetworkColumns:
    """Decisions in MW (pumping in m3/s), ``[entity, block]``."""

    thermal: Indices
    line_direct: Indices
    line_reverse: Indices
    deficit: Indices
    """``[segment, block]``: the segments of all buses, bus by bus."""
    deficit_bus: Indices
    """``[segment]``."""
    excess: Indices
    non_controllable: Indices
    pumping: Indices
    contract: Indices


@dataclass(frozen=True, eq=False)
class ConstraintColumns:
    """Violations of generic constraints, one per active (constraint, block) of the stage."""

    constraint: Indices
    """``[row]``: index of the constraint."""
    block: Indices
    """``[row]``: index of the block, -1 for a row of the whole stage."""
    above: Indices
    """``[row]``: by how much the expression passes its bound upwards."""
    below: Indices


@dataclass(frozen=True, eq=False)
class ColumnLayout:
    """All columns."""

    state: StateColumns
    hydro: HydroColumns
    network: NetworkColumns
    constraint: ConstraintColumns
    transit: TransitColumns
    commitment: CommitmentColumns


@dataclass(frozen=True, eq=False)
class StateRows:
    """Rows that carry the parameters of nature and of the incoming state."""

    incoming_storage: Indices
    """``[hydro]``: dual is the value of incoming water in $/hm3."""
    incoming_lags: Indices
    """``[lag, hydro]``."""
    inflow: Indices
    """``[hydro]``."""


@dataclass(frozen=True, eq=False)
class RowLayout(StateRows):
    """Rows whose duals are read."""

    water_balance: Indices
    """``[hydro, period]``: a period is a block of a chronological stage, or the whole of another one."""
    load_balance: Indices
    """``[bus, block]``: dual over block hours is the spot price."""
    constraint: Indices
    """``[row]`` as in :class:`ConstraintColumns`."""

"""Water that takes time from plant to plant: what arrives, and what is under way as the stage ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Indices
from cobre.sddp.subproblem.builder import ABSENT, INFINITY, LpBuilder
from cobre.sddp.subproblem.layout import HydroColumns, ParameterLayout, TransitColumns
from cobre.sddp.subproblem.naming import labels_of
from cobre.sddp.subproblem.scope import StageScope
from cobre.sddp.transit import StageTransit, Transit
from cobre.solver import Target


@dataclass(frozen=True, eq=False)
class Rivers:
    """The rivers of a stage that take time."""

    transit: Transit
    scope: StageScope

    def receiver(self, ring: int) -> int:
        """Who gets water that was on its way to a plant: the plant, or the next one that is there; -1 for the sea."""
        return int(self.scope.receiver[self.transit.rings[ring]])

    @cached_property
    def shares(self) -> StageTransit:
        return self.transit.at(self.scope.index)

    @cached_property
    def is_delayed(self) -> NDArray[np.bool_]:
        """``[hydro]``: whether its releases take time to the plant below."""
        delayed = np.zeros(len(self.scope.system.hydros), dtype=np.bool_)
        delayed[[arc.source for arc in self.transit.arcs]] = True
        return delayed

    @cached_property
    def at_once(self) -> Indices:
        """``[hydro]``: the hydro that receives its releases without delay; -1 if there is none."""
        return np.where(self.is_delayed, ABSENT, self.scope.downstream)

    def flow_shares(self) -> Floats:
        """``[arc, block of release, block of arrival]``: m3/s that arrive in a block for 1 m3/s released in another."""
        of_block, hours = self.scope.period_of_block, self.scope.hours
        n = len(hours)
        found = np.zeros((len(self.transit.arcs), n, n))
        for a, within in enumerate(self.shares.same_stage):
            if self.scope.is_chronological:
                found[a] = within * hours[:, None] / hours
            else:
                found[a] = np.eye(n) * within[of_block[:1], of_block[:1]]
        return found

    def arrival_rates(self) -> Floats:
        """``[ring, block]``: m3/s for 1 hm3 of bucket 1."""
        density, volume = self.shares.density, self.scope.period_hm3
        of_block = self.scope.period_of_block
        rates = [(each / volume)[of_block] for each in density]
        return np.array(rates).reshape(len(density), len(of_block))


def add_transit_columns(lp: LpBuilder, rivers: Rivers) -> TransitColumns:
    """Water under way as the stage begins and as it ends."""
    labels = _labels(rivers)
    return TransitColumns(
        incoming=lp.add_columns("incoming_transit", labels, lower=-INFINITY),
        outgoing=lp.add_columns("in_transit", labels),
    )


def add_transit_rows(
    lp: LpBuilder, rivers: Rivers, parameters: ParameterLayout, columns: TransitColumns, hydro: HydroColumns
) -> Indices:
    """``incoming = state``, which is returned; ``bucket d - incoming bucket d + 1 - released into it = 0``."""
    labels, transit = _labels(rivers), rivers.transit
    fixed = lp.add_rows("fix_transit", labels, lower=0.0, upper=0.0)
    lp.add_terms(fixed, columns.incoming, 1.0)
    lp.patch(Target.ROW_EQUAL, fixed, parameters.numbers(parameters.transit))
    rows = lp.add_rows("transit", labels, lower=0.0, upper=0.0)
    lp.add_terms(rows, columns.outgoing, 1.0)
    for first, depth in zip(transit.starts, transit.depth, strict=True):
        lp.add_terms(rows[first : first + depth - 1], columns.incoming[first + 1 : first + depth], -1.0)
    for arc, deposited in zip(transit.arcs, rivers.shares.deposited, strict=True):
        ring = transit.ring_of(arc)
        buckets = rows[transit.starts[ring] : transit.starts[ring] + transit.depth[ring]]
        volumes = deposited[rivers.scope.period_of_block] * rivers.scope.block_hm3[:, None]
        for flows in _releases(rivers.scope, hydro, arc.source):
            lp.add_terms(buckets[None, :], flows[:, None], -volumes)
    return fixed


def add_arrivals(
    lp: LpBuilder, rivers: Rivers, balance: Indices, columns: TransitColumns, hydro: HydroColumns
) -> None:
    """Into ``balance [hydro, period]``: what arrives of releases of the stage, and bucket 1."""
    transit, scope = rivers.transit, rivers.scope
    for arc, within in zip(transit.arcs, rivers.shares.same_stage, strict=True):
        receiver = rivers.receiver(transit.ring_of(arc))
        if receiver != ABSENT:
            volumes = within[scope.period_of_block] * scope.block_hm3[:, None]
            for flows in _releases(scope, hydro, arc.source):
                lp.add_terms(balance[receiver][None, :], flows[:, None], -volumes)
    for ring, (first, density) in enumerate(zip(transit.starts, rivers.shares.density, strict=True)):
        receiver = rivers.receiver(ring)
        if receiver != ABSENT and transit.depth[ring]:
            lp.add_terms(balance[receiver], columns.incoming[first], -density)


def _releases(scope: StageScope, hydro: HydroColumns, plant: int) -> list[Indices]:
    """``[block]`` columns of what a plant turbines, bus by bus, and spills."""
    cells = np.flatnonzero(scope.cell_hydro == plant)
    return [*hydro.turbined[cells], hydro.spillage[plant]]


def _labels(rivers: Rivers) -> list[str]:
    names = labels_of(rivers.scope.system.hydros)
    return [
        f"{names[ring]}#{lag + 1}"
        for ring, depth in zip(rivers.transit.rings, rivers.transit.depth, strict=True)
        for lag in range(depth)
    ]

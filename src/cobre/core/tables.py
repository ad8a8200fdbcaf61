"""Numbers that may change from stage to stage, resolved: overrides are already applied.

Every array has one row per entity and one column per stage, or per (stage, block) where the text says so. A limit or
price that a case gives by block has one column per (stage, block), otherwise one per stage:
`cobre.core.horizon.Horizon.over_blocks` makes the first of both. They are plain float64, so that they can lie in memory
that all ranks of a node share.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.digest import LATER
from cobre.core.representation import named_parts


@dataclass(frozen=True, eq=False)
class CellTables:
    """Limits of the units of a hydro at one bus, ``[cell, stage]`` or ``[cell, stage-block]``: `System.cells`."""

    min_turbined_m3s: Floats
    max_turbined_m3s: Floats
    """With a constant productivity at most what the generators can use."""
    min_generation_mw: Floats
    max_generation_mw: Floats
    share: Floats
    """``[cell]``: part of the plant's turbine capacity, which divides its production planes."""


@dataclass(frozen=True, eq=False)
class UnitGroup:
    """Units of a hydro that feed one bus, as files declare them: the program has those of a bus together, as a cell.

    Limits are ``[stage-block]``.
    """

    id: int
    """Within its plant."""
    name: str
    hydro: int
    bus: int
    """Indices, as of `cobre.core.entities.Cell`."""
    min_turbined_m3s: Floats
    max_turbined_m3s: Floats
    min_generation_mw: Floats
    max_generation_mw: Floats


@dataclass(frozen=True, eq=False)
class HydroTables:
    """Bounds and models of hydros, ``[hydro, stage]``; those of flows and power may be by block."""

    min_storage_hm3: Floats
    max_storage_hm3: Floats
    min_turbined_m3s: Floats
    max_turbined_m3s: Floats
    min_outflow_m3s: Floats
    max_outflow_m3s: Floats
    """Infinite where there is no limit."""
    min_generation_mw: Floats
    max_generation_mw: Floats
    max_diversion_m3s: Floats
    """Zero without a canal."""
    withdrawal_m3s: Floats
    productivity_mw_per_m3s: Floats
    """Of the stage, overrides applied; NaN where the plant is described by planes."""
    evaporation_base_m3s: Floats
    """``k0`` of the linearised evaporation ``k0 + kv * volume``; zero without evaporation."""
    evaporation_slope: Floats
    """``kv``, in m3/s per hm3."""
    plane_offsets: NDArray[np.int64]
    """``[hydro * n_stages + stage]`` to its first row of ``planes``; one longer than that product."""
    planes: Floats
    """Rows ``(constant, per hm3 of mean storage, per m3/s turbined, per m3/s spilled)`` in MW."""
    min_diversion_m3s: Floats | None = None
    """None, as the next two, where the case gives no such limit."""
    min_spillage_m3s: Floats | None = None
    max_spillage_m3s: Floats | None = None
    filling_target_hm3: Floats | None = None
    """Storage that a plant being filled should have reached, NaN where there is none; None if no plant is filled."""
    soft_min_storage_hm3: Floats | None = None
    """Lowest storage of a plant that was filled in the study, which may be violated at a price; NaN elsewhere."""
    cells: CellTables | None = None
    """Limits by bus; None where every plant is one cell with the plant's own limits."""

    def planes_of(self, hydro: int, stage: int) -> Floats:
        """Production planes of a plant in a stage; no rows where productivity is constant."""
        n_stages = self.min_storage_hm3.shape[1]
        first = hydro * n_stages + stage
        return self.planes[self.plane_offsets[first] : self.plane_offsets[first + 1]]


@dataclass(frozen=True, eq=False)
class HydroCosts:
    """Prices per unit and hour of what hydros do, ``[hydro, stage]``."""

    spillage: Floats
    turbined: Floats
    diversion: Floats
    turbined_below: Floats
    outflow_below: Floats
    outflow_above: Floats
    generation_below: Floats
    evaporation_above: Floats
    """For evaporating more than the formula says ("pos" in the case files)."""
    evaporation_below: Floats
    withdrawal_above: Floats
    withdrawal_below: Floats
    negative_inflow: Floats
    storage_below: Floats
    """Per hm3, whatever the hours; so is the next one."""
    filling_target: Floats


@dataclass(frozen=True, eq=False)
class ThermalTables:
    """Bounds (maybe by block) and costs of thermals, ``[thermal, stage]``; no power where a plant does not operate."""

    min_generation_mw: Floats
    max_generation_mw: Floats
    cost_per_mwh: Floats


@dataclass(frozen=True, eq=False)
class LineTables:
    """Limits of lines ``[line, stage, block]`` flattened to ``[line, stage-block]``, factors applied."""

    direct_mw: Floats
    reverse_mw: Floats
    exchange_cost_per_mwh: Floats
    """``[line, stage]``."""


@dataclass(frozen=True, eq=False)
class BusTables:
    """Load and prices at buses."""

    excess_cost_per_mwh: Floats
    """``[bus, stage]``."""
    load_mean_mw: Floats
    """``[bus, stage]``."""
    load_std_mw: Floats
    """``[bus, stage]``."""
    load_factor: Floats
    """``[bus, stage-block]``."""


@dataclass(frozen=True, eq=False)
class NonControllableTables:
    """What non-controllable sources can give."""

    installed_mw: Floats
    """``[source, stage]``; zero where the source does not operate."""
    curtailment_cost_per_mwh: Floats
    """``[source, stage]``."""
    mean: Floats
    """Share of the installed power, ``[source, stage]``; one without statistics."""
    std: Floats
    """``[source, stage]``; zero without statistics."""
    factor: Floats
    """``[source, stage-block]``."""
    has_statistics: NDArray[np.bool_]
    """``[source]``: whether the source has an entry in the noise vector."""


@dataclass(frozen=True, eq=False)
class PumpingTables:
    """Hard flow limits ``[station, stage]``, maybe by block."""

    min_flow_m3s: Floats
    max_flow_m3s: Floats


@dataclass(frozen=True, eq=False)
class ContractTables:
    """Limits and prices ``[contract, stage]``, maybe by block."""

    min_mw: Floats
    max_mw: Floats
    price_per_mwh: Floats


@dataclass(frozen=True, eq=False)
class ConstraintTables:
    """Bounds of generic constraints: one entry per active row, sorted by constraint, stage, block."""

    constraint: NDArray[np.int64]
    stage: NDArray[np.int64]
    block: NDArray[np.int64]
    """Of the row; -1 for a row about stocks, which exists once in the stage."""
    lower: Floats
    """Minus infinity where there is none."""
    upper: Floats
    """Infinity where there is none."""
    parameters: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """``[parameter, stage-block]``: numbers that terms are multiplied by."""


@dataclass(frozen=True, eq=False)
class OperationTables:
    """Codes ``[entity, stage]`` of whether an entity is there; None where all always operate.

    0 not yet there, 1 filling its dead volume, 2 operating, 3 gone.
    """

    hydro: NDArray[np.int8] | None = None
    thermal: NDArray[np.int8] | None = None
    line: NDArray[np.int8] | None = None
    non_controllable: NDArray[np.int8] | None = None
    pumping: NDArray[np.int8] | None = None
    contract: NDArray[np.int8] | None = None


@dataclass(frozen=True, eq=False)
class PostStudyTables:
    """What thermals that are decided ahead may do after the study, ``[thermal, stage]``; NaN where it is not given."""

    min_mw: Floats
    max_mw: Floats
    cost_per_mwh: Floats


@dataclass(frozen=True, eq=False)
class Tables:
    """Everything that varies by stage."""

    hydro: HydroTables
    hydro_costs: HydroCosts
    thermal: ThermalTables
    line: LineTables
    bus: BusTables
    non_controllable: NonControllableTables
    pumping: PumpingTables
    contract: ContractTables
    constraint: ConstraintTables
    operation: OperationTables = field(default_factory=OperationTables)
    post_study: PostStudyTables | None = field(default=None, metadata=LATER)

    __repr__ = named_parts

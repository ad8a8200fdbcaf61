"""Numbers that may change from stage to stage, resolved: overrides are already applied.

Every array has one row per entity (in id order) and one column per stage, or per (stage, block) where the
name says so. They are plain float64, so that they can lie in memory that all ranks of a node share.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cobre.core.representation import named_parts

FloatTable = NDArray[np.float64]


@dataclass(frozen=True)
class HydroTables:
    """Bounds and models of hydros, ``[hydro, stage]``."""

    min_storage_hm3: FloatTable
    max_storage_hm3: FloatTable
    min_turbined_m3s: FloatTable
    max_turbined_m3s: FloatTable
    min_outflow_m3s: FloatTable
    max_outflow_m3s: FloatTable
    """Infinite where there is no limit."""
    min_generation_mw: FloatTable
    max_generation_mw: FloatTable
    max_diversion_m3s: FloatTable
    """Zero without a canal."""
    withdrawal_m3s: FloatTable
    productivity_mw_per_m3s: FloatTable
    """Of the stage, overrides applied; NaN where the plant is described by planes."""
    evaporation_base_m3s: FloatTable
    """``k0`` of the linearised evaporation ``k0 + kv * volume``; zero without evaporation."""
    evaporation_slope: FloatTable
    """``kv``, in m3/s per hm3."""
    plane_offsets: NDArray[np.int64]
    """``[hydro * n_stages + stage]`` to its first row of ``planes``; one longer than that product."""
    planes: FloatTable
    """Rows ``(constant, per hm3 of mean storage, per m3/s turbined, per m3/s spilled)`` in MW."""

    def planes_of(self, hydro: int, stage: int) -> FloatTable:
        """Production planes of a plant in a stage; no rows where productivity is constant."""
        n_stages = self.min_storage_hm3.shape[1]
        first = hydro * n_stages + stage
        return self.planes[self.plane_offsets[first] : self.plane_offsets[first + 1]]


@dataclass(frozen=True)
class HydroCosts:
    """Prices per unit and hour of what hydros do, ``[hydro, stage]``."""

    spillage: FloatTable
    fpha_turbined: FloatTable
    diversion: FloatTable
    turbined_below: FloatTable
    outflow_below: FloatTable
    outflow_above: FloatTable
    generation_below: FloatTable
    evaporation_above: FloatTable
    """For evaporating more than the formula says ("pos" in the case files)."""
    evaporation_below: FloatTable
    withdrawal_above: FloatTable
    withdrawal_below: FloatTable
    negative_inflow: FloatTable


@dataclass(frozen=True)
class ThermalTables:
    """Bounds and costs of thermals, ``[thermal, stage]``; zero bounds where the plant does not operate."""

    min_generation_mw: FloatTable
    max_generation_mw: FloatTable
    cost_per_mwh: FloatTable


@dataclass(frozen=True)
class LineTables:
    """Limits of lines ``[line, stage, block]`` flattened to ``[line, stage-block]``, factors applied."""

    direct_mw: FloatTable
    reverse_mw: FloatTable
    exchange_cost_per_mwh: FloatTable
    """``[line, stage]``."""


@dataclass(frozen=True)
class BusTables:
    """Load and prices at buses."""

    excess_cost_per_mwh: FloatTable
    """``[bus, stage]``."""
    load_mean_mw: FloatTable
    """``[bus, stage]``."""
    load_std_mw: FloatTable
    """``[bus, stage]``."""
    load_factor: FloatTable
    """``[bus, stage-block]``."""


@dataclass(frozen=True)
class NonControllableTables:
    """What non-controllable sources can give."""

    installed_mw: FloatTable
    """``[source, stage]``; zero where the source does not operate."""
    curtailment_cost_per_mwh: FloatTable
    """``[source, stage]``."""
    mean: FloatTable
    """Share of the installed power, ``[source, stage]``; one without statistics."""
    std: FloatTable
    """``[source, stage]``; zero without statistics."""
    factor: FloatTable
    """``[source, stage-block]``."""
    has_statistics: NDArray[np.bool_]
    """``[source]``: whether the source has an entry in the noise vector."""


@dataclass(frozen=True)
class PumpingTables:
    """Hard flow limits ``[station, stage]``."""

    min_flow_m3s: FloatTable
    max_flow_m3s: FloatTable


@dataclass(frozen=True)
class ContractTables:
    """Limits and prices ``[contract, stage]``."""

    min_mw: FloatTable
    max_mw: FloatTable
    price_per_mwh: FloatTable


@dataclass(frozen=True)
class ConstraintTables:
    """Bounds of generic constraints: one entry per active row, sorted by constraint, stage, block."""

    constraint: NDArray[np.int64]
    stage: NDArray[np.int64]
    block: NDArray[np.int64]
    """A row whose bound was given for every block appears once per block."""
    bound: FloatTable


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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

    __repr__ = named_parts

"""Plants, buses and stages of a small study in a few words: what `make_case` of ``sddp.cases`` takes.

A number that may vary by stage is given once for all stages or as one value per stage; what varies by block
too is given once, or per block of every stage in turn. Entities refer to each other by position in their list.
With ``hours=UNIT_HOURS`` one m3/s during a block is one hm3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cobre.core.horizon import RiskMeasure

UNIT_HOURS = 1.0 / 0.0036
INFINITE = float("inf")
ByStage = float | Sequence[float]


@dataclass
class StageSpec:
    """A month with blocks of the given hours."""

    hours: float | Sequence[float] = 1.0
    openings: int = 1
    discount: float = 1.0
    risk: RiskMeasure = field(default_factory=RiskMeasure)
    sampling: Any = "saa"


@dataclass
class BusSpec:
    """Load in MW before block factors, and the price of not serving it."""

    load: ByStage = 0.0
    deficit: Sequence[tuple[float | None, float]] = ((None, 1000.0),)
    excess_cost: ByStage = 0.0
    load_std: ByStage = 0.0
    load_factor: ByStage = 1.0


@dataclass
class ThermalSpec:
    max_mw: ByStage = 100.0
    cost: ByStage = 10.0
    min_mw: ByStage = 0.0
    bus: int = 0


@dataclass
class LineSpec:
    source: int = 0
    target: int = 1
    direct_mw: ByStage = 100.0
    reverse_mw: ByStage = 100.0
    cost: ByStage = 0.0
    losses_percent: float = 0.0


@dataclass
class HydroSpec:
    """A reservoir with turbines; ``costs`` holds prices of :class:`HydroCosts` that are not zero.

    ``planes`` are rows (constant, per mean hm3, per turbined m3/s, per spilled m3/s), the same in all stages
    or one list per stage in a tuple; they replace ``productivity`` where there are any.
    ``lags`` are standardised coefficients from lag 1 on, the same in all stages.
    """

    bus: int = 0
    downstream: int | None = None
    initial: float = 0.0
    min_storage: ByStage = 0.0
    max_storage: ByStage = 100.0
    min_turbined: ByStage = 0.0
    max_turbined: ByStage = 1000.0
    min_outflow: ByStage = 0.0
    max_outflow: ByStage = INFINITE
    min_generation: ByStage = 0.0
    max_generation: ByStage = INFINITE
    productivity: ByStage = 1.0
    planes: Sequence[Sequence[float]] | tuple[Sequence[Sequence[float]], ...] = ()
    diversion: int | None = None
    max_diversion: ByStage = 0.0
    withdrawal: ByStage = 0.0
    evaporation: tuple[ByStage, ByStage] | None = None
    """Base in m3/s and slope in m3/s per hm3."""
    inflow: ByStage = 0.0
    inflow_std: ByStage = 0.0
    lags: Sequence[float] = ()
    residual_ratio: float = 1.0
    past: Sequence[float] = ()
    costs: dict[str, ByStage] = field(default_factory=dict)


@dataclass
class SourceSpec:
    """A non-controllable source; ``mean`` is the share of the installed power."""

    installed: ByStage = 10.0
    cost: ByStage = 0.0
    mean: ByStage = 1.0
    std: ByStage = 0.0
    factor: ByStage = 1.0
    has_statistics: bool = False
    bus: int = 0


@dataclass
class PumpSpec:
    source: int = 0
    destination: int = 1
    max_flow: ByStage = 10.0
    min_flow: ByStage = 0.0
    consumption: float = 0.0
    bus: int = 0


@dataclass
class ContractSpec:
    price: ByStage = 1.0
    max_mw: ByStage = 10.0
    min_mw: ByStage = 0.0
    is_import: bool = True
    bus: int = 0


@dataclass
class ConstraintSpec:
    """Terms are (coefficient, variable, entity) or (coefficient, variable, entity, block).

    ``bounds`` are (stage, block, value); without it ``bound`` holds in every block of every stage.
    """

    terms: Sequence[tuple[Any, ...]]
    sense: Any = "<="
    bound: float = 0.0
    penalty: float | None = None
    bounds: Sequence[tuple[int, int, float]] | None = None

"""Plants, buses and stages of a small study in a few words: what `make_case` of ``sddp.cases`` takes.

A number that may vary by stage is given once for all stages or as one value per stage; what varies by block
too is given once, or per block of every stage in turn. Entities refer to each other by position in their list.
With ``hours=UNIT_HOURS`` one m3/s during a block is one hm3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, make_dataclass
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


def _spec(name: str, doc: str, **defaults: Any) -> Any:
    """A dataclass of these fields; a type as the default stands for an empty one of its own for each."""
    fields = [
        (key, Any, field(default_factory=value) if isinstance(value, type) else value)
        for key, value in defaults.items()
    ]
    return make_dataclass(name, fields, namespace={"__doc__": doc, "__module__": __name__})


ThermalSpec = _spec("ThermalSpec", "All but the bus by stage.", max_mw=100.0, cost=10.0, min_mw=0.0, bus=0)
LineSpec = _spec(
    "LineSpec", "Limits and cost by stage.",
    source=0, target=1, direct_mw=100.0, reverse_mw=100.0, cost=0.0, losses_percent=0.0,
)  # fmt: skip
HydroSpec = _spec(
    "HydroSpec",
    """A reservoir with turbines; ``costs`` holds prices of :class:`HydroCosts` that are not zero.

    By stage are limits, ``productivity``, ``withdrawal``, inflows and costs. ``evaporation`` is None or a pair, each
    by stage: base in m3/s, slope in m3/s per hm3. ``planes`` are rows (constant, per mean hm3, per turbined m3/s, per
    spilled m3/s), the same in all stages or one list per stage in a tuple; they replace ``productivity`` where there
    are any. ``lags`` are standardised coefficients from lag 1 on, the same in all stages.
    """,
    bus=0, downstream=None, initial=0.0,
    min_storage=0.0, max_storage=100.0, min_turbined=0.0, max_turbined=1000.0,
    min_outflow=0.0, max_outflow=INFINITE, min_generation=0.0, max_generation=INFINITE,
    productivity=1.0, planes=(), diversion=None, max_diversion=0.0, withdrawal=0.0, evaporation=None,
    inflow=0.0, inflow_std=0.0, lags=(), residual_ratio=1.0, past=(), costs=dict,
)  # fmt: skip
SourceSpec = _spec(
    "SourceSpec",
    "A non-controllable source; ``mean`` is the share of the installed power. Numbers are by stage.",
    installed=10.0, cost=0.0, mean=1.0, std=0.0, factor=1.0, has_statistics=False, bus=0,
)  # fmt: skip
PumpSpec = _spec(
    "PumpSpec", "Flows by stage.",
    source=0, destination=1, max_flow=10.0, min_flow=0.0, consumption=0.0, bus=0,
)  # fmt: skip
ContractSpec = _spec(
    "ContractSpec", "Price and limits by stage.", price=1.0, max_mw=10.0, min_mw=0.0, is_import=True, bus=0
)


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

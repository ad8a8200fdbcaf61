"""Power of hydro plants as a function of storage, turbined flow and spill.

`ProductionFunction` computes the exact power from the forebay curve, the tailrace, hydraulic losses and efficiency;
`fit_planes` replaces it by planes that a linear program can use. `linearise_evaporation` and the equivalent
productivities of `cobre.production.energy` come from the same plant data.
"""

from __future__ import annotations

from cobre._lazy import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from cobre.production.curve import Curve
    from cobre.production.evaporation import linearise_evaporation
    from cobre.production.fit import FitSettings, fit_planes
    from cobre.production.function import Losses, ProductionFunction

__all__ = ["Curve", "FitSettings", "Losses", "ProductionFunction", "fit_planes", "linearise_evaporation"]

__getattr__ = lazy_names(
    __name__,
    {
        "Curve": "cobre.production.curve",
        "linearise_evaporation": "cobre.production.evaporation",
        **dict.fromkeys(("FitSettings", "fit_planes"), "cobre.production.fit"),
        **dict.fromkeys(("Losses", "ProductionFunction"), "cobre.production.function"),
    },
)

"""Plants of the check values."""

from __future__ import annotations

from cobre.production import Curve, FitSettings, Losses, ProductionFunction
from cobre.production.tailrace import PolynomialTailrace

D07 = ProductionFunction(
    Curve((0.0, 50.0, 100.0, 150.0, 200.0), (50.0, 70.0, 85.0, 95.0, 100.0)),
    max_turbined_m3s=50.0,
    max_generation_mw=50.0,
    losses=Losses(factor=0.03),
    efficiency=0.92,
)
D07_GRID = FitSettings(0.0, 200.0)

SOBRADINHO = ProductionFunction(
    Curve((0.0, 2000.0, 10000.0, 24500.0, 34116.0), (386.5, 390.0, 396.0, 400.5, 401.3)),
    max_turbined_m3s=3000.0,
    max_generation_mw=1000.0,
    tailrace=PolynomialTailrace((0.0, 0.001)),
    losses=Losses(constant_m=2.0),
    efficiency=0.92,
)
SOBRADINHO_GRID = FitSettings(0.0, 34116.0)

CONCAVE = ProductionFunction(
    Curve((0.0, 10000.0, 20000.0, 30000.0), (380.0, 396.0, 404.0, 408.0)),
    max_turbined_m3s=3000.0,
    max_generation_mw=1e9,
    tailrace=PolynomialTailrace((0.0, 0.0008, -2e-8)),
    losses=Losses(constant_m=2.0),
    efficiency=0.92,
)
CONCAVE_GRID = FitSettings(0.0, 30000.0, 6, 6)

"""How long the noise of a large simulation takes: 2,000 scenarios, 60 stages, 160 plants, in one correlation group.

The last figure goes on to inflows in m³/s, through the six lags of an autoregression.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np
from opening_tree import months
from record import publish, seconds

from cobre.core.config import ScenarioSource
from cobre.core.scenarios import Correlation, CorrelationGroup
from cobre.stochastic import (
    Correlator,
    ForwardSampler,
    InflowModel,
    LagTransition,
    NoiseEntities,
    generate_tree,
)
from cobre.stochastic.methods import POINT_METHODS

N_SCENARIOS, N_STAGES, N_PLANTS, N_OPENINGS, N_LAGS = 2000, 60, 160, 20, 6
BLOCK = 250
"""Scenarios whose lags stay in the processor's cache; any number gives the same bits."""


def correlation() -> Correlation:
    """One group with all plants."""
    matrix = np.corrcoef(np.random.default_rng(0).normal(size=(N_PLANTS, 2 * N_PLANTS)))
    entities = tuple(("inflow", i) for i in range(N_PLANTS))
    group = CorrelationGroup("all", entities, tuple(map(tuple, matrix.tolist())))
    return Correlation({"default": (group,)}, "default")


def main() -> None:
    """Every figure is the noise of all scenarios and stages, correlated if it says so."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    entities = NoiseEntities(N_PLANTS)
    correlator = Correlator(correlation(), entities)
    figures: dict[str, float] = {}
    for method in POINT_METHODS:
        stages = months(method, N_STAGES, N_OPENINGS)
        tree = generate_tree(42, stages, N_PLANTS)
        for name, chosen in (("independent", None), ("correlated", correlator)):
            source = ScenarioSource(inflow="out_of_sample", seed=7)
            sampler = ForwardSampler(tree, 42, stages, entities, source, N_SCENARIOS, chosen)
            measure(figures, f"out of sample, {method}, {name}", sampler)
    measure(figures, "in sample", ForwardSampler(tree, 42, stages, entities, ScenarioSource(), N_SCENARIOS))
    source, stages = ScenarioSource(inflow="out_of_sample", seed=7), months("saa", N_STAGES, N_OPENINGS)
    sampler = ForwardSampler(tree, 42, stages, entities, source, N_SCENARIOS, correlator)
    clock, processor = seconds(partial(inflows, sampler))
    name = f"inflows of saa, correlated, {N_LAGS} lags"
    figures[f"{name}, by the clock"], figures[f"{name}, processor"] = clock, processor
    publish("scenarios", "s", figures)


def inflows(sampler: ForwardSampler) -> None:
    """Noise of all scenarios, and the inflows that it gives with the lags before; by blocks, as ranks and chunks do."""
    shape = (N_STAGES, N_PLANTS)
    psi = np.full((N_STAGES, N_LAGS, N_PLANTS), 0.1)
    model = InflowModel(psi, np.full(shape, 20.0), np.full(shape, 40.0))
    transition = LagTransition.build(sampler.stages, N_LAGS)
    for first in range(0, N_SCENARIOS, BLOCK):
        noise = sampler.sample(0, range(first, min(first + BLOCK, N_SCENARIOS)))
        lags = np.full((len(noise), N_LAGS, N_PLANTS), 100.0)
        for t in range(N_STAGES):
            lags = transition.advance(t, lags, model.inflow(t, lags, noise[:, t]))


def measure(figures: dict[str, float], name: str, sampler: ForwardSampler) -> None:
    """Add the time by the clock and that of the processor, on one core."""
    clock, processor = seconds(partial(sampler.sample, 0, range(N_SCENARIOS)))
    figures[f"{name}, by the clock"], figures[f"{name}, processor"] = clock, processor


if __name__ == "__main__":
    main()

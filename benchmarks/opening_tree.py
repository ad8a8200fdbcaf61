"""How long the noise of a large study takes: 120 stages, 100 openings, 160 entities, in one correlation group."""

from __future__ import annotations

import datetime as dt
import statistics
import time
from collections.abc import Callable

import numpy as np
from record import publish

from cobre.core.config import ScenarioSource
from cobre.core.horizon import Stage
from cobre.core.scenarios import Correlation, CorrelationGroup
from cobre.stochastic import Correlator, ForwardSampler, NoiseEntities, generate_tree

N_STAGES, N_OPENINGS, N_ENTITIES, N_PROFILES, ROUNDS = 120, 100, 160, 12, 5


def months(method: str, n_stages: int = N_STAGES, n_openings: int = N_OPENINGS) -> list[Stage]:
    """So many months from January 2024 on."""
    starts = [dt.date(2024 + m // 12, m % 12 + 1, 1) for m in range(n_stages + 1)]
    return [
        Stage(t, starts[t], starts[t + 1], (), n_openings, season_id=t % 12, sampling_method=method)
        for t in range(n_stages)
    ]


def correlation(n_profiles: int) -> Correlation:
    """As many profiles of one group with all entities, in turn over the stages."""
    entities = tuple(("inflow", i) for i in range(N_ENTITIES))
    profiles = {}
    for k in range(n_profiles):
        data = np.random.default_rng(k).normal(size=(N_ENTITIES, 2 * N_ENTITIES))
        matrix = tuple(map(tuple, np.corrcoef(data).tolist()))
        profiles[str(k)] = (CorrelationGroup("all", entities, matrix),)
    return Correlation(profiles, "0", {t: str(t % n_profiles) for t in range(N_STAGES)})


def median_ms(call: Callable[[], object]) -> float:
    """Median over rounds, after one that warms up."""
    call()
    samples = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        call()
        samples.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(samples)


def fresh(given: Correlation, entities: NoiseEntities) -> object:
    """Noise of 100 trajectories."""
    stages = months("saa")
    tree = generate_tree(42, stages[:1], N_ENTITIES)
    source = ScenarioSource(inflow="out_of_sample", seed=42)
    sampler = ForwardSampler(tree, 42, stages, entities, source, 100, Correlator(given, entities))
    return sampler.sample(1, range(100))


def main() -> None:
    """Every figure is a whole tree, the roots of the correlation matrices included."""
    entities, one, many = NoiseEntities(N_ENTITIES), correlation(1), correlation(N_PROFILES)

    def tree(method: str, given: Correlation | None) -> float:
        stages = months(method)
        return median_ms(lambda: generate_tree(42, stages, N_ENTITIES, Correlator(given, entities)))

    publish(
        "opening_tree",
        "ms",
        {
            "saa, independent": tree("saa", None),
            "saa, one correlation profile": tree("saa", one),
            "saa, twelve correlation profiles": tree("saa", many),
            "lhs, independent": tree("lhs", None),
            "lhs, one correlation profile": tree("lhs", one),
            "fresh noise of 100 scenarios, one correlation profile": median_ms(lambda: fresh(one, entities)),
        },
    )


if __name__ == "__main__":
    main()

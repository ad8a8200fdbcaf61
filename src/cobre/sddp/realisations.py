"""What may happen in each node of the policy graph: the openings of its stage, some of them, or one given scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cobre.arrays import Floats
from cobre.core.graph import PolicyGraph
from cobre.core.scenarios import EntityClass
from cobre.sddp.nature import Nature
from cobre.stochastic import ExternalScenarios

Realisations = tuple[Floats, Floats | None]
"""``[opening, value]`` as parameters of the stage, and their probabilities; None if they are all equally likely."""


def realisations(
    nature: Nature, graph: PolicyGraph, openings: Sequence[Floats], probabilities: Mapping[int, Floats]
) -> list[Realisations]:
    """By node."""
    pinned = _pinned(nature, graph)
    found: list[Realisations] = []
    for k, node in enumerate(graph.nodes):
        if k in pinned:
            found.append((pinned[k], None))
        elif node.opening_probabilities is not None:
            shares = np.array(node.opening_probabilities)
            is_possible = shares > 0.0
            found.append((openings[node.stage][is_possible], shares[is_possible]))
        else:
            found.append((openings[node.stage], probabilities.get(node.stage)))
    return found


def _pinned(nature: Nature, graph: PolicyGraph) -> dict[int, Floats]:
    """By position: the single realisation of a node that is pinned to a scenario."""
    if all(node.scenario is None for node in graph.nodes):
        return {}
    external = nature.external
    found: dict[int, Floats] = {}
    lags = {0: nature.initial_lags}  # of each node, along the way to it; a pinned node has one way
    for k, node in enumerate(graph.nodes):
        if node.scenario is None:
            continue
        past = lags.get(k)
        found[k] = _values(nature, external, node.stage, node.scenario, past)
        if past is not None:
            inflow = found[k][0, : nature.entities.n_hydros] + nature.inflow.lag_term(node.stage, past)
            following = nature.transition.advance(node.stage, past, inflow)
            lags.update(dict.fromkeys(node.children, following))
    return found


def _values(
    nature: Nature,
    external: Mapping[EntityClass, ExternalScenarios],
    stage: int,
    scenario: int,
    lags: Floats | None,
) -> Floats:
    """``[1, value]``: what ``scenario`` of the files gives in ``stage``; classes without a file are at their means."""
    of = nature.entities
    values = nature.values(stage, np.zeros((1, of.n_entities)))
    system = nature.case.system
    n_hydros, n_buses = len(system.hydros), len(system.buses)
    if "inflow" in external:
        given = external["inflow"].values[stage][scenario]
        past = 0.0 if lags is None else nature.inflow.lag_term(stage, lags)
        values[0, :n_hydros] = given - past
    if "load" in external:
        values[0, n_hydros + np.array(of.load_buses, dtype=np.int64)] = np.maximum(
            0.0, external["load"].values[stage][scenario]
        )
    if "ncs" in external:
        sources = np.array(of.ncs_sources, dtype=np.int64)
        installed = nature.case.tables.non_controllable.installed_mw[sources, stage]
        share = np.clip(external["ncs"].values[stage][scenario], 0.0, 1.0)
        values[0, n_hydros + n_buses + sources] = share * installed
    return values

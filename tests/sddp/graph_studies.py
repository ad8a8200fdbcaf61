"""Studies whose stages branch. Ranks of MPI import this where there is no pytest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cobre.core.config import CutSelection, ScenarioSource
from cobre.core.graph import Node, PolicyGraph
from cobre.core.horizon import RiskMeasure
from cobre.core.scenarios import GivenScenarios
from sddp.specs import StageSpec
from sddp.studies import study
from sddp.trained import settings, with_training

LAGS = {"lags": [0.5], "residual_ratio": 0.8, "past": [18.0], "costs": {"negative_inflow": 30.0}}
RISK = RiskMeasure(weight=0.5, tail=0.4)
WET, DRY = (0.7, 0.3), (0.0, 1.0)


def with_graph(case, nodes):
    return replace(case, horizon=replace(case.horizon, graph=PolicyGraph(tuple(nodes))))


def climates(rare=0.3):
    """Four stages with a wet and a dry climate, which change or stay: ways meet again."""
    stay, change = (1.0 - rare, rare), (rare, 1.0 - rare)
    return [
        Node(10, 0, (1, 2), change),
        *(Node(20 + k, 1, (3, 4), (stay, change)[k], None, (WET, DRY)[k]) for k in range(2)),
        *(Node(30 + k, 2, (5, 6), (stay, change)[k], None, (WET, DRY)[k]) for k in range(2)),
        *(Node(40 + k, 3, (), (), None, (WET, DRY)[k]) for k in range(2)),
    ]


def chain_nodes(n=4):
    return [Node(7 * k, k, (k + 1,), (1.0,)) if k + 1 < n else Node(7 * k, k) for k in range(n)]


TREE = [
    Node(0, 0, (1, 2), (0.35, 0.65), 0),
    Node(1, 1, (3, 4), (0.6, 0.4), 0),
    Node(2, 1, (5, 6, 7), (0.25, 0.25, 0.5), 1),
    *(Node(3 + k, 2, (8 + k,), (1.0,), scenario) for k, scenario in enumerate((0, 1, 0, 1, 2))),
    *(Node(8 + k, 3, (), (), scenario) for k, scenario in enumerate((0, 1, 2, 0, 1))),
]
"""Four stages, five paths, every node pinned to a scenario."""


def pinned(nodes=TREE, iterations=40, **others):
    """Inflows and the load of the first bus come from files."""
    random = np.random.default_rng(5)
    case = study(
        [StageSpec((200.0, 100.0), 1, others.pop("discount", 1.0), others.pop("risk", RiskMeasure()))] * 4,
        load_std=4.0,
        **others,
    )
    grid = np.meshgrid(np.arange(4), np.arange(3), np.arange(2), indexing="ij")
    stage, scenario, entity = (part.ravel() for part in grid)
    inflow = GivenScenarios(stage, scenario, entity, random.uniform(1.0, 22.0, len(stage)))
    of_load = entity == 0
    load = GivenScenarios(
        stage[of_load], scenario[of_load], entity[of_load], random.uniform(22.0, 40.0, int(of_load.sum()))
    )
    case = replace(case, scenarios=replace(case.scenarios, external_inflow=inflow, external_load=load))
    source = ScenarioSource("external", "external", seed=7)
    leaves = sum(not node.children for node in nodes)
    training = settings(iterations, leaves, is_enumerated=True, scenario_source=source)
    return with_graph(with_training(case, training), nodes)


def _multi_cut(case):
    return with_training(case, replace(case.config.training, is_multi_cut=True))


def graph_cases(iterations=40):
    """Sampled and enumerated, with everything that passes over nodes treat in a way of their own."""
    two = [StageSpec((200.0, 100.0), 2)] * 4
    risky = [StageSpec((200.0, 100.0), 2, 0.95, RISK)] * 4
    some = settings(iterations, 9)
    domination = settings(iterations, 9, cut_selection=CutSelection("domination", check_frequency=4))
    level1 = settings(iterations, 9, cut_selection=CutSelection("level1", check_frequency=5))
    return {
        "climates": with_graph(study(two, training=some), climates()),
        "a rare climate": with_graph(study(two, training=settings(iterations, 5)), climates(0.05)),
        "climates and CVaR": with_graph(study(risky, training=some), climates()),
        "climates and lags": with_graph(
            study(two, hydro=LAGS, non_negativity="penalty", training=some), climates()
        ),
        "clamped inflows": with_graph(study(two, non_negativity="truncation", training=some), climates()),
        "domination": with_graph(study(two, training=domination), climates()),
        "level1": with_graph(study(two, training=level1), climates()),
        "multi-cut": with_graph(study(risky, training=replace(some, is_multi_cut=True)), climates()),
        "a multi-cut tree": _multi_cut(pinned(discount=0.95, risk=RISK)),
        "a tree": pinned(),
        "a tree and CVaR": pinned(discount=0.95, risk=RISK),
        "a tree and lags": pinned(hydro=LAGS, non_negativity="penalty"),
    }


def few(case, iterations=8):
    return with_training(
        case, replace(case.config.training, stopping_rules=settings(iterations).stopping_rules)
    )


def graph_digests(comm, threads=1):
    """Of all of them, trained on this group for a few iterations."""
    from cobre.sddp.training import train
    from sddp.trained import digest

    return {name: digest(train(comm, few(case), threads=threads)) for name, case in graph_cases().items()}

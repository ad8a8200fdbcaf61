"""Random cases whose stages have several nodes: trees of external inflows, and graphs with openings."""

from __future__ import annotations

from random import Random
from typing import Any

from format_018.mixtures import OTHERWISE, with_time
from format_018.random_cases import random_case, rounded
from format_018.small import Case018

LONG = [
    {"type": "iteration_limit", "limit": 200},
    {"type": "bound_stalling", "iterations": 30, "tolerance": 1e-12},
]
INFLOWS = "scenarios/external_inflow_scenarios.parquet"
NOISY = ("lags", "load_noise", "method")
"""Elements whose noise would have to be external, too, beside `OTHERWISE`."""


def random_tree(seed: int) -> Case018:
    """Every node has one scenario of inflows; all paths are enumerated."""
    draw = Random(f"{seed} tree")
    case = with_time(random_case(seed, leaves_out=NOISY + OTHERWISE), seed, is_public=True)
    stages, layers = case.documents["stages.json"], [[0]]
    nodes: list[dict[str, Any]] = [{"id": 0, "stage_id": 0, "scenario_id": 0}]
    transitions = []
    for stage in range(1, len(case.hours)):
        layers.append([])
        for parent in layers[stage - 1]:
            shares = [draw.randint(1, 4) for _ in range(draw.choice((1, 2, 2)))]
            for share in shares:
                number = len(nodes)
                nodes.append({"id": number, "stage_id": stage, "scenario_id": len(layers[stage])})
                probability = share / sum(shares)
                transitions.append({"source_id": parent, "target_id": number, "probability": probability})
                layers[stage].append(number)
    stages["policy_graph"].update(nodes=nodes, transitions=transitions)
    for stage in stages["stages"]:
        del stage["num_openings"]
    case.tables[INFLOWS] = [
        {"stage_id": stage, "scenario_id": k, "hydro_id": hydro, "value_m3s": rounded(draw, 5.0, 60.0)}
        for stage, layer in enumerate(layers)
        for k in range(len(layer))
        for hydro in case.inflows
    ]
    del case.tables["scenarios/noise_openings.parquet"]
    training = case.documents["config.json"]["training"]
    training["selection"] = {"method": "enumerated"}
    training["scenario_source"] = {"seed": 1, "inflow": {"scheme": "external"}}
    training["stopping_rules"] = [
        {"type": "iteration_limit", "limit": 200},
        {"type": "bound_stalling", "iterations": 8, "tolerance": 1e-12},
    ]
    return case


def random_sampled(seed: int) -> Case018:
    """Two nodes in every stage but the first, each with the openings of the stage; paths are sampled."""
    draw = Random(f"{seed} graph")
    case = with_time(random_case(seed, leaves_out=OTHERWISE), seed, is_public=True)
    nodes: list[dict[str, Any]] = [{"id": 0, "stage_id": 0}]
    transitions = []
    layer = [0]
    for stage in range(1, len(case.hours)):
        below = [len(nodes), len(nodes) + 1]
        nodes += [{"id": number, "stage_id": stage} for number in below]
        for parent in layer:
            first = rounded(draw, 0.3, 0.7)
            transitions += [
                {"source_id": parent, "target_id": number, "probability": share}
                for number, share in zip(below, (first, 1.0 - first), strict=True)
            ]
        layer = below
    case.documents["stages.json"]["policy_graph"].update(nodes=nodes, transitions=transitions)
    del case.tables["scenarios/noise_openings.parquet"]  # the public program takes none beside nodes
    training = case.documents["config.json"]["training"]
    training["scenario_source"] = {"seed": 7, "openings": {"source": "generated"}}
    training["selection"]["forward_passes"] = (
        4  # with more it ends where a branch is drawn more often than usual
    )
    training["stopping_rules"] = LONG
    return case

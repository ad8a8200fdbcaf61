"""Everything a rank needs to train: the programs of the stages, the random data, and the initial state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cobre.arrays import Floats
from cobre.comm import GroupMember
from cobre.core.case import Case
from cobre.core.config import ScenarioSource
from cobre.core.graph import PolicyGraph
from cobre.core.horizon import Stage, cumulative_discounts
from cobre.errors import ValidationError
from cobre.sddp.carried import Carried
from cobre.sddp.forecast import Forecast, open_forecast
from cobre.sddp.itinerary import survival_of
from cobre.sddp.kept_problems import problems_of
from cobre.sddp.nature import Nature
from cobre.sddp.realisations import realisations
from cobre.sddp.stage import StageModel
from cobre.sddp.subproblem import StageProblem, build_stage_problems
from cobre.sddp.truncation import Histories, Truncation, lag_ranges, truncations
from cobre.solver import ThreadPool


@dataclass(frozen=True, eq=False)
class Workspace:
    """One rank's view of a study."""

    graph: PolicyGraph
    nodes: list[StageModel]
    """By position in the graph."""
    models: list[StageModel]
    """One for each cut pool: of every node with a future, and of all leaves; of a chain, of every stage."""
    stages: tuple[Stage, ...]
    problems: list[StageProblem]
    """By stage."""
    forecast: Forecast
    discounts: Floats
    """``[stage]``: what brings a stage's cost to the first."""
    initial_state: Floats
    state_names: list[str]
    n_inflow_lags: int
    lag_ranges: Callable[[], list[tuple[Floats, Floats]]]
    """The least and greatest lags, each ``[lag, hydro]``, that stages begin with, and that the last one leaves."""

    @property
    def state_dimension(self) -> int:
        return len(self.initial_state)


def open_workspace(
    comm: GroupMember,
    case: Case,
    source: ScenarioSource | None = None,
    n_scenarios: int | None = None,
    *,
    end_cost_bound: float | None = None,
    threads: int = 1,
) -> Workspace:
    """Collective: build every stage's program; openings are made once per node.

    Trajectories take their noise from ``source``, by default from that of training; there are ``n_scenarios`` of them
    over all ranks, by default the forward passes of training. What follows the last stage costs at least
    ``end_cost_bound``, and nothing if it is None. ``threads`` of this rank share its solves.
    """
    _check(case)
    nature = Nature.of(case, source)
    graph = case.horizon.policy_graph
    if graph.is_cyclic:
        end_cost_bound = _least_cost_after_a_round(case, nature, graph)
    problems = problems_of(case, nature, end_cost_bound)
    openings, forecast, probabilities = open_forecast(comm, nature, n_scenarios)
    given = realisations(nature, graph, openings, probabilities)
    clamps = _truncations(case, nature, graph, problems, [rows for rows, _ in given])
    pool = ThreadPool(threads) if threads > 1 else None
    nodes: list[StageModel] = []
    for k, (node, (rows, shares), clamp) in enumerate(zip(graph.nodes, given, clamps, strict=True)):
        owner = graph.pool_nodes[graph.pools[k]]
        model = StageModel(
            nature.stages[node.stage],
            problems[node.stage],
            rows,
            clamp,
            case.config.training.retries,
            shares,
            pool,
            None if case.horizon.graph is None else node,
            None if owner == k else nodes[owner],
        )
        model.node = node
        model.pool.comm = comm
        model.counts_future = not node.children and end_cost_bound is not None
        nodes.append(model)
    return Workspace(
        graph=graph,
        nodes=nodes,
        models=[nodes[k] for k in graph.pool_nodes],
        stages=nature.stages,
        problems=problems,
        forecast=forecast,
        discounts=cumulative_discounts(nature.stages),
        initial_state=np.concatenate(
            [case.initial.storage_hm3, nature.initial_lags.ravel(), problems[0].carried.seed]
        ),
        state_names=[*_state_names(nature), *problems[0].carried.names],
        n_inflow_lags=nature.inflow.n_lags,
        lag_ranges=partial(_lag_ranges, case, nature, graph, [rows for rows, _ in given]),
    )


def _least_cost_after_a_round(case: Case, nature: Nature, graph: PolicyGraph) -> float:
    """What follows the last stage of a cycle at least: below 0 only where something earns money.

    A round that costs ``a`` at least is followed by another one with the probability and discount of the cycle.
    """
    problems = build_stage_problems(case, nature.inflow, nature.transition, end_cost_bound=0.0)
    least = problems[graph.cycle_start or 0].least_cost
    if least == 0.0:
        return 0.0
    probability = sum(graph.nodes[-1].probabilities)
    return probability * least / (1.0 - survival_of(graph, case.horizon.stages))


def _truncations(
    case: Case, nature: Nature, graph: PolicyGraph, problems: list[StageProblem], given: list[Floats]
) -> list[Truncation] | list[None]:
    """By node; what inflows can be in a stage depends on all its nodes."""
    if not _is_truncated(case):
        return [None] * len(graph)
    of_stages = truncations(_histories(case, nature, graph, given))
    n_hydros = len(case.system.hydros)
    return [
        replace(of_stages[node.stage], noise_m3s=rows[:, :n_hydros])
        for node, rows in zip(graph.nodes, given, strict=True)
    ]


def _is_truncated(case: Case) -> bool:
    return case.config.inflow_non_negativity.startswith("truncation")


def _lag_ranges(
    case: Case, nature: Nature, graph: PolicyGraph, given: list[Floats]
) -> list[tuple[Floats, Floats]]:
    return lag_ranges(_histories(case, nature, graph, given))


def _histories(case: Case, nature: Nature, graph: PolicyGraph, given: list[Floats]) -> Histories:
    n_hydros, stages = len(case.system.hydros), range(len(graph.of_stage))
    is_truncated = _is_truncated(case)
    return Histories(
        [nature.lag_coefficients(stage) for stage in stages],
        [(nature.inflow.sigma[stage] > 0.0) & is_truncated for stage in stages],
        [np.concatenate([given[k][:, :n_hydros] for k in nodes]) for nodes in graph.of_stage],
        nature.initial_lags,
        nature.transition.advance,
    )


def _check(case: Case) -> None:
    if not case.config.training.stopping_rules:
        raise ValidationError(
            "there is no stopping rule, so that training would never end",
            kind="IncompatibleSettings",
            context={"file": "config.json", "field": "training.stopping_rules"},
            suggestion="give an iteration_limit, a time_limit or a bound_stalling",
        )


def state_names_of(case: Case, carried: Carried | None = None) -> list[str]:
    """Names of the components of a state of ``case``, in order."""
    carried = Carried.of(case) if carried is None else carried
    return [*_state_names(Nature.of(case)), *carried.names]


def _state_names(nature: Nature) -> list[str]:
    """Stable names of the state's components, by id."""
    ids = [hydro.id for hydro in nature.case.system.hydros]
    n_lags = nature.inflow.n_lags
    parts = ["storage", *(f"inflow_lag{lag + 1}" for lag in range(n_lags))]
    parts += ["inflow_so_far"] * (nature.n_components - n_lags)
    return [f"{part}:{id}" for part in parts for id in ids]

"""The policy graph of ``stages.json`` as `cobre.core.graph` has it."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.core.graph import Node, PolicyGraph, normalised
from cobre.io.read.stages import StagesRecord, TransitionRecord


def build_graph(record: StagesRecord) -> PolicyGraph | None:
    """The graph; None if the stages are a chain that ends. The order of the file does not matter."""
    index = {id: k for k, id in enumerate(sorted(stage.id for stage in record.stages))}
    if record.policy_graph.nodes:
        return _of_nodes(record, index)
    if record.policy_graph.type == "cyclic":
        return _of_cycle(record, index)
    return None


def back_transition(record: StagesRecord) -> TransitionRecord:
    """What leads from the last stage back to an earlier one; by default to the first, for sure."""
    ids = sorted(stage.id for stage in record.stages)
    for transition in record.policy_graph.transitions:
        if transition.source_id == ids[-1]:
            return transition
    return TransitionRecord(source_id=ids[-1], target_id=ids[0], probability=1.0)


def _of_nodes(record: StagesRecord, index: dict[int, int]) -> PolicyGraph:
    # What names an unknown stage or node is an error that validation reports; other checks go on without it.
    known = [node for node in record.policy_graph.nodes if node.stage_id in index]
    given = sorted(known, key=lambda node: (index[node.stage_id], node.id))
    place = {node.id: k for k, node in enumerate(given)}
    following: dict[int, list[tuple[int, float]]] = {}
    for edge in record.policy_graph.transitions:
        if edge.target_id not in place:
            continue
        following.setdefault(edge.source_id, []).append((place[edge.target_id], float(edge.probability)))
    nodes = []
    for node in given:
        edges = sorted(following.get(node.id, []))
        nodes.append(
            Node(
                node.id,
                index[node.stage_id],
                tuple(child for child, _ in edges),
                _shares([probability for _, probability in edges]),
                node.scenario_id,
                None if node.opening_probabilities is None else normalised(node.opening_probabilities),
                node.label or "",
            )
        )
    return PolicyGraph(tuple(nodes))


def _shares(probabilities: Sequence[float]) -> tuple[float, ...]:
    return normalised(probabilities) if probabilities else ()


def _of_cycle(record: StagesRecord, index: dict[int, int]) -> PolicyGraph:
    chain = PolicyGraph.chain(len(index)).nodes
    back = back_transition(record)
    last = Node(len(index) - 1, len(index) - 1, (index[back.target_id],), (float(back.probability),))
    return PolicyGraph((*chain[:-1], last))

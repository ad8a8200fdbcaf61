"""Checks of the policy graph: nodes, edges, cycles, and what the ways through it need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from cobre.core.graph import PolicyGraph
from cobre.io.assemble.graph import build_graph
from cobre.io.problems import Place, Problems
from cobre.io.read.config import EnumeratedRecord
from cobre.io.read.files import CaseFiles
from cobre.io.read.stages import NodeRecord, TransitionRecord
from cobre.io.validate.cycle import check_cycle
from cobre.io.validate.naming import known, listed
from cobre.io.validate.noise_members import CLASSES, members_of, sources_of

FILE, CONFIG = "stages.json", "config.json"
TOLERANCE = 1e-6


def check_graph(files: CaseFiles, problems: Problems) -> None:
    """Report nodes and edges that are no graph of this study, and settings that the graph does not allow."""
    graph = files.stages.policy_graph
    if graph.type == "cyclic":
        check_cycle(files, problems)
        if graph.nodes:
            return
    n_before = len(problems.errors)
    if graph.nodes:
        _check_nodes(files, problems)
        _check_edges(files, problems)
    if len(problems.errors) > n_before or CONFIG in files.unusable:
        return
    built = None if graph.type == "cyclic" else build_graph(files.stages)
    if graph.nodes and built is not None:
        _check_ways(built, problems)
        _check_realisations(files, problems)
    if len(problems.errors) == n_before and graph.type != "cyclic":
        _check_enumerated(files, built, problems)


def _report(
    problems: Problems,
    kind: str,
    entity: str,
    field: str,
    value: Any,
    message: str,
    remedy: str,
    **rule: str,
) -> None:
    problems.error(kind, Place(FILE, entity, field, value), message, remedy, **rule)


def _check_nodes(files: CaseFiles, problems: Problems) -> None:
    nodes = files.stages.policy_graph.nodes
    stages = sorted(stage.id for stage in files.stages.stages)
    ids = [node.id for node in nodes]
    for twice in sorted({id for id in ids if ids.count(id) > 1}):
        _report(
            problems,
            "DuplicateId",
            f"node {twice}",
            "policy_graph.nodes.id",
            twice,
            f"there are {ids.count(twice)} nodes {twice}",
            "give each node its own id",
        )
    for node in nodes:
        if node.stage_id not in stages:
            _report(
                problems,
                "MissingReference",
                f"node {node.id}",
                "policy_graph.nodes.stage_id",
                node.stage_id,
                f"there is no stage {node.stage_id}",
                known(stages),
            )
    empty = [stage for stage in stages if all(node.stage_id != stage for node in nodes)]
    if empty:
        _report(
            problems,
            "CoverageMismatch",
            f"stage {empty[0]}",
            "policy_graph.nodes.stage_id",
            empty,
            f"stage {listed(empty)} has no node",
            "give every stage a node",
        )
    roots = sorted(node.id for node in nodes if node.stage_id == stages[0])
    if len(roots) > 1:
        _report(
            problems,
            "IncompatibleSettings",
            f"stage {stages[0]}",
            "policy_graph.nodes.stage_id",
            roots,
            f"the first stage has the nodes {listed(roots)}",
            "begin with one node",
        )


def _check_edges(files: CaseFiles, problems: Problems) -> None:
    stage_of = {node.id: node.stage_id for node in files.stages.policy_graph.nodes}
    following = dict(pairwise(sorted(stage.id for stage in files.stages.stages)))
    by_source: dict[int, list[TransitionRecord]] = {}
    for edge in files.stages.policy_graph.transitions:
        entity = f"transition {edge.source_id} -> {edge.target_id}"
        unknown = [id for id in (edge.source_id, edge.target_id) if id not in stage_of]
        if unknown:
            field = "source_id" if edge.source_id in unknown else "target_id"
            place = (entity, f"policy_graph.transitions.{field}", unknown[0])
            message = f"there is no node {listed(unknown)}"
            _report(problems, "MissingReference", *place, message, known(list(stage_of)))
            continue
        by_source.setdefault(edge.source_id, []).append(edge)
        here, there = stage_of[edge.source_id], stage_of[edge.target_id]
        if here in following and following[here] != there:
            _report(
                problems,
                "IncompatibleSettings",
                entity,
                "policy_graph.transitions.target_id",
                edge.target_id,
                f"leads from stage {here} to stage {there}, which is not the next one",
                f"lead to a node of stage {following[here]}",
                rule="5b.39" if there > here else "5b.38.3",
            )
        if edge.annual_discount_rate_override is not None:
            _report(
                problems,
                "IncompatibleSettings",
                entity,
                "policy_graph.transitions.annual_discount_rate_override",
                edge.annual_discount_rate_override,
                "a graph with nodes has no discount rates on its edges",
                f"set annual_discount_rate_override of stage {here}",
            )
    filled = set(stage_of.values())
    for node in files.stages.policy_graph.nodes:
        if following.get(node.stage_id, node.stage_id) in filled:
            _check_probabilities(node, by_source.get(node.id, []), node.stage_id in following, problems)


def _check_probabilities(
    node: NodeRecord, edges: Sequence[TransitionRecord], has_future: bool, problems: Problems
) -> None:
    entity, field = f"node {node.id}", "policy_graph.transitions.probability"
    if has_future and not edges:
        message = f"nothing follows it, and stage {node.stage_id} is not the last one"
        place = (entity, "policy_graph.transitions.source_id", node.id)
        _report(problems, "CoverageMismatch", *place, message, "add transitions to nodes of the next stage")
    if edges and not has_future:
        message = f"stage {node.stage_id} is the last one, and transitions lead on from there"
        place = (entity, "policy_graph.transitions.source_id", node.id)
        _report(problems, "IncompatibleSettings", *place, message, "remove them", rule="5b.38.3")
    targets = [edge.target_id for edge in edges]
    twice = sorted({target for target in targets if targets.count(target) > 1})
    if twice:
        place = (entity, "policy_graph.transitions.target_id", twice[0])
        message = f"several transitions lead to node {listed(twice)}"
        _report(problems, "DuplicateId", *place, message, "add their probabilities up in one")
    total = sum(edge.probability for edge in edges)
    if edges and (total <= 0.0 or any(edge.probability == 0.0 for edge in edges)):
        message = "a transition has the probability 0"
        _report(
            problems, "OutOfRange", entity, field, 0.0, message, "remove it, or give it a probability above 0"
        )
    elif edges and abs(total - 1.0) > TOLERANCE:
        problems.warn(
            "OutOfRange",
            Place(FILE, entity, field, total),
            f"the probabilities of its transitions sum to {total:g} and are divided by that",
            "make them sum to 1",
        )


def _check_ways(graph: PolicyGraph, problems: Problems) -> None:
    lost = [node.id for k, node in enumerate(graph.nodes) if k and not graph.parents[k]]
    if lost:
        place = (f"node {lost[0]}", "policy_graph.transitions.target_id", lost)
        message = f"nothing leads to node {listed(lost)}"
        _report(problems, "CoverageMismatch", *place, message, "add a transition to it, or remove the node")


def _check_realisations(files: CaseFiles, problems: Problems) -> None:
    """What happens in a node: a scenario of the files, or openings of the stage."""
    by_stage = {stage.id: stage for stage in files.stages.stages}
    schemes = _schemes(files)
    for node in files.stages.policy_graph.nodes:
        entity = f"node {node.id}"
        stage = by_stage[node.stage_id]
        if node.scenario_id is not None:
            _check_scenario(files, node, schemes, problems)
        elif stage.num_openings is None:
            place = (entity, "num_openings", None)
            message = f"it has no scenario_id, and stage {stage.id} has no num_openings"
            is_external = "external" in schemes["training"].values()
            rule = "5b.36" if is_external else "5b.41"
            _report(problems, "SchemaViolation", *place, message, "give one of them", rule=rule)
        shares = node.opening_probabilities
        if shares is not None:
            _check_shares(node, shares, stage.num_openings, schemes, problems)


def _schemes(files: CaseFiles) -> dict[str, Mapping[str, str]]:
    """By phase: the scheme of each class that has noise."""
    sources = sources_of(files)
    found: dict[str, Mapping[str, str]] = {}
    for phase in ("training", "simulation"):
        source = sources.get(phase) or sources.get("training")
        found[phase] = {
            name: "in_sample" if source is None else str(getattr(source, name).scheme)
            for name in CLASSES
            if members_of(files, name)
        }
    return found


def _check_scenario(
    files: CaseFiles, node: NodeRecord, schemes: Mapping[str, Mapping[str, str]], problems: Problems
) -> None:
    entity, field = f"node {node.id}", "policy_graph.nodes.scenario_id"
    for phase, of_phase in schemes.items():
        other = [name for name, scheme in of_phase.items() if scheme != "external"]
        if other:
            _report(
                problems,
                "IncompatibleSettings",
                entity,
                field,
                node.scenario_id,
                f"scenario_id pins a node to external scenarios, but {phase}.scenario_source.{other[0]}.scheme is "
                f"{of_phase[other[0]]}",
                f"set the scheme of {listed(other)} to external in {CONFIG}, or remove scenario_id",
            )
            return
    for name in schemes["training"]:
        table = files.tables[f"external_{name}"]
        if table.file.path in files.damaged or table.file.path not in files.present:
            continue
        rows = table["scenario_id"][table["stage_id"] == node.stage_id]
        n = int(rows.max(initial=-1)) + 1
        if node.scenario_id is not None and node.scenario_id >= n:
            message = f"{table.file.path} has the scenarios 0 to {n - 1} in stage {node.stage_id}"
            _report(problems, "OutOfRange", entity, field, node.scenario_id, message, "name one of these")
    if node.opening_probabilities is not None:
        place = (entity, "policy_graph.nodes.opening_probabilities", list(node.opening_probabilities))
        message = "a node that is pinned to a scenario has no openings"
        _report(
            problems, "IncompatibleSettings", *place, message, "remove scenario_id or opening_probabilities"
        )


def _check_shares(
    node: NodeRecord,
    shares: Sequence[float],
    n_openings: int | None,
    schemes: Mapping[str, Mapping[str, str]],
    problems: Problems,
) -> None:
    entity, field = f"node {node.id}", "policy_graph.nodes.opening_probabilities"
    if n_openings is not None and len(shares) != n_openings:
        message = f"it has {len(shares)} probabilities for the {n_openings} openings of stage {node.stage_id}"
        _report(
            problems, "CoverageMismatch", entity, field, len(shares), message, "give one for each opening"
        )
    if abs(sum(shares) - 1.0) > TOLERANCE:
        message = f"they sum to {sum(shares):g}"
        _report(problems, "OutOfRange", entity, field, sum(shares), message, "make them sum to 1")
    for phase, of_phase in schemes.items():
        other = [name for name, scheme in of_phase.items() if scheme != "in_sample"]
        if other:
            place = (entity, field, list(shares))
            message = f"they are about openings, but {phase}.scenario_source.{other[0]}.scheme is {of_phase[other[0]]}"
            remedy = f"set it to in_sample in {CONFIG}"
            _report(problems, "IncompatibleSettings", *place, message, remedy)
            return


def _check_enumerated(files: CaseFiles, graph: PolicyGraph | None, problems: Problems) -> None:
    """Enumerating needs a tree and one realisation in each node."""
    training, simulation = files.config.training, files.config.simulation
    wanted = [
        field
        for field, selection in (
            ("training.selection.method", training.selection),
            ("simulation.selection.method", None if simulation is None else simulation.selection),
        )
        if isinstance(selection, EnumeratedRecord)
    ]
    if not wanted:
        return
    several = sorted(
        stage.id for stage in files.stages.stages if stage.n_openings > 1 and _has_free_node(files, stage.id)
    )
    reasons = []
    if graph is not None and not graph.is_tree:
        meeting = [
            node.id for node, parents in zip(graph.nodes, graph.parents, strict=True) if len(parents) > 1
        ]
        reasons.append((f"several ways lead to node {listed(meeting)}", "use sampled, or copy these nodes"))
    if several:
        reasons.append(
            (
                f"stage {listed(several)} has several openings in a node",
                "use sampled, or pin each node to one external scenario with scenario_id",
            )
        )
    for field in wanted:
        for message, remedy in reasons:
            problems.error(
                "IncompatibleSettings",
                CONFIG,
                f"enumerated takes every way through the graph once, but {message}",
                remedy,
                field=field,
                value="enumerated",
            )


def _has_free_node(files: CaseFiles, stage: int) -> bool:
    nodes = files.stages.policy_graph.nodes
    return not nodes or any(node.stage_id == stage and node.scenario_id is None for node in nodes)

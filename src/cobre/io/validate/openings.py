"""Checks of openings that a case gives, and of what nodes leave of openings and sampling methods."""

from __future__ import annotations

from cobre.io.problems import Place, Problems
from cobre.io.read.config import EnumeratedRecord
from cobre.io.read.files import CaseFiles
from cobre.io.read.stages import StageRecord
from cobre.io.validate.naming import listed

CONFIG, STAGES, OPENINGS = "config.json", "stages.json", "scenarios/noise_openings.parquet"
SOURCE = "training.scenario_source.openings.source"


def check_openings(files: CaseFiles, problems: Problems) -> None:
    """Report a file of openings that is missing or not used, and settings of stages that nodes make idle."""
    if not files.generation.is_018 or CONFIG in files.unusable:
        return
    source = files.config.training.scenario_source
    is_wanted = source is not None and source.openings is not None and source.openings.source == "file"
    if is_wanted and OPENINGS not in files.present:
        problems.error(
            "MissingFile",
            OPENINGS,
            f"is missing, but {SOURCE} is file",
            f"add the file, or set {SOURCE} to generated",
            field=SOURCE,
            value="file",
        )
    elif not is_wanted and OPENINGS in files.present:
        problems.warn(
            "IncompatibleSettings",
            OPENINGS,
            f"is not used: {SOURCE} is not file",
            f'set {SOURCE} to "file" in {CONFIG}, or remove the file',
            field=SOURCE,
            value=None if source is None or source.openings is None else source.openings.source,
        )
    if is_wanted:
        _check_conflicts(files, problems)
    if files.stages.policy_graph.nodes:
        for stage in sorted(files.stages.stages, key=lambda stage: stage.id):
            _check_stage(files, stage, problems)
        _check_alike(files, problems)


def _check_conflicts(files: CaseFiles, problems: Problems) -> None:
    """A tree of openings is one of stages, each opening once."""
    is_enumerated = isinstance(files.config.training.selection, EnumeratedRecord)
    if is_enumerated or files.stages.policy_graph.nodes:
        other = "training.selection is enumerated" if is_enumerated else "stages.json has nodes"
        problems.error(
            "IncompatibleSettings",
            CONFIG,
            f"{SOURCE} is file, and {other}",
            "let openings be generated, or remove the nodes and use sampled",
            field=SOURCE,
            value="file",
            rule="5b.43",
        )


def _check_stage(files: CaseFiles, stage: StageRecord, problems: Problems) -> None:
    nodes = [node for node in files.stages.policy_graph.nodes if node.stage_id == stage.id]
    if not nodes:
        return
    if any(node.scenario_id is None for node in nodes):
        return
    without_effect: list[tuple[str, int | str, str]] = []
    if stage.num_openings is not None:
        without_effect.append(("num_openings", stage.num_openings, "5b.41"))
    if stage.sampling_method != "saa":
        without_effect.append(("sampling_method", stage.sampling_method, "5b.44"))
    for field, value, rule in without_effect:
        place = Place(STAGES, f"stage {stage.id}", field, value)
        message = f"{field} = {value!r} has no effect: every node of the stage is pinned to a scenario"
        problems.warn("IncompatibleSettings", place, message, "remove it", rule=rule)


def _check_alike(files: CaseFiles, problems: Problems) -> None:
    """Nodes of one stage after which the same can happen: one of them would do."""
    graph = files.stages.policy_graph
    futures: dict[int, list[tuple[int, float]]] = {node.id: [] for node in graph.nodes}
    for edge in graph.transitions:
        if edge.source_id in futures and edge.target_id in futures:
            futures[edge.source_id].append((edge.target_id, float(edge.probability)))
    kinds: dict[tuple[object, ...], int] = {}
    kind_of: dict[int, int] = {}
    twins: dict[int, list[int]] = {}
    for node in sorted(graph.nodes, key=lambda each: -each.stage_id):
        after = tuple(sorted((kind_of.get(target, -1), share) for target, share in futures[node.id]))
        key = (node.stage_id, node.scenario_id, node.opening_probabilities, after)
        kind_of[node.id] = kinds.setdefault(key, len(kinds))
        twins.setdefault(kind_of[node.id], []).append(node.id)
    alike = [sorted(nodes) for nodes in twins.values() if len(nodes) > 1]
    if alike:
        first = min(alike)
        stage_id = next(node.stage_id for node in graph.nodes if node.id == first[0])
        problems.warn(
            "IncompatibleSettings",
            Place(STAGES, f"node {first[0]}", "policy_graph.nodes", first),
            f"the nodes {listed(first)} of stage {stage_id} are alike, and so is what follows them"
            + (f"; so are {len(alike) - 1} more groups of nodes" if len(alike) > 1 else ""),
            "use one node in place of them, to have fewer cuts to compute; the optimum is the same",
            rule="5b.40",
        )

"""Layer 4: is there as much of everything as there must be?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from cobre.io.assemble.constraints import parse_constraint
from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.production import EQUIVALENT, Production, planes_of, production_of
from cobre.io.problems import Place, Problems
from cobre.io.read.columns import ABSENT
from cobre.io.read.constraints.expression import ExpressionError
from cobre.io.read.constraints.generic_constraints import GenericConstraintRecord
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydro_production_models import StageRangesRecord
from cobre.io.read.system.hydros import HydroRecord
from cobre.io.validate.block_rows import check_block_rows, refuse_block
from cobre.io.validate.naming import called, listed
from cobre.io.validate.noise import check_noise
from cobre.io.validate.parameters import check_constraint_rows, check_parameters


def check_dimensions(files: CaseFiles, problems: Problems) -> None:
    """Report gaps: blocks, factors, planes, bounds, coefficients, noises."""
    _check_blocks(files, problems)
    blocks = {stage.id: len(stage.blocks) for stage in files.stages.stages}
    _check_factors(files, blocks, problems)
    _check_constraint_blocks(files, blocks, problems)
    check_block_rows(files, blocks, problems)
    check_constraint_rows(files, problems)
    check_parameters(files, problems)
    if not files.known_ids["bus"] and "system/buses.json" not in files.unusable:
        problems.error(
            "CoverageMismatch",
            "system/buses.json",
            "has no bus",
            "add at least one bus",
            field="buses",
            value=[],
        )
    _check_production(files, problems)
    _check_evaporation(files, problems)
    check_noise(files, problems)


def _check_blocks(files: CaseFiles, problems: Problems) -> None:
    for stage in files.stages.stages:
        ids = sorted(block.id for block in stage.blocks)
        if ids != list(range(len(ids))):
            problems.error(
                "CoverageMismatch",
                Place("stages.json", f"stage {stage.id}", "blocks.id", ids),
                f"its blocks have the ids {listed(ids)}, which do not count 0, 1, 2, …",
                f"number the blocks 0 to {len(ids) - 1}",
            )
    if "stages.json" in files.damaged:
        return
    ids = sorted(stage.id for stage in files.stages.stages)
    for before, after in pairwise(ids):
        if after > before + 1 and not files.generation.is_018:
            problems.error(
                "StageMismatch",
                Place("stages.json", f"stage {after}", "stages.id", after),
                f"stage {before} is followed by stage {after}; {after - before - 1} in between are missing",
                f"add the missing stages, or renumber stage {after} and those after it",
            )


def _check_factors(files: CaseFiles, blocks: Mapping[int, int], problems: Problems) -> None:
    def check(file: str, owner: str, stage_id: int, ids: Iterable[int]) -> None:
        seen: set[int] = set()
        for block_id in ids:
            count = blocks.get(stage_id)
            wrong = count is not None and not 0 <= block_id < count
            if wrong or block_id in seen:
                problems.error(
                    "MissingReference" if wrong else "DuplicateId",
                    Place(file, f"{owner}, stage {stage_id}", "block_factors.block_id", block_id),
                    f"block_id = {block_id}, but stage {stage_id} has blocks 0 to {(count or 1) - 1}"
                    if wrong
                    else f"block_id = {block_id} is there twice",
                    "give each block of the stage one factor",
                )
            seen.add(block_id)

    for load in files.load_factors.load_factors:
        ids = [factor.block_id for factor in load.block_factors]
        check("scenarios/load_factors.json", f"load factors of bus {load.bus_id}", load.stage_id, ids)
    for source in files.non_controllable_factors.non_controllable_factors:
        ids = [factor.block_id for factor in source.block_factors]
        file = "scenarios/non_controllable_factors.json"
        check(file, f"factors of source {source.ncs_id}", source.stage_id, ids)
    for line in files.exchange_factors.exchange_factors:
        ids = [factor.block_id for factor in line.block_factors]
        file = "constraints/exchange_factors.json"
        check(file, f"exchange factors of line {line.line_id}", line.stage_id, ids)


def _check_constraint_blocks(files: CaseFiles, blocks: Mapping[int, int], problems: Problems) -> None:
    table = files.tables["constraint_bounds"]
    active: dict[int, set[int]] = {}
    whole: set[tuple[int, int]] = set()
    for row in range(len(table)):
        key = (int(table["constraint_id"][row]), int(table["stage_id"][row]))
        active.setdefault(key[0], set()).add(key[1])
        block, count = int(table["block_id"][row]), blocks.get(key[1])
        if block == ABSENT:
            whole.add(key)
        elif count is not None and not 0 <= block < count:
            refuse_block(problems, table, row, count, "every block")
    for row in () if files.generation.is_018 else range(len(table)):
        key = (int(table["constraint_id"][row]), int(table["stage_id"][row]))
        if key in whole and table["block_id"][row] != ABSENT:
            problems.error(
                "DuplicateId",
                table.at(row, "block_id", int(table["block_id"][row])),
                "there is also a row for every block of this stage (block_id null)",
                "keep the row for every block, or one row per block",
            )
    _check_term_blocks(files, blocks, active, problems)


def _check_term_blocks(
    files: CaseFiles, blocks: Mapping[int, int], active: Mapping[int, set[int]], problems: Problems
) -> None:
    for constraint in files.generic_constraints.constraints:
        place = {"entity": called("generic constraint", constraint), "field": "expression"}
        if constraint.id not in active and table_is_whole(
            files, "constraints/generic_constraint_bounds.parquet"
        ):
            if _has_inline_bound(files, constraint):
                problems.error(
                    "CoverageMismatch",
                    "constraints/generic_constraints.json",
                    "has a right-hand side but no row says in which stages it holds",
                    "add a row per stage to constraints/generic_constraint_bounds.parquet; its bounds may be null",
                    value=constraint.id,
                    rule="referential.6",
                    **{**place, "field": "id"},
                )
                continue
            problems.warn(
                "CoverageMismatch",
                "constraints/generic_constraints.json",
                "has no bound in any stage, so it never holds",
                "add rows for it to constraints/generic_constraint_bounds.parquet",
                value=constraint.id,
                **{**place, "field": "id"},
            )
        try:
            terms = parse_constraint(files, constraint).terms
        except ExpressionError:
            continue
        for term in terms:
            lacking = [
                stage
                for stage in sorted(active.get(constraint.id, ()))
                if term.block_id is not None and stage in blocks and not 0 <= term.block_id < blocks[stage]
            ]
            if lacking:
                problems.error(
                    "MissingReference",
                    "constraints/generic_constraints.json",
                    f"{term.variable}({term.entity_id}, {term.block_id}) names block {term.block_id}, "
                    f"which stage {listed(lacking)} does not have",
                    "name a block that every stage with a bound has, or leave the block out",
                    value=term.block_id,
                    rule="5a.20",
                    **place,
                )


def _has_inline_bound(files: CaseFiles, constraint: GenericConstraintRecord) -> bool:
    """Whether the text compares two sides."""
    try:
        return files.generation.is_018 and parse_constraint(files, constraint).operator is not None
    except ExpressionError:
        return False


def table_is_whole(files: CaseFiles, path: str) -> bool:
    """Whether all rows of a table could be used."""
    return path not in files.damaged


def _check_production(files: CaseFiles, problems: Problems) -> None:
    if {
        "stages.json",
        "system/hydro_production_models.json",
        "system/fpha_hyperplanes.parquet",
    } & files.damaged:
        return
    stages = build_horizon(files.stages).stages
    for hydro in files.hydros.hydros:
        owner = called("hydro", hydro)
        if hydro.id not in files.production_model_of and hydro.generation.model == "fpha":
            problems.error(
                "CoverageMismatch",
                Place("system/hydro_production_models.json", owner, "production_models", hydro.id),
                f"has the model {hydro.generation.model} but no entry in production_models",
                f"add an entry with hydro_id {hydro.id} that says where its planes come from",
            )
            continue
        _warn_of_linear_heads(files, hydro, problems)
        without_planes, without_flow, without_productivity, with_two = [], [], [], []
        for stage in stages:
            production = production_of(hydro, stage, files)
            if production.has_planes and production.fit_config is None:
                planes = planes_of(hydro.id, stage.id, files.tables["hyperplanes"])
                if not len(planes):
                    without_planes.append(stage.id)
                elif not planes[:, 2].any():
                    without_flow.append(stage.id)
            elif not production.has_planes and production.productivity is None:
                without_productivity.append(stage.id)
            elif not production.has_planes and _is_given_twice(files, hydro, production, stage.id):
                with_two.append(stage.id)
        if without_planes:
            problems.error(
                "CoverageMismatch",
                Place("system/fpha_hyperplanes.parquet", owner, "stage_id", without_planes),
                f"has no plane in stage {listed(without_planes)} although its model there is fpha",
                "add rows for those stages, or rows with a null stage_id for all stages",
                rule="5a.11" if len(without_planes) < len(stages) else "dimensional.6",
            )
        if without_flow:
            problems.error(
                "PhysicalConstraint",
                Place("system/fpha_hyperplanes.parquet", owner, "gamma_q", 0.0),
                f"every plane in stage {listed(without_flow)} has gamma_q = 0: power does not need water",
                "add the plane that limits the power of small flows",
            )
        if without_productivity:
            problems.error(
                "SchemaViolation",
                Place(
                    "system/hydro_production_models.json",
                    owner,
                    files.generation.word("productivity_mw_per_m3s"),
                    None,
                ),
                f"has no productivity in stage {listed(without_productivity)}, where its model is not fpha",
                f"give {files.generation.word('productivity_mw_per_m3s')} there"
                + (" or in system/hydro_energy_productivity.parquet" if files.generation.is_018 else ""),
                rule="productivity_resolution.2",
            )
        if with_two:
            problems.error(
                "SchemaViolation",
                Place(
                    "system/hydro_energy_productivity.parquet",
                    owner,
                    EQUIVALENT,
                    files.energy_value(EQUIVALENT, hydro.id, with_two[0]),
                ),
                f"gives {EQUIVALENT} in stage {listed(with_two)}, and system/hydro_production_models.json gives "
                "productivity_mw_per_m3s",
                "keep one of the two",
                rule="productivity_resolution.1",
            )


def _is_given_twice(files: CaseFiles, hydro: HydroRecord, production: Production, stage_id: int) -> bool:
    detail = production.detail
    is_in_models = detail is not None and detail.productivity_mw_per_m3s is not None
    return is_in_models and files.energy_value(EQUIVALENT, hydro.id, stage_id) is not None


def _warn_of_linear_heads(files: CaseFiles, hydro: HydroRecord, problems: Problems) -> None:
    """The public Cobre requires a geometry with this model, though it does not use it either."""
    model, geometry = files.production_model_of.get(hydro.id), files.tables["geometry"]
    if model is None or not files.generation.is_018:
        return
    choices = model.stage_ranges if isinstance(model, StageRangesRecord) else model.seasons
    n_rows = np.count_nonzero(geometry["hydro_id"] == hydro.id)
    given = [
        choice for choice in choices if choice.fpha_config and choice.fpha_config.source == "precomputed"
    ]
    findings = []
    if given and hydro.generation.max_turbined_m3s > 0.0 and not n_rows:
        what = "has no rows, which the public Cobre requires beside given planes; here they need none"
        findings.append((what, "add one row with its volume, height and area, or nothing"))
    if any(choice.model == "linearized_head" for choice in choices) and n_rows < 2:
        what = "has fewer than two rows, which linearized_head should have; the productivity is taken as constant"
        findings.append((what, "use constant_productivity, or add rows"))
    for what, remedy in findings:
        problems.warn(
            "CoverageMismatch",
            Place(geometry.file.path, called("hydro", hydro), "hydro_id", hydro.id),
            what,
            remedy,
            rule="dimensional.7",
        )


def _check_evaporation(files: CaseFiles, problems: Problems) -> None:
    geometry = files.tables["geometry"]
    for hydro in files.hydros.hydros:
        if hydro.evaporation is None:
            continue
        owner = called("hydro", hydro)
        _check_references_of_months(files, hydro, problems)
        if not table_is_whole(files, geometry.file.path):
            continue
        areas = geometry["area_km2"][geometry["hydro_id"] == hydro.id]
        if not len(areas):
            problems.error(
                "CoverageMismatch",
                Place(geometry.file.path, owner, "hydro_id", hydro.id),
                "evaporates but has no rows here, so the area of its lake is not known",
                f"add rows with hydro_id {hydro.id}",
                rule="5a.50",
            )
        elif not areas.any():
            problems.warn(
                "PhysicalConstraint",
                Place(geometry.file.path, owner, "area_km2", 0.0),
                "evaporates, but area_km2 is 0 in all of its rows, so nothing evaporates",
                "give the area of the lake, or remove evaporation",
            )


def _check_references_of_months(files: CaseFiles, hydro: HydroRecord, problems: Problems) -> None:
    """Evaporation counts from volumes that the reservoir can have."""
    given = () if hydro.evaporation is None else hydro.evaporation.reference_volumes_hm3 or ()
    low, high = hydro.reservoir.min_storage_hm3, hydro.reservoir.max_storage_hm3
    outside = [volume for volume in given if not low <= volume <= high]
    if outside:
        report = problems.error if files.generation.is_018 else problems.warn
        report(
            "OutOfRange",
            Place(
                "system/hydros.json", called("hydro", hydro), "evaporation.reference_volumes_hm3", outside[0]
            ),
            f"evaporation.reference_volumes_hm3 has {listed(f'{volume:g}' for volume in outside)}, and its reservoir "
            f"{low:g} to {high:g} hm3",
            "give volumes between the lowest and the highest storage",
        )

"""Layer 3: does every id that a file mentions exist?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cobre.core.distinct import distinct
from cobre.io.assemble.constraints import parse_constraint
from cobre.io.problems import Place, Problems
from cobre.io.read.columns import ABSENT
from cobre.io.read.constraints.expression import VARIABLES, ExpressionError, Term
from cobre.io.read.constraints.generic_parameters import ComputedParameter
from cobre.io.read.files import CaseFiles
from cobre.io.read.stages import Period
from cobre.io.validate.fit_wanted import wants_fit
from cobre.io.validate.naming import called, known

CLASS_KINDS = {"inflow": "hydro", "load": "bus", "ncs": "non-controllable source"}


class Reference(NamedTuple):
    """An id that must exist."""

    file: str
    entity: str
    field: str
    id: int
    kind: str


def check_references(files: CaseFiles, problems: Problems) -> None:
    """Report ids that lead nowhere."""
    for reference in _all_references(files, problems):
        ids = files.known_ids[reference.kind]
        if ids is not None and reference.id not in ids:
            problems.error(
                "MissingReference",
                Place(reference.file, reference.entity, reference.field, reference.id),
                f"{reference.field} = {reference.id}, but there is no {reference.kind} {reference.id}",
                known(ids),
            )
    _check_tables(files, problems)
    _check_seasons(files, problems)
    _check_profiles(files, problems)


def _all_references(files: CaseFiles, problems: Problems) -> Iterator[Reference]:
    yield from _system_references(files)
    yield from _document_references(files)
    yield from _expression_references(files, problems)


def _system_references(files: CaseFiles) -> Iterator[Reference]:
    for line in files.lines.lines:
        place = ("system/lines.json", called("line", line))
        yield Reference(*place, "source_bus_id", line.source_bus_id, "bus")
        yield Reference(*place, "target_bus_id", line.target_bus_id, "bus")
    for thermal in files.thermals.thermals:
        yield Reference("system/thermals.json", called("thermal", thermal), "bus_id", thermal.bus_id, "bus")
    for hydro in files.hydros.hydros:
        place = ("system/hydros.json", called("hydro", hydro))
        field = "unit_groups.bus_id" if files.generation.is_018 else "bus_id"
        for bus_id in sorted({group.bus_id for group in hydro.unit_groups}):
            yield Reference(*place, field, bus_id, "bus")
        if hydro.downstream_id is not None:
            yield Reference(*place, "downstream_id", hydro.downstream_id, "hydro")
        if hydro.diversion is not None:
            yield Reference(*place, "diversion.downstream_id", hydro.diversion.downstream_id, "hydro")
    for source in files.non_controllables.non_controllable_sources:
        place = ("system/non_controllable_sources.json", called("non-controllable source", source))
        yield Reference(*place, "bus_id", source.bus_id, "bus")
    for station in files.pumping_stations.pumping_stations:
        place = ("system/pumping_stations.json", called("pumping station", station))
        yield Reference(*place, "bus_id", station.bus_id, "bus")
        yield Reference(*place, "source_hydro_id", station.source_hydro_id, "hydro")
        yield Reference(*place, "destination_hydro_id", station.destination_hydro_id, "hydro")
    for contract in files.contracts.contracts:
        place = ("system/energy_contracts.json", called("contract", contract))
        yield Reference(*place, "bus_id", contract.bus_id, "bus")


def _document_references(files: CaseFiles) -> Iterator[Reference]:
    initial = files.initial_conditions
    for name in ("storage", "filling_storage", "recent_observations", "past_defluences"):
        for entry in getattr(initial, name):
            yield Reference("initial_conditions.json", name, "hydro_id", entry.hydro_id, "hydro")
    for past in files.past_inflows:
        yield Reference("initial_conditions.json", "past_inflows", "hydro_id", past.hydro_id, "hydro")
    for commitment in initial.past_anticipated_commitments:
        yield Reference(
            "initial_conditions.json",
            "past_anticipated_commitments",
            "thermal_id",
            commitment.thermal_id,
            "thermal",
        )
    for each in files.generic_parameters.scalar_parameters:
        if isinstance(each, ComputedParameter):
            place = ("constraints/generic_parameters.json", f"parameter {each.id} ({each.name})")
            yield Reference(*place, "computed_spec.hydro_id", each.computed_spec.hydro_id, "hydro")
    for model in files.production_models.production_models:
        yield Reference(
            "system/hydro_production_models.json", "production_models", "hydro_id", model.hydro_id, "hydro"
        )
    for load in files.load_factors.load_factors:
        place = ("scenarios/load_factors.json", f"load factors of bus {load.bus_id}, stage {load.stage_id}")
        yield Reference(*place, "bus_id", load.bus_id, "bus")
        yield Reference(*place, "stage_id", load.stage_id, "stage")
    for factor in files.non_controllable_factors.non_controllable_factors:
        label = f"factors of source {factor.ncs_id}, stage {factor.stage_id}"
        place = ("scenarios/non_controllable_factors.json", label)
        yield Reference(*place, "ncs_id", factor.ncs_id, "non-controllable source")
        yield Reference(*place, "stage_id", factor.stage_id, "stage")
    for exchange in files.exchange_factors.exchange_factors:
        label = f"exchange factors of line {exchange.line_id}, stage {exchange.stage_id}"
        place = ("constraints/exchange_factors.json", label)
        yield Reference(*place, "line_id", exchange.line_id, "line")
        yield Reference(*place, "stage_id", exchange.stage_id, "stage")
    for transition in () if files.stages.policy_graph.nodes else files.stages.policy_graph.transitions:
        place = ("stages.json", f"transition {transition.source_id} -> {transition.target_id}")
        yield Reference(*place, "source_id", transition.source_id, "stage")
        yield Reference(*place, "target_id", transition.target_id, "stage")
    if files.correlation is not None:
        for name, profile in sorted(files.correlation.profiles.items()):
            for group in profile.correlation_groups:
                place = ("scenarios/correlation.json", f"profile {name}, group {group.name}")
                for entity in group.entities:
                    yield Reference(*place, "entities.id", entity.id, CLASS_KINDS[entity.type])
        for entry in files.correlation.schedule or ():
            yield Reference("scenarios/correlation.json", "schedule", "stage_id", entry.stage_id, "stage")


def _expression_references(files: CaseFiles, problems: Problems) -> Iterator[Reference]:
    for constraint in files.generic_constraints.constraints:
        place = ("constraints/generic_constraints.json", called("generic constraint", constraint))
        try:
            parsed = parse_constraint(files, constraint)
        except ExpressionError as error:
            problems.error(
                "ParseError",
                Place(place[0], place[1], "expression", constraint.expression),
                f"expression {constraint.expression[:80]!r} {error}",
                error.remedy,
            )
            continue
        for term in parsed.terms:
            if not _is_missing_contract(files, term, place, problems):
                yield Reference(*place, "expression", term.entity_id, VARIABLES[term.variable])
            if term.bus_id is not None:
                yield Reference(*place, "expression", term.bus_id, "bus")
                _check_units_at(files, term, term.bus_id, place, problems)


def _is_missing_contract(files: CaseFiles, term: Term, place: tuple[str, str], problems: Problems) -> bool:
    """Whether a term is about a contract that is not there, which is allowed in 0.18: the term is 0."""
    ids = files.known_ids["contract"]
    if VARIABLES[term.variable] != "contract" or not files.generation.is_018 or ids is None:
        return False
    if term.entity_id not in ids:
        problems.warn(
            "MissingReference",
            Place(place[0], place[1], "expression", term.entity_id),
            f"the term {term} counts as 0: there is no contract {term.entity_id}",
            known(ids),
            rule="referential.11",
        )
    return term.entity_id not in ids


def _check_units_at(
    files: CaseFiles, term: Term, bus_id: int, place: tuple[str, str], problems: Problems
) -> None:
    """Report a term about the units at a bus where the plant has none."""
    buses = {
        group.bus_id
        for hydro in files.hydros.hydros
        if hydro.id == term.entity_id
        for group in hydro.unit_groups
    }
    if buses and bus_id not in buses:
        problems.error(
            "MissingReference",
            Place(place[0], place[1], "expression", bus_id),
            f"the term {term} names bus {bus_id}, where the hydro has no unit group",
            known(buses),
            rule="referential.10",
        )


def _check_tables(files: CaseFiles, problems: Problems) -> None:
    for table in files.tables.values():
        for column in table.file.columns:
            if not column.refers_to or files.known_ids[column.refers_to] is None:
                continue
            ids = files.known_ids[column.refers_to] or frozenset()
            for value in distinct(table[column.name]):
                if value in ids or value == ABSENT:
                    continue
                row = int(np.argmax(table[column.name] == value))
                kind = column.refers_to.removeprefix("any ")
                count = int(np.count_nonzero(table[column.name] == value))
                rows = f"{count} rows have" if count > 1 else "a row has"
                if column.refers_to == "any stage" and value < 0:
                    problems.warn(
                        "MissingReference",
                        table.at(row, column.written_name, value),
                        f"{rows} {column.written_name} = {value}, which is not among pre_study_stages",
                        "add it to pre_study_stages in stages.json to document its dates",
                    )
                    continue
                problems.error(
                    "MissingReference",
                    table.at(row, column.written_name, value),
                    f"{rows} {column.written_name} = {value}, but there is no {kind} {value}",
                    known(ids),
                )


def _check_seasons(files: CaseFiles, problems: Problems) -> None:
    definitions = files.stages.season_definitions
    if definitions is None:
        return
    ids = {season.id for season in definitions.seasons}
    stages: list[Period] = [*files.stages.stages, *files.stages.pre_study_stages]
    for stage in stages:
        if stage.season_id is not None and stage.season_id not in ids:
            problems.error(
                "MissingReference",
                Place("stages.json", f"stage {stage.id}", "season_id", stage.season_id),
                f"season_id = {stage.season_id}, but season_definitions has no such season",
                known(ids),
            )
    unused = sorted(ids - {stage.season_id for stage in stages})
    # A stage that could not be read may have one, and a fit needs all seasons of the year.
    if unused and not files.dropped.get("stages.json") and not wants_fit(files):
        problems.warn(
            "CoverageMismatch",
            "stages.json",
            f"no stage has the seasons {', '.join(map(str, unused))}",
            "remove them from season_definitions, or give stages their season_id",
            field="season_definitions.seasons",
            value=unused,
        )


def _check_profiles(files: CaseFiles, problems: Problems) -> None:
    if files.correlation is None:
        return
    names = sorted(files.correlation.profiles)
    for entry in files.correlation.schedule or ():
        if entry.profile_name not in names:
            problems.error(
                "MissingReference",
                Place(
                    "scenarios/correlation.json",
                    f"schedule, stage {entry.stage_id}",
                    "profile_name",
                    entry.profile_name,
                ),
                f"profile_name = {entry.profile_name!r}, but there is no such profile",
                f"use one of {', '.join(names)}",
            )

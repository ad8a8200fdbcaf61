"""Tools about case folders: check one, look into it, and the schema of its settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import Field

from cobre.errors import CobreError
from cobre.mcp.roots import read_regular
from cobre.mcp.service import Service
from cobre.mcp.settings import DEFAULT_LIMIT, MOST_ROWS
from cobre.mcp.texts import LONGEST_TEXT, clean, fitting, name
from cobre.mcp.tools.base import Answer, Arguments, Definition

if TYPE_CHECKING:
    from cobre.core.case import Case
    from cobre.study.queries.cases import Examination

__all__ = ["CASE_TOOLS", "case_config"]

CASE_DIR = Field(
    description="Folder of the case, relative to the folder of the server.", min_length=1, max_length=4096
)
OVERRIDES = Field(
    default=None,
    description="Settings laid over config.json: objects merge, lists replace. No file is changed.",
)


class CaseArguments(Arguments):
    """A case."""

    case_dir: str = CASE_DIR


class PagedArguments(CaseArguments):
    """A case, and which part of its longest list."""

    offset: int = Field(default=0, ge=0, description="Stages or entities to skip, for those that follow.")
    limit: int = Field(
        default=DEFAULT_LIMIT, ge=1, le=MOST_ROWS, description="Stages or entities that are listed at most."
    )

    def page(self, service: Service, rows: list[Any]) -> list[Any]:
        """The rows that are asked for, as many as fit."""
        return fitting(rows[self.offset : self.offset + self.limit], service.settings.max_bytes // 3)

    def is_cut(self, shown: list[Any], rows: list[Any]) -> bool:
        """Whether rows follow."""
        return self.offset + len(shown) < len(rows)


class ValidateArguments(CaseArguments):
    """A case, and how much to tell about it."""

    config_overrides: dict[str, Any] | None = OVERRIDES
    limit: int = Field(default=50, ge=1, le=500, description="Errors and warnings that are listed at most.")


class Problem(Answer):
    """One finding."""

    kind: str
    rule: str
    file: str
    entity: str
    field: str
    value: Any = None
    message: str
    remedy: str


class ValidationSummary(Answer):
    """How much was looked at and found."""

    files_checked: int
    entities_validated: int
    layers_completed: list[str] = Field(description="Of files, schema, references, dimensions, semantics.")
    error_count: int
    warning_count: int


class Validation(Answer):
    """Everything that is wrong with a case."""

    valid: bool
    errors: list[Problem]
    warnings: list[Problem]
    truncated: bool = Field(description="Whether there are more errors or warnings than were listed.")
    summary: ValidationSummary


def _valid_case(service: Service, arguments: PagedArguments) -> tuple[Examination, Case]:
    from cobre.study.queries.cases import examine_case

    folder = service.roots.folder(arguments.case_dir)
    found = examine_case(folder)
    return found, found.valid_case(service.roots.shown(folder))


def validate(service: Service, arguments: ValidateArguments) -> Validation:
    """Check a case."""
    from cobre.study.queries.cases import entity_counts, examine_case

    found = examine_case(service.roots.folder(arguments.case_dir), arguments.config_overrides)
    report, limit = found.report, arguments.limit

    def listed(problems: Any, max_bytes: int) -> list[Problem]:
        rows = [clean(each.to_dict(), service.roots, LONGEST_TEXT) for each in problems[:limit]]
        return [Problem(**row) for row in fitting(rows, max_bytes)]

    errors = listed(report.errors, service.settings.max_bytes // 2)
    warnings = listed(report.warnings, service.settings.max_bytes // 4)
    return Validation(
        valid=report.valid,
        errors=errors,
        warnings=warnings,
        truncated=len(errors) < len(report.errors) or len(warnings) < len(report.warnings),
        summary=ValidationSummary(
            files_checked=len(found.files),
            entities_validated=0 if found.case is None else sum(entity_counts(found.case).values()),
            layers_completed=list(report.layers_completed),
            error_count=len(report.errors),
            warning_count=len(report.warnings),
        ),
    )


class StageRow(Answer):
    """One stage."""

    stage_id: int
    start_date: str
    end_date: str
    season_id: int | None
    blocks: int
    hours: float
    openings: int


class CaseFacts(Answer):
    """What a case is about."""

    case_name: str
    format_generation: str
    config: dict[str, Any] = Field(description="config.json as it is written.")
    entities: dict[str, int] = Field(description="How many there are of each kind.")
    stages: list[StageRow]
    stages_truncated: bool = Field(description="Whether stages follow: ask with offset.")
    scenario_source: dict[str, Any]
    files_present: list[str]


def inspect_case(service: Service, arguments: PagedArguments) -> CaseFacts:
    """Look into a case."""
    from cobre.study.queries.cases import entity_counts, scenario_facts, stage_rows

    found, case = _valid_case(service, arguments)
    stages = stage_rows(case)
    shown = arguments.page(service, stages)
    return CaseFacts(
        case_name=name(case.name),
        format_generation=found.generation,
        config=case_config(service, arguments.case_dir),
        entities=entity_counts(case),
        stages=[StageRow(**row) for row in shown],
        stages_truncated=arguments.is_cut(shown, stages),
        scenario_source=clean(scenario_facts(case)["scenario_source"], service.roots),
        files_present=found.files,
    )


def case_config(service: Service, case_dir: str) -> dict[str, Any]:
    """``config.json`` of a case, with its texts as data."""
    from cobre.io.results import damaged

    folder = service.roots.folder(case_dir)
    path = service.roots.path(str(folder / "config.json"))
    try:
        data = read_regular(path, service.settings.max_bytes)
    except OSError as error:
        raise CobreError(
            f"{service.roots.shown(path)} cannot be read: {error.strerror}",
            kind="MissingFile",
            suggestion="name the folder of a case; resources/list shows them",
        ) from error
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise damaged(folder / "config.json", error) from error
    if not isinstance(found, dict):
        raise damaged(folder / "config.json", "it is no object")
    return dict(clean(found, service.roots))


class ScenarioEntity(Answer):
    """Whose noise it is."""

    kind: str
    id: int
    name: str


class InflowModel(Answer):
    """How large the model of inflows is."""

    max_ar_order: int
    seasons: int
    correlation_groups: int


class ScenarioFacts(Answer):
    """Where the scenarios of a case come from."""

    scenario_source: dict[str, Any]
    count: int = Field(description="Scenarios of a simulation.")
    stages: int
    openings_per_stage: list[int]
    entities: list[ScenarioEntity]
    entities_truncated: bool = Field(description="Whether entities follow: ask with offset.")
    par_model: InflowModel


def list_scenarios(service: Service, arguments: PagedArguments) -> ScenarioFacts:
    """Where the scenarios of a case come from."""
    from cobre.study.queries.cases import scenario_facts

    _, case = _valid_case(service, arguments)
    facts = clean(scenario_facts(case), service.roots)
    shown = arguments.page(service, facts["entities"])
    is_cut = arguments.is_cut(shown, facts["entities"])
    return ScenarioFacts(**{**facts, "entities": shown, "entities_truncated": is_cut})


class NoArguments(Arguments):
    """Nothing."""


class ConfigSchema(Answer):
    """A JSON Schema."""

    schema_: dict[str, Any] = Field(alias="schema")


def get_config_schema(service: Service, arguments: NoArguments) -> ConfigSchema:
    """The schema of ``config.json``."""
    from cobre.io.schemas import schemas

    return ConfigSchema(schema=schemas()["config.json"])


CASE_TOOLS = (
    Definition(
        "cobre_validate",
        "Check a case",
        "Check a case folder in five layers and list every problem with its file, entity, field, value and remedy. "
        "Call it before cobre_run, and again after files were corrected.",
        ValidateArguments,
        Validation,
        validate,
    ),
    Definition(
        "cobre_inspect_case",
        "Look into a case",
        "Settings, numbers of entities, stages, source of scenarios and files of a case that is valid.",
        PagedArguments,
        CaseFacts,
        inspect_case,
    ),
    Definition(
        "cobre_list_scenarios",
        "Scenarios of a case",
        "Where the noise of training and simulation comes from, how many openings each stage has, and the order of the "
        "inflow model.",
        PagedArguments,
        ScenarioFacts,
        list_scenarios,
    ),
    Definition(
        "cobre_get_config_schema",
        "Schema of config.json",
        "The JSON Schema of config.json, which config_overrides of cobre_run and cobre_validate follow, too.",
        NoArguments,
        ConfigSchema,
        get_config_schema,
    ),
)

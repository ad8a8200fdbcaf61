"""Tools about results: rows, aggregates and convergence."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from cobre.errors import CobreError
from cobre.mcp.limits import too_much
from cobre.mcp.service import Service
from cobre.mcp.settings import DEFAULT_LIMIT, MOST_ROWS
from cobre.mcp.texts import clean, fitting
from cobre.mcp.tools.base import Answer, Arguments, Definition

__all__ = [
    "GAP",
    "LAST_GAP",
    "OUTPUT_DIR",
    "RESULT_TOOLS",
    "EntityType",
    "Filters",
    "convergence_table",
    "row_filter",
]

OUTPUT_DIR = Field(
    description="Folder of the results, or of a case that was run.", min_length=1, max_length=4096
)
LAST_GAP = (
    "(upper - lower) / max(1, |upper|) of the last iteration's own trajectories, as stored; read gap instead."
)
GAP = "What the last iterations tell of the gap, in words: a gap, a limit that it is below, or why none is shown."
EntityType = Literal[
    "hydros", "thermals", "buses", "lines", "costs", "exchanges", "non_controllables", "contracts",
    "pumping_stations", "inflow_lags", "violations/generic", "hydro_bus_generation", "paths",
    "scenario_summary", "stage_summary",
]  # fmt: skip
Number = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
"""An id or a place; tables store them in 32 bits."""


def _is_rising(ends: list[int]) -> list[int]:
    if len(ends) == 2 and ends[0] > ends[1]:
        raise PydanticCustomError("falling_range", "the first must not be greater than the last")
    return ends


Range = Annotated[list[Number], AfterValidator(_is_rising)]
RANGE = Field(default=None, min_length=2, max_length=2, description="First and last, both included.")
STAGES = Field(
    default=None,
    min_length=2,
    max_length=2,
    description="First and last stage_id, both included; most cases begin at 0.",
)


class Filters(Arguments):
    """Which rows and columns."""

    entity_id: Number | None = Field(default=None, description="Id of one plant, bus or line.")
    stage_range: Range | None = STAGES
    scenario_range: Range | None = RANGE
    columns: list[str] | None = Field(default=None, min_length=1, max_length=100, description="Default: all.")
    limit: int = Field(default=DEFAULT_LIMIT, ge=1, le=MOST_ROWS, description="Rows of one answer.")


class Aggregate(Arguments):
    """Mean and quantiles over scenarios in place of rows."""

    column: str = Field(max_length=100, description="A quantity of the table, such as spot_price.")
    by: list[str] = Field(
        default=["stage"],
        max_length=4,
        description="Of stage, block, season and the kind of entity: hydro, thermal, bus, line, …",
    )
    quantiles: list[float] = Field(
        default=[0.1, 0.25, 0.5, 0.75, 0.9], max_length=9, description="Shares, 0 to 1."
    )


class QueryArguments(Arguments):
    """What to look up."""

    output_dir: str = OUTPUT_DIR
    entity_type: EntityType = Field(description="The table.")
    filters: Filters = Field(default_factory=Filters)
    aggregate: Aggregate | None = Field(
        default=None, description="Ask for this first: rows of all scenarios are many."
    )
    cursor: str | None = Field(default=None, max_length=200, description="next_cursor of the answer before.")


class Rows(Answer):
    """Rows of a table."""

    columns: list[str]
    units: dict[str, str]
    rows: list[list[Any]]
    total_rows: int
    truncated: bool
    next_cursor: str | None = Field(
        description="Pass it as cursor for the rows that follow; null at the end."
    )


def query_results(service: Service, arguments: QueryArguments) -> Rows:
    """Look up rows or aggregates."""
    from cobre.study.queries.rows import page_of_rows, table_name
    from cobre.study.results import load_results

    folder = service.roots.folder(arguments.output_dir)
    simulation = load_results(folder).simulation
    if simulation is None or simulation.output_directory is None:
        raise CobreError(
            "this folder has no finished simulation",
            kind="MissingFile",
            suggestion="simulate first: cobre_run with phases simulation or both",
        )
    table = table_name(arguments.entity_type)
    offset, limit = _offset(arguments.cursor), arguments.filters.limit
    if arguments.aggregate is not None:
        wanted = arguments.aggregate
        found = simulation.quantiles(wanted.column, wanted.by, wanted.quantiles, table)
        found = _aggregate_filtered(found, arguments.filters)
        total, found = len(found), found.slice(offset, limit)
    else:
        from cobre.io.simulation_results import SimulationFiles

        page = page_of_rows(
            SimulationFiles(simulation.output_directory), table, row_filter(arguments.filters), offset, limit
        )
        total, found = page.total, page.rows
    columns = [clean(each, service.roots) for each in found.column_names]
    lists = [found[each].to_pylist() for each in found.column_names]
    rows = [clean(list(row), service.roots) for row in zip(*lists, strict=True)]
    rows = fitting(rows, service.settings.max_bytes // 2)
    if not rows and offset < total:
        raise too_much("one row is longer than an answer may be", "choose fewer with filters.columns")
    end = offset + len(rows)
    return Rows(
        columns=columns,
        units=_units(table, columns, arguments.aggregate),
        rows=rows,
        total_rows=total,
        truncated=end < total,
        next_cursor=_cursor(end) if end < total else None,
    )


def row_filter(filters: Filters) -> Any:
    """The filters as `cobre.study` has them."""
    from cobre.study.queries.rows import RowFilter

    def limits(given: Range | None) -> tuple[int, int] | None:
        return None if given is None else (given[0], given[1])

    return RowFilter(
        filters.entity_id, limits(filters.stage_range), limits(filters.scenario_range), filters.columns
    )


def _aggregate_filtered(table: Any, filters: Filters) -> Any:
    """Stages and entities of an aggregate; scenarios are all in it."""
    from cobre.io.simulation_results import NAMED_BY

    if filters.scenario_range is not None or filters.columns is not None:
        raise CobreError(
            "an aggregate is over all scenarios and has one column",
            suggestion="leave out filters.scenario_range and filters.columns",
        )
    rows = table.to_pylist()
    keys = [key for key in NAMED_BY if key in table.column_names]
    if filters.entity_id is not None and keys:
        rows = [row for row in rows if row[keys[0]] == filters.entity_id]
    if filters.stage_range is not None and "stage_id" in table.column_names:
        first, last = filters.stage_range
        rows = [row for row in rows if first <= row["stage_id"] <= last]
    return type(table).from_pylist(rows, schema=table.schema)


def _units(table: str, columns: list[str], aggregate: Aggregate | None) -> dict[str, str]:
    from cobre.io.simulation_results import SCHEMAS

    units = {each.name: each.unit for each in SCHEMAS[table] if each.unit}
    if aggregate is None:
        return {name: unit for name, unit in units.items() if name in columns}
    numbers = [name for name in columns if name == "mean" or name[1:2].isdecimal()]
    return dict.fromkeys(numbers, units.get(aggregate.column, ""))


def _cursor(offset: int) -> str:
    return base64.urlsafe_b64encode(f"row {offset}".encode()).decode()


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        word, _, number = base64.b64decode(cursor, altchars=b"-_", validate=True).decode().partition(" ")
        if word == "row" and number.isascii() and number.isdecimal() and len(number) <= 15:
            return int(number)
    except (binascii.Error, ValueError):
        pass
    raise CobreError(
        "this is no cursor of this server", kind="OutOfRange", suggestion="pass next_cursor unchanged"
    )


class ConvergenceArguments(Arguments):
    """Which iterations."""

    output_dir: str = OUTPUT_DIR
    iteration_range: Range | None = RANGE
    limit: int = Field(
        default=DEFAULT_LIMIT, ge=1, le=MOST_ROWS, description="Iterations of one answer, spread evenly."
    )


class Iteration(Answer):
    """One iteration."""

    iteration: int
    lower_bound: float | None
    upper_bound: float | None
    upper_bound_std: float | None
    ci_95: float | None
    gap: float | None
    wall_time_ms: float
    iteration_time_ms: float


class Convergence(Answer):
    """How training went."""

    iterations: list[Iteration]
    total_iterations: int
    truncated: bool = Field(description="Whether iterations were left out; the first and the last are there.")
    termination_reason: str | None
    complete: bool
    final_lower_bound: float | None
    final_upper_bound: float | None
    final_gap: float | None = Field(description=LAST_GAP)
    gap: str | None = Field(description=GAP)
    total_cuts: int | None


ITERATION_FIELDS = tuple(Iteration.model_fields)


def query_convergence(service: Service, arguments: ConvergenceArguments) -> Convergence:
    """How training went."""
    from cobre.study.gap import gap_sentence, recorded_gap

    record, table = convergence_table(service, arguments.output_dir)
    places: Sequence[int] = range(len(table))
    if arguments.iteration_range is not None:
        first, last = arguments.iteration_range
        numbers = table["iteration"].to_numpy()
        places = ((numbers >= first) & (numbers <= last)).nonzero()[0].tolist()
    shown = _spread(places, min(arguments.limit, service.settings.max_bytes // 400))
    metadata = record.metadata
    estimate = recorded_gap(metadata.get("gap_estimate"))
    return Convergence(
        iterations=[Iteration(**row) for row in clean(table.take(shown).to_pylist(), service.roots)],
        total_iterations=int(metadata["iterations"]),
        truncated=len(shown) < len(places),
        termination_reason=metadata.get("termination_reason"),
        complete=record.is_complete,
        final_lower_bound=clean(metadata.get("final_lower_bound"), service.roots),
        final_upper_bound=clean(metadata.get("final_upper_bound"), service.roots),
        final_gap=clean(metadata.get("final_gap"), service.roots),
        gap=None if estimate is None else gap_sentence(estimate),
        total_cuts=metadata.get("total_cuts"),
    )


def convergence_table(service: Service, output_dir: str) -> tuple[Any, Any]:
    """The record of training, and the table of its iterations."""
    from cobre.study.results import read_results

    record = read_results(service.roots.folder(output_dir))
    return record, record.convergence.select(list(ITERATION_FIELDS))


def _spread(places: Sequence[int], limit: int) -> list[int]:
    """At most ``limit`` places, evenly, with the first and the last."""
    if len(places) <= limit:
        return list(places)
    if limit == 1:
        return list(places[-1:])
    step = (len(places) - 1) / (limit - 1)
    return [places[round(place * step)] for place in range(limit)]


RESULT_TOOLS = (
    Definition(
        "cobre_query_results",
        "Look up results",
        "Rows of a table of a simulation, or with `aggregate` the mean and quantiles over scenarios by stage, entity, "
        "block or season. `lines` is the table exchanges. Answers are cut at `limit` rows; `cursor` goes on.",
        QueryArguments,
        Rows,
        query_results,
    ),
    Definition(
        "cobre_query_convergence",
        "How training went",
        "Bounds, gap and times of the iterations of a training, and why it ended.",
        ConvergenceArguments,
        Convergence,
        query_convergence,
    ),
)

"""The rows of all tables for a group of consecutive scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.outputs import TableSchema
from cobre.core.simulation_tables import STAGE_SUMMARY
from cobre.sddp.simulation.outcome import StageOutcome
from cobre.sddp.simulation.summary import END_COST, TOTALS, add_stage, end_cost, summarise
from cobre.sddp.simulation.tables import SimulationTable

Column = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of one table for the scenarios of a chunk."""

    schema: TableSchema
    stages: list[dict[str, Column]]
    """The columns of each stage, which `columns` joins."""

    @property
    def columns(self) -> dict[str, Column]:
        """Of all stages: ``[scenario, row]``, or ``[row]`` where a column is the same for every scenario.

        They are joined when they are asked for, by the thread that writes them.
        """
        return {
            column.name: _join([stage[column.name] for stage in self.stages])
            for column in self.schema
            if column.name != "scenario_id"
        }


@dataclass(frozen=True, eq=False)
class Chunk:
    """What a group of scenarios did."""

    scenarios: range
    costs: Floats
    """``[scenario]``: discounted to the first stage, with what follows the last one."""
    totals: Floats
    """``[scenario, value]``: see `cobre.sddp.simulation.summary.TOTALS`."""
    tables: list[TableRows]
    summary: TableRows
    """One row per scenario and stage."""


def collect(scenarios: range, outcomes: Iterable[StageOutcome], tables: Sequence[SimulationTable]) -> Chunk:
    """Turn the outcomes of all stages into tables; each is let go before the next stage is solved."""
    parts: list[list[dict[str, Column]]] = [[] for _ in tables]
    summaries: list[dict[str, Column]] = []
    costs = np.zeros(len(scenarios))
    totals = np.zeros((len(scenarios), len(TOTALS)), order="F")
    for outcome in outcomes:
        rows = {table.schema.name: dict(table.rows(outcome)) for table in tables}
        costs += outcome.view.discount_factor * rows["costs"]["immediate_cost"][:, 0]
        of_stage = summarise(outcome.view, rows, len(scenarios))
        add_stage(totals, of_stage)
        columns = {name: value[:, np.newaxis] for name, value in of_stage.items()}
        summaries.append(_with_place(outcome, columns))
        for table, part in zip(tables, parts, strict=True):
            part.append(_with_place(outcome, rows[table.schema.name]))
        if outcome.view.scope.is_last:
            following = end_cost(outcome.view, rows["costs"])
            totals[:, TOTALS.index(END_COST)] = following
            costs += following
    return Chunk(
        scenarios,
        costs,
        np.ascontiguousarray(totals),
        [TableRows(table.schema, part) for table, part in zip(tables, parts, strict=True)],
        TableRows(STAGE_SUMMARY, summaries),
    )


def _with_place(outcome: StageOutcome, columns: dict[str, Column]) -> dict[str, Column]:
    n_rows = next(iter(columns.values())).shape[-1]
    columns["stage_id"] = np.full(n_rows, outcome.view.scope.stage.id, dtype=np.int32)
    if outcome.node_ids is None:
        columns["node_id"] = np.full(n_rows, outcome.view.scope.index, dtype=np.int32)
    else:
        columns["node_id"] = np.repeat(outcome.node_ids[:, np.newaxis], n_rows, axis=1)
    return columns


def _join(parts: list[Column]) -> Column:
    if all(part.ndim == 1 for part in parts):
        return np.concatenate(parts)
    n = next(len(part) for part in parts if part.ndim == 2)
    ends = np.cumsum([part.shape[-1] for part in parts]).tolist()
    joined: Column = np.empty((n, ends[-1]), dtype=np.result_type(*{part.dtype for part in parts}))
    for part, end in zip(parts, ends, strict=True):
        joined[:, end - part.shape[-1] : end] = part
    return joined

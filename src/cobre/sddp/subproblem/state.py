"""The state: fixed as it comes in, moved on by inflows, priced by the future cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cobre.arrays import Floats, Indices, Ints
from cobre.sddp.subproblem.builder import INFINITY, LpBuilder
from cobre.sddp.subproblem.layout import ParameterLayout, StateColumns, StateRows
from cobre.sddp.subproblem.scope import StageScope
from cobre.solver import Target


class InflowModel(Protocol):
    """What a stage problem has to know about inflows."""

    @property
    def psi(self) -> Floats:
        """``[stage, lag, hydro]``: what each past inflow adds to the inflow of a stage."""


class LagTransition(Protocol):
    """How each stage hands past inflows on: see :class:`StageMemory`; ``[stage, lag]`` both."""

    @property
    def source(self) -> Ints: ...
    @property
    def weight(self) -> Floats: ...


@dataclass(frozen=True, eq=False)
class StageMemory:
    """How past inflows shape this stage's inflow and how they are handed on.

    ``inflow = noise + sum_l psi[l] lag_l``; outgoing lag ``k`` is ``incoming lag source[k] + weight[k] inflow``,
    without the first where ``source[k]`` is -1. There may be more lags than rows of ``psi``: those only gather.
    """

    psi: Floats
    """``[lag, hydro]``."""
    source: Ints
    weight: Floats
    """``[lag]``, or ``[lag, hydro]`` where hydros differ."""

    @classmethod
    def of(cls, inflow_model: InflowModel, transition: LagTransition | None, stage: int) -> StageMemory:
        """Without a ``transition`` the inflow becomes lag 1 and each lag moves on by one."""
        psi = inflow_model.psi[stage]
        if transition is not None:
            return cls(psi, transition.source[stage], transition.weight[stage])
        n_lags = len(psi)
        return cls(
            psi, np.arange(-1, n_lags - 1), np.concatenate([np.ones(n_lags)[:1], np.zeros(n_lags)[1:]])
        )

    @property
    def n_lags(self) -> int:
        return len(self.source)


def add_state_columns(
    lp: LpBuilder, scope: StageScope, parameters: ParameterLayout, future_cost_bound: float | None
) -> StateColumns:
    """Storage before and after, lags, inflow, and the future cost, which is 0 if ``future_cost_bound`` is None."""
    hydros, tables = scope.system.hydros, scope.tables.hydro
    lags = [f"lag{lag + 1}" for lag in range(parameters.n_lags)]
    theta = lp.add_columns(
        "future_cost",
        lower=0.0 if future_cost_bound is None else future_cost_bound,
        upper=0.0 if future_cost_bound is None else INFINITY,
        cost=scope.stage.discount,
    )
    low, high = scope.at(tables.min_storage_hm3), scope.at(tables.max_storage_hm3)
    storage = lp.add_columns("storage", hydros, lower=low, upper=high)
    incoming = lp.add_columns("incoming_storage", hydros, lower=-INFINITY)
    before, after = _storages_of_blocks(lp, scope, incoming, storage)
    return StateColumns(
        storage=storage,
        incoming_storage=incoming,
        incoming_lags=lp.add_columns("incoming_inflow", lags, hydros, lower=-INFINITY),
        inflow=lp.add_columns("inflow", hydros, lower=-INFINITY),
        future_cost=int(theta),
        storage_before=before,
        storage_after=after,
    )


def _storages_of_blocks(
    lp: LpBuilder, scope: StageScope, incoming: Indices, final: Indices
) -> tuple[Indices, Indices]:
    """``[hydro, block]``: storage before and after each block; between chronological blocks it has columns."""
    n_blocks = len(scope.blocks)
    if not scope.is_chronological:
        return np.repeat(incoming[:, None], n_blocks, axis=1), np.repeat(final[:, None], n_blocks, axis=1)
    tables = scope.tables.hydro
    inner = lp.add_columns(
        "storage",
        scope.system.hydros,
        scope.blocks[:-1],
        lower=scope.at(tables.min_storage_hm3)[:, None],
        upper=scope.at(tables.max_storage_hm3)[:, None],
    )
    return np.column_stack([incoming, inner]), np.column_stack([inner, final])


def add_state_rows(
    lp: LpBuilder,
    scope: StageScope,
    parameters: ParameterLayout,
    columns: StateColumns,
    memory: StageMemory,
) -> StateRows:
    """``incoming = state`` for storage and lags; ``inflow - sum_l psi_l lag_l = inflow parameter``."""
    hydros = scope.system.hydros
    lags = [f"lag{lag + 1}" for lag in range(parameters.n_lags)]
    storage = lp.add_rows("fix_storage", hydros, lower=0.0, upper=0.0)
    lp.add_terms(storage, columns.incoming_storage, 1.0)
    lp.patch(Target.ROW_EQUAL, storage, parameters.numbers(parameters.storage))

    past = lp.add_rows("fix_inflow", lags, hydros, lower=0.0, upper=0.0)
    lp.add_terms(past, columns.incoming_lags, 1.0)
    lp.patch(Target.ROW_EQUAL, past, parameters.numbers(parameters.lags).reshape(past.shape))

    inflow = lp.add_rows("inflow_model", hydros, lower=0.0, upper=0.0)
    lp.add_terms(inflow, columns.inflow, 1.0)
    lp.add_terms(inflow, columns.incoming_lags[: len(memory.psi)], -memory.psi)
    lp.patch(Target.ROW_EQUAL, inflow, parameters.numbers(parameters.inflow))
    return StateRows(storage, past, inflow)


def add_outgoing_lags(
    lp: LpBuilder, scope: StageScope, columns: StateColumns, memory: StageMemory
) -> Indices:
    """``[lag, hydro]``: what the next stage receives as its past inflows.

    Mostly that is this stage's inflow or an incoming lag itself; a weighted sum of both gets a column of its own.
    """
    hydros = scope.system.hydros
    outgoing = np.empty_like(columns.incoming_lags)
    for k, (source, weight) in enumerate(zip(memory.source.tolist(), memory.weight, strict=True)):
        if source >= 0 and np.all(weight == 0.0):
            outgoing[k] = columns.incoming_lags[source]
        elif source < 0 and np.all(weight == 1.0):
            outgoing[k] = columns.inflow
        else:
            outgoing[k] = lp.add_columns(f"outgoing_inflow_lag{k + 1}", hydros, lower=-INFINITY)
            rows = lp.add_rows(f"lag_transition_lag{k + 1}", hydros, lower=0.0, upper=0.0)
            lp.add_terms(rows, outgoing[k], 1.0)
            lp.add_terms(rows, columns.inflow, -weight)
            if source >= 0:
                lp.add_terms(rows, columns.incoming_lags[source], -1.0)
    return outgoing

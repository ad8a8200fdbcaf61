"""The state: fixed as it comes in, moved on by inflows, priced by the future cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.sddp.subproblem.builder import INFINITY, Indices, LpBuilder
from cobre.sddp.subproblem.layout import ParameterLayout, StateColumns
from cobre.sddp.subproblem.scope import StageScope
from cobre.solver.template import PatchTarget


@dataclass(frozen=True)
class StateRows:
    """Rows that carry the parameters of nature and of the incoming state."""

    incoming_storage: Indices
    incoming_lags: Indices
    inflow: Indices


def add_state_columns(
    lp: LpBuilder, scope: StageScope, parameters: ParameterLayout, future_cost_bound: float
) -> StateColumns:
    """Storage before and after, lags, inflow, and the future cost, which is nothing after the last stage."""
    hydros, tables = scope.system.hydros, scope.tables.hydro
    lags = [f"lag{lag + 1}" for lag in range(parameters.n_lags)]
    theta = lp.add_columns(
        "future_cost",
        lower=0.0 if scope.is_last else future_cost_bound,
        upper=0.0 if scope.is_last else INFINITY,
        cost=scope.stage.discount,
    )
    return StateColumns(
        storage=lp.add_columns(
            "storage", hydros, lower=scope.at(tables.min_storage_hm3), upper=scope.at(tables.max_storage_hm3)
        ),
        incoming_storage=lp.add_columns("incoming_storage", hydros, lower=-INFINITY),
        incoming_lags=lp.add_columns("incoming_inflow", lags, hydros, lower=-INFINITY),
        inflow=lp.add_columns("inflow", hydros, lower=-INFINITY),
        future_cost=int(theta),
    )


def add_state_rows(
    lp: LpBuilder,
    scope: StageScope,
    parameters: ParameterLayout,
    columns: StateColumns,
    lag_coefficients: NDArray[np.float64],
) -> StateRows:
    """``incoming = state`` for storage and lags; ``inflow - sum_l psi_l lag_l = inflow parameter``."""
    hydros = scope.system.hydros
    lags = [f"lag{lag + 1}" for lag in range(parameters.n_lags)]
    storage = lp.add_rows("fix_storage", hydros, lower=0.0, upper=0.0)
    lp.add_terms(storage, columns.incoming_storage, 1.0)
    lp.patch(PatchTarget.ROW_EQUAL, storage, parameters.numbers(parameters.storage))

    past = lp.add_rows("fix_inflow", lags, hydros, lower=0.0, upper=0.0)
    lp.add_terms(past, columns.incoming_lags, 1.0)
    lp.patch(PatchTarget.ROW_EQUAL, past, parameters.numbers(parameters.lags).reshape(past.shape))

    inflow = lp.add_rows("inflow_model", hydros, lower=0.0, upper=0.0)
    lp.add_terms(inflow, columns.inflow, 1.0)
    lp.add_terms(inflow, columns.incoming_lags, -lag_coefficients.T)
    lp.patch(PatchTarget.ROW_EQUAL, inflow, parameters.numbers(parameters.inflow))
    return StateRows(storage, past, inflow)


def outgoing_columns(columns: StateColumns) -> Indices:
    """The state that the next stage receives: end storage, then the inflow as lag 1 and each lag moved on by one."""
    moved = columns.incoming_lags[:-1].ravel()
    newest = columns.inflow if columns.incoming_lags.shape[0] else columns.inflow[:0]
    return np.concatenate([columns.storage, newest, moved])

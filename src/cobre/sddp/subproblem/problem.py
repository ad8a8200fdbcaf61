"""The stage problem: one LP per stage that every pass solves again and again with other parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cobre.arrays import Floats
from cobre.core.case import Case
from cobre.errors import ValidationError
from cobre.sddp.carried import Carried
from cobre.sddp.subproblem.builder import LpBuilder
from cobre.sddp.subproblem.commitment import (
    add_commitment_columns,
    add_commitment_rows,
    is_delivered,
)
from cobre.sddp.subproblem.constraint import Vocabulary, add_generic_constraints
from cobre.sddp.subproblem.hydro import (
    add_evaporation,
    add_hydro_columns,
    add_storage_targets,
    add_water_balance,
)
from cobre.sddp.subproblem.layout import ColumnLayout, ParameterLayout, RowLayout
from cobre.sddp.subproblem.network import add_load_balance, add_network_columns
from cobre.sddp.subproblem.production import add_production_planes, add_soft_limits
from cobre.sddp.subproblem.scope import StageScope
from cobre.sddp.subproblem.state import (
    InflowModel,
    LagTransition,
    StageMemory,
    add_outgoing_lags,
    add_state_columns,
    add_state_rows,
)
from cobre.sddp.subproblem.transit import Rivers, add_arrivals, add_transit_columns, add_transit_rows
from cobre.solver import LpTemplate


@dataclass(frozen=True, eq=False)
class StageProblem:
    """An LP template and where to find things in it.

    Observed by each solve: the outgoing state and, last, the future cost (``observed_columns``); the duals of
    the rows that fix the incoming state, in the order of the state vector (``observed_rows``).
    """

    stage: int
    template: LpTemplate
    parameters: ParameterLayout
    columns: ColumnLayout
    rows: RowLayout
    least_cost: float
    """No solve costs less, the future included; never above 0. It bounds the future cost of the stage before."""
    carried: Carried
    """What of the state is neither storage nor past inflow."""

    def state_limits(self) -> tuple[Floats, Floats]:
        """Least and greatest outgoing state. Solvers pass such limits by rounding; past inflows have none."""
        template, layout = self.template, self.parameters
        low, high = (np.full(layout.state_dimension, bound) for bound in (-np.inf, np.inf))
        for part, columns in (
            (layout.storage, self.columns.state.storage),
            (layout.transit, self.columns.transit.outgoing),
        ):
            low[part], high[part] = template.column_lower[columns], template.column_upper[columns]
        low[layout.commitments], high[layout.commitments] = self.carried.commitment_limits(self.stage)
        return low, high


def build_stage_problems(
    case: Case,
    inflow_model: InflowModel,
    transition: LagTransition | None = None,
    *,
    end_cost_bound: float | None = None,
) -> list[StageProblem]:
    """The problems of all stages in order, each with a valid lower bound of its future cost.

    ``end_cost_bound`` is what follows the last stage at least; None if nothing does.

    Without a ``transition`` each stage's inflow becomes lag 1 of the next, and the other lags move on by one.
    """
    problems: list[StageProblem] = []
    bound = end_cost_bound
    carried = Carried.of(case, is_open_ended=end_cost_bound is not None)
    for stage in reversed(range(case.horizon.n_stages)):
        problems.append(
            build_stage_problem(
                case, inflow_model, stage, transition, future_cost_bound=bound, carried=carried
            )
        )
        bound = problems[-1].least_cost
    return problems[::-1]


def build_stage_problem(
    case: Case,
    inflow_model: InflowModel,
    stage: int,
    transition: LagTransition | None = None,
    *,
    future_cost_bound: float | None = 0.0,
    carried: Carried | None = None,
) -> StageProblem:
    """The problem of stage index ``stage``.

    ``future_cost_bound`` is what all later stages cost at least, in money of the next stage; it is below 0 only
    where something earns money. None: the stage has no future.
    """
    scope = StageScope(case, stage)
    memory = StageMemory.of(inflow_model, transition, stage)
    system = case.system
    carried = Carried.of(case) if carried is None else carried
    rivers, ahead = Rivers(carried.transit, scope), carried.commitments
    parameters = ParameterLayout(
        len(system.hydros),
        memory.n_lags,
        len(system.buses),
        len(system.non_controllables),
        carried.transit.n_components,
        len(ahead.components),
    )
    lp = LpBuilder()
    state = add_state_columns(lp, scope, parameters, future_cost_bound)
    hydro = add_hydro_columns(lp, scope)
    network = add_network_columns(lp, scope, parameters, is_delivered(scope, ahead))
    transit = add_transit_columns(lp, rivers)
    commitment = add_commitment_columns(lp, scope, ahead)

    fixed = add_state_rows(lp, scope, parameters, state, memory)
    fixed_transit = add_transit_rows(lp, rivers, parameters, transit, hydro)
    fixed_commitments = add_commitment_rows(lp, scope, parameters, ahead, commitment, network)
    water_balance = add_water_balance(lp, scope, state, hydro, network.pumping, rivers.at_once)
    add_arrivals(lp, rivers, water_balance, transit, hydro)
    load_balance = add_load_balance(lp, scope, parameters, hydro, network)
    add_production_planes(lp, scope, state, hydro)
    add_evaporation(lp, scope, state, hydro)
    add_storage_targets(lp, scope, state, hydro)
    add_soft_limits(lp, scope, hydro)
    words = Vocabulary(scope, parameters, state, hydro, network, rivers, transit, commitment)
    constraints, slacks = add_generic_constraints(lp, words)

    outgoing = np.concatenate(
        [
            state.storage,
            add_outgoing_lags(lp, scope, state, memory).ravel(),
            transit.outgoing,
            commitment.outgoing,
        ]
    )
    return StageProblem(
        stage=stage,
        template=lp.template(
            n_parameters=parameters.size,
            cut_columns=outgoing,
            future_cost_column=state.future_cost,
            observed_columns=np.append(outgoing, state.future_cost),
            observed_rows=np.concatenate(
                [fixed.incoming_storage, fixed.incoming_lags.ravel(), fixed_transit, fixed_commitments]
            ),
        ),
        parameters=parameters,
        columns=ColumnLayout(state, hydro, network, slacks, transit, commitment),
        rows=RowLayout(
            **vars(fixed), water_balance=water_balance, load_balance=load_balance, constraint=constraints
        ),
        least_cost=_least_cost(lp, scope),
        carried=carried,
    )


def _least_cost(lp: LpBuilder, scope: StageScope) -> float:
    least = lp.least_cost()
    if least == -np.inf:
        names = lp.unlimited_earners()
        raise ValidationError(
            f"stage {scope.stage.id} could earn money without limit: {', '.join(names[:5])} "
            f"({len(names)} in all) has a negative cost and no upper limit",
            kind="PenaltyConsistency",
            context={"stage": scope.stage.id, "columns": names},
            suggestion="make these costs zero or positive, or give the quantity a limit",
        )
    return least

"""Random studies with every element at once: the stage problem against a second, plain writing of it."""

from __future__ import annotations

import numpy as np
import pytest

from sddp.cases import make_case
from sddp.specs import (
    BusSpec,
    ContractSpec,
    HydroSpec,
    LineSpec,
    PumpSpec,
    SourceSpec,
    StageSpec,
    ThermalSpec,
)
from sddp.subproblem.dense import parameters_of, solve_template, stage_problem
from sddp.subproblem.reference import reference_cost

N_LAGS = 2


def random_case(rng: np.random.Generator):
    """Three stages with 2, 1 and 3 blocks; what is optional is there half of the time."""
    hours = [[200.0, 530.0], [700.0], [100.0, 250.0, 380.0]]
    width = 6

    def by_stage(low, high):
        return rng.uniform(low, high, 3).tolist()

    def maybe(value, otherwise):
        return value if rng.random() < 0.5 else otherwise

    def hydro(h: int) -> HydroSpec:
        planes = [
            (rng.uniform(1, 20), rng.uniform(0, 0.02), rng.uniform(0.2, 1.0), -rng.uniform(0, 0.02))
            for _ in range(3)
        ]
        names = ("spillage", "turbined", "diversion", "turbined_below", "outflow_below", "outflow_above")
        names += ("generation_below", "evaporation_above", "evaporation_below", "withdrawal_above")
        names += ("withdrawal_below", "negative_inflow")
        return HydroSpec(
            bus=int(rng.integers(3)),
            downstream=h + 1 if h < 3 else None,
            initial=rng.uniform(0, 150),
            min_storage=by_stage(0, 30),
            max_storage=by_stage(150, 300),
            min_turbined=maybe(by_stage(0, 40), 0.0),
            max_turbined=by_stage(40, 120),
            min_outflow=maybe(by_stage(0, 60), 0.0),
            max_outflow=maybe(by_stage(60, 90), float("inf")),
            min_generation=maybe(by_stage(0, 40), 0.0),
            max_generation=by_stage(40, 100),
            productivity=by_stage(0.2, 1.2),
            planes=maybe((planes, [], planes[:1]), ()),
            diversion=maybe((h + 2) % 4, None),
            max_diversion=by_stage(0, 30),
            withdrawal=maybe(by_stage(-2, 8), 0.0),
            evaporation=maybe((by_stage(-1, 4), by_stage(0, 0.03)), None),
            costs={name: by_stage(0.01, 40) for name in names},
        )

    return make_case(
        [StageSpec(hours[t], discount=rng.uniform(0.7, 1.0)) for t in range(3)],
        buses=[
            BusSpec(
                load=by_stage(20, 150),
                deficit=[(rng.uniform(5, 20), rng.uniform(50, 200)), (None, rng.uniform(200, 900))],
                excess_cost=by_stage(0, 5),
                load_factor=rng.uniform(0.6, 1.4, width).tolist(),
            )
            for _ in range(3)
        ],
        thermals=[
            ThermalSpec(min_mw=by_stage(0, 10), max_mw=by_stage(10, 60), cost=by_stage(5, 90), bus=i)
            for i in range(3)
        ],
        lines=[
            LineSpec(
                source=i,
                target=(i + 1) % 3,
                direct_mw=rng.uniform(0, 50, width).tolist(),
                reverse_mw=rng.uniform(0, 50, width).tolist(),
                cost=by_stage(0, 3),
                losses_percent=maybe(rng.uniform(0, 12), 0.0),
            )
            for i in range(3)
        ],
        hydros=[hydro(h) for h in range(4)],
        sources=[
            SourceSpec(
                installed=by_stage(5, 30),
                cost=by_stage(0, 8),
                mean=0.5,
                factor=rng.uniform(0.5, 1.5, width).tolist(),
                bus=i,
            )
            for i in range(2)
        ],
        pumps=[
            PumpSpec(
                source=3,
                destination=0,
                min_flow=by_stage(0, 2),
                max_flow=by_stage(2, 20),
                consumption=rng.uniform(0.1, 1.5),
                bus=2,
            )
        ],
        contracts=[
            ContractSpec(price=by_stage(10, 60), min_mw=by_stage(0, 3), max_mw=by_stage(3, 20), bus=1),
            ContractSpec(price=by_stage(-60, -10), max_mw=by_stage(3, 20), is_import=False, bus=2),
        ],
        non_negativity="penalty" if rng.random() < 0.5 else "none",
    )


@pytest.mark.parametrize("seed", range(20))
def test_both_writings_agree(seed):
    rng = np.random.default_rng(seed)
    case = random_case(rng)
    psi = rng.uniform(-0.1, 0.5, (4, N_LAGS))
    for stage in range(3):
        problem = stage_problem(case, stage, psi)
        given = {
            "storage": rng.uniform(30, 150, 4),
            "lags": rng.uniform(0, 80, (N_LAGS, 4)),
            "inflow": rng.uniform(0, 60, 4),
            "load": rng.uniform(20, 150, 3),
            "available": rng.uniform(0, 30, 2),
        }
        cut = None if stage == 2 else (rng.uniform(1e6, 5e6), -rng.uniform(0, 2e4, 4 * (1 + N_LAGS)))
        bound = problem.template.column_lower[problem.columns.state.future_cost]

        def reference(storage, lags, case=case, stage=stage, given=given, cut=cut, bound=bound, psi=psi):
            rest = (given["inflow"], given["load"], given["available"], cut, bound)
            return reference_cost(case, stage, psi, storage, lags, *rest)

        found = solve_template(
            problem.template, parameters_of(case, problem, **given), [] if cut is None else [cut]
        )
        assert found.objective == pytest.approx(reference(given["storage"], given["lags"]), rel=1e-9)

        # The duals are the slope of the other writing, wherever that has one.
        state = np.concatenate([given["storage"], given["lags"].ravel()])
        slopes = found.dual(problem.template.observed_rows)
        for j in rng.choice(state.size, 4, replace=False):
            step = np.zeros(state.size)
            step[j] = 1e-3
            sides = [state + step, state - step]
            above, below = (reference(side[:4], side[4:].reshape(N_LAGS, 4)) for side in sides)
            forward, backward = (above - found.objective) / 1e-3, (found.objective - below) / 1e-3
            assert backward - 1.0 <= slopes[j] <= forward + 1.0

"""Programs for the tests of the solver: small hydro-like stages with cuts, full of ties."""

from __future__ import annotations

import numpy as np

from cobre.solver import LpTemplate, Patches, Target


def stage(
    rng: np.random.Generator, n_state: int = 4, n_blocks: int = 3, *, is_degenerate: bool = True
) -> LpTemplate:
    """Reservoirs x_out = x_in + inflow - release - spill and blocks with equal plants: many optimal bases.

    Parameters: x_in (n_state), inflow (n_state), load (1), price of shortage (1), limit of the first plant (1).
    """
    draw = (
        (lambda low, high: float(rng.integers(low, high + 1)))
        if is_degenerate
        else (lambda low, high: float(rng.uniform(low, high)))
    )
    cost, lower, upper, names = [], [], [], []

    def column(c: float, low: float, high: float, name: str) -> int:
        cost.append(c)
        lower.append(low)
        upper.append(high)
        names.append(name)
        return len(cost) - 1

    x_out = [column(0.0, 0.0, 100.0 * draw(1, 2), f"x_out_{h}") for h in range(n_state)]
    x_in = [column(0.0, -np.inf, np.inf, f"x_in_{h}") for h in range(n_state)]
    theta = column(1.0, 0.0, np.inf, "theta")
    spill = [column(0.001, 0.0, np.inf, f"spill_{h}") for h in range(n_state)]
    release = [
        [column(0.0, 0.0, 20.0 * draw(1, 2), f"release_{h}_{k}") for k in range(n_blocks)]
        for h in range(n_state)
    ]
    plants = [
        [column(10.0 * draw(1, 3), 0.0, 10.0, f"plant_{i}_{k}") for k in range(n_blocks)] for i in range(6)
    ]
    shortage = [column(500.0, 0.0, np.inf, f"shortage_{k}") for k in range(n_blocks)]

    rows: list[tuple[str, list[tuple[int, float]], float]] = []
    for h in range(n_state):
        rows.append((f"state_{h}", [(x_in[h], 1.0)], 0.0))
    for h in range(n_state):
        balance = [(x_out[h], 1.0), (x_in[h], -1.0), (spill[h], 1.0)] + [(q, 1.0) for q in release[h]]
        if h:
            balance += [(spill[h - 1], -1.0)] + [(q, -1.0) for q in release[h - 1]]
        rows.append((f"water_{h}", balance, 0.0))
    for k in range(n_blocks):
        supply = [(release[h][k], draw(1, 2)) for h in range(n_state)]
        supply += [(plants[i][k], 1.0) for i in range(6)] + [(shortage[k], 1.0)]
        rows.append((f"load_{k}", supply, 0.0))

    state, inflow = range(n_state), range(n_state, 2 * n_state)
    load, price, limit = 2 * n_state, 2 * n_state + 1, 2 * n_state + 2
    patches = [(Target.ROW_EQUAL, h, state[h], 0.0, 1.0) for h in range(n_state)]
    patches += [(Target.ROW_EQUAL, n_state + h, inflow[h], 0.0, 1.0) for h in range(n_state)]
    patches += [(Target.ROW_EQUAL, 2 * n_state + k, load, float(k), 1.0 + k) for k in range(n_blocks)]
    patches += [(Target.COLUMN_COST, c, price, 0.0, 1.0) for c in shortage]
    patches += [(Target.COLUMN_UPPER, c, limit, 0.0, 1.0) for c in plants[0]]
    starts = np.cumsum([0] + [len(entries) for _, entries, _ in rows])
    return LpTemplate(
        column_cost=np.array(cost),
        column_lower=np.array(lower),
        column_upper=np.array(upper),
        row_lower=np.array([side for _, _, side in rows]),
        row_upper=np.array([side for _, _, side in rows]),
        row_starts=starts.astype(np.int32),
        column_indices=np.array([j for _, entries, _ in rows for j, _ in entries], np.int32),
        values=np.array([a for _, entries, _ in rows for _, a in entries]),
        patches=Patches.of(2 * n_state + 3, patches),
        cut_columns=np.array(x_out, np.int32),
        future_cost_column=theta,
        observed_columns=np.array([*x_out, theta], np.int32),
        observed_rows=np.arange(n_state, dtype=np.int32),
        column_names=names,
        row_names=[name for name, _, _ in rows],
    )


def parameters(rng: np.random.Generator, template: LpTemplate, n: int) -> np.ndarray:
    """Round numbers, so that ties happen; all feasible, as shortage has no limit."""
    n_state = len(template.cut_columns)
    return np.concatenate(
        [
            10.0 * rng.integers(0, 10, (n, n_state)),
            5.0 * rng.integers(0, 6, (n, n_state)),
            10.0 * rng.integers(2, 9, (n, 1)),
            100.0 * rng.integers(4, 7, (n, 1)),
            5.0 * rng.integers(0, 3, (n, 1)),
        ],
        axis=1,
    )


def cuts(rng: np.random.Generator, template: LpTemplate, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Intercepts and coefficients with repetitions: equal cuts and parallel ones are what SDDP makes."""
    coefficients = -10.0 * rng.integers(0, 4, (n, len(template.cut_columns)))
    return 100.0 * rng.integers(5, 40, n), coefficients

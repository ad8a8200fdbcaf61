"""What a solve costs around HiGHS: a batch of Cobre beside a plain highspy loop over the same programs.

The program has the size of a monthly stage of four reservoirs: 17 rows, 167 columns and 200 cuts.
"""

from __future__ import annotations

import argparse
import statistics
import time

import highspy
import numpy as np
from record import publish

from cobre.solver import LpSolver, LpTemplate, Patches, Target

RESERVOIRS, BUSES, THERMALS, LINES = 4, 5, 95, 9
CUTS, OPENINGS, POINTS, ROUNDS = 200, 20, 25, 7


def stage(rng: np.random.Generator) -> LpTemplate:
    """A stage as SDDP has it: state rows, inflow definitions, water balances, loads."""
    cost: list[float] = []
    lower: list[float] = []
    upper: list[float] = []

    def columns(n: int, costs: object, low: float, high: object) -> range:
        start = len(cost)
        cost.extend(np.broadcast_to(costs, n).astype(float).tolist())
        lower.extend([low] * n)
        upper.extend(np.broadcast_to(high, n).astype(float).tolist())
        return range(start, start + n)

    hours = 730.0
    v = columns(RESERVOIRS, 0.0, 0.0, rng.uniform(2e4, 2e5, RESERVOIRS))
    v_in = columns(RESERVOIRS, 0.0, -np.inf, np.inf)
    z = columns(RESERVOIRS, 0.0, -np.inf, np.inf)
    theta = columns(1, 1.0, 0.0, np.inf)[0]
    q = columns(RESERVOIRS, 0.01 * hours, 0.0, rng.uniform(1e3, 4e4, RESERVOIRS))
    s = columns(RESERVOIRS, 0.001 * hours, 0.0, np.inf)
    short = columns(RESERVOIRS, 1000.0 * hours, 0.0, np.inf)
    thermal = columns(
        THERMALS, np.sort(rng.uniform(10, 900, THERMALS)) * hours, 0.0, rng.uniform(20, 1500, THERMALS)
    )
    flow = columns(2 * LINES, 0.05 * hours, 0.0, rng.uniform(500, 8000, 2 * LINES))
    deficit = columns(
        4 * BUSES,
        np.tile([1142, 2465, 5152, 5845], BUSES) * hours,
        0.0,
        np.tile([2e3, 3e3, 4e3, np.inf], BUSES),
    )
    excess = columns(BUSES, 0.1 * hours, 0.0, np.inf)
    columns(4, 1.0, 0.0, 0.0)

    zeta = 0.0036 * hours
    rows = [[(v_in[h], 1.0)] for h in range(RESERVOIRS)]
    rows += [[(z[h], 1.0)] for h in range(RESERVOIRS)]
    rows += [
        [(v[h], 1.0), (v_in[h], -1.0), (q[h], zeta), (s[h], zeta), (short[h], -zeta)]
        for h in range(RESERVOIRS)
    ]
    for bus in range(BUSES):
        row = [(thermal[i], 1.0) for i in range(bus, THERMALS, BUSES)]
        row += [(deficit[4 * bus + k], 1.0) for k in range(4)] + [(excess[bus], -1.0)]
        if bus < RESERVOIRS:
            row.append((q[bus], 0.9))
        for line in range(LINES):
            a, b = line % BUSES, (line + 1 + line // BUSES) % BUSES
            if bus in (a, b):
                sign = 1.0 if bus == b else -1.0
                row += [(flow[2 * line], sign), (flow[2 * line + 1], -sign)]
        rows.append(row)
    fixed = np.zeros(len(rows))
    patches = [(Target.ROW_EQUAL, h, h, 0.0, 1.0) for h in range(RESERVOIRS)]
    patches += [(Target.ROW_EQUAL, RESERVOIRS + h, RESERVOIRS + h, 0.0, 1.0) for h in range(RESERVOIRS)]
    patches += [(Target.ROW_EQUAL, 2 * RESERVOIRS + h, RESERVOIRS + h, 0.0, zeta) for h in range(RESERVOIRS)]
    patches += [(Target.ROW_EQUAL, 3 * RESERVOIRS + b, 2 * RESERVOIRS + b, 0.0, 1.0) for b in range(BUSES)]
    return LpTemplate(
        np.array(cost), np.array(lower), np.array(upper), fixed, fixed,
        np.cumsum([0] + [len(row) for row in rows]).astype(np.int32),
        np.array([j for row in rows for j, _ in row], np.int32),
        np.array([a for row in rows for _, a in row]),
        patches=Patches.of(2 * RESERVOIRS + BUSES, patches),
        cut_columns=np.array([*v], np.int32),
        future_cost_column=theta,
        observed_columns=np.array([*v, theta], np.int32),
        observed_rows=np.arange(RESERVOIRS, dtype=np.int32),
    )  # fmt: skip


def parameters(rng: np.random.Generator, template: LpTemplate) -> np.ndarray:
    """Chains of openings: the incoming state belongs to the trial point, inflow to the opening."""
    capacity = template.column_upper[template.cut_columns]
    state = np.repeat(rng.uniform(0.1, 0.9, (POINTS, RESERVOIRS)) * capacity, OPENINGS, axis=0)
    inflow = np.tile(rng.lognormal(8.0, 0.6, (OPENINGS, RESERVOIRS)), (POINTS, 1))
    load = np.tile(np.full(BUSES, 12000.0), (len(state), 1))
    return np.ascontiguousarray(np.concatenate([state, inflow, load], axis=1))


def convex_cuts(rng: np.random.Generator, template: LpTemplate) -> tuple[np.ndarray, np.ndarray]:
    """Tangents of a convex function of the storage, as trained cuts are."""
    capacity = template.column_upper[template.cut_columns]
    share = rng.uniform(0.0, 1.0, (CUTS, RESERVOIRS))
    value, slope = 4e9 * (1.0 - share) ** 2, -8e9 * (1.0 - share) / capacity
    return (value - slope * share * capacity).sum(axis=1), slope


def loop(highs: highspy.Highs, template: LpTemplate, rows: np.ndarray, duals: np.ndarray) -> float:
    """The straightforward way: bounds one by one, solution lists turned into arrays."""
    zeta, first_load = 0.0036 * 730.0, 3 * RESERVOIRS
    objectives = np.empty(len(rows))
    begin = time.perf_counter()
    for n, p in enumerate(rows):
        for h in range(RESERVOIRS):
            highs.changeRowBounds(h, p[h], p[h])
            highs.changeRowBounds(RESERVOIRS + h, p[RESERVOIRS + h], p[RESERVOIRS + h])
            highs.changeRowBounds(2 * RESERVOIRS + h, zeta * p[RESERVOIRS + h], zeta * p[RESERVOIRS + h])
        for bus in range(BUSES):
            highs.changeRowBounds(first_load + bus, p[2 * RESERVOIRS + bus], p[2 * RESERVOIRS + bus])
        highs.run()
        solution = highs.getSolution()
        duals[n] = np.array(solution.row_dual)[:RESERVOIRS]
        np.array(solution.col_value)
        objectives[n] = highs.getInfo().objective_function_value
    return time.perf_counter() - begin


def peer(template: LpTemplate, intercepts: np.ndarray, coefficients: np.ndarray) -> highspy.Highs:
    """The same program in highspy, its own scaling on."""
    highs = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("parallel", "off"), ("presolve", "off")):
        highs.setOptionValue(option, value)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = template.n_columns, template.n_rows
    model.col_cost_, model.col_lower_, model.col_upper_ = (
        template.column_cost,
        template.column_lower,
        template.column_upper,
    )
    model.row_lower_, model.row_upper_ = template.row_lower, template.row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = (
        template.row_starts,
        template.column_indices,
        template.values,
    )
    highs.passModel(model)
    columns = np.concatenate([[template.future_cost_column], template.cut_columns]).astype(np.int32)
    for intercept, row in zip(intercepts, coefficients, strict=True):
        highs.addRow(intercept, np.inf, len(columns), columns, np.concatenate([[1.0], -row]))
    return highs


def main() -> None:
    """Rounds alternate between the two, so that drift hits both alike; medians are reported."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-store", action="store_true", help="print only")
    options = parser.parse_args()
    rng = np.random.default_rng(7)
    template = stage(rng)
    assert (template.n_rows, template.n_columns) == (17, 167)
    rows = parameters(rng, template)
    intercepts, coefficients = convex_cuts(rng, template)
    solver = LpSolver(template)
    solver.append_cuts(intercepts, coefficients)
    highs = peer(template, intercepts, coefficients)
    n = len(rows)
    chained = solver.allocate(n, chain_length=OPENINGS, bases=True, cut_dual=True)
    single = solver.allocate(n, bases=True, cut_dual=True)
    duals = np.empty((n, RESERVOIRS))
    assert solver.solve_batch(rows, chained, chain_length=OPENINGS, basis_of=0).is_optimal
    assert solver.solve_batch(rows, single).is_optimal
    start, starts = chained.bases.copy(), single.bases.copy()
    loop(highs, template, rows, duals)
    print(
        "largest difference of the objective, relative:",
        np.abs(single.objective / chained.objective - 1).max(),
    )

    samples: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, output, length, bases in (
            ("backward", chained, OPENINGS, start),
            ("forward", single, 1, starts),
        ):
            solver.reset_counters()
            begin = time.perf_counter()
            solver.solve_batch(rows, output, chain_length=length, start_bases=bases)
            wall = time.perf_counter() - begin
            counters = solver.counters()
            samples.setdefault(f"{name}: whole", []).append(wall / n * 1e6)
            for part in ("run", "basis", "patch", "extract"):
                samples.setdefault(f"{name}: {part}", []).append(counters[f"{part}_ns"] / n / 1e3)
            inside = (counters["run_ns"] + counters["basis_ns"]) * 1e-9
            samples.setdefault(f"{name}: around HiGHS", []).append((wall - inside) / n * 1e6)
            samples.setdefault(f"{name}: iterations", []).append(counters["iterations"] / n)
        samples.setdefault("highspy loop: whole", []).append(loop(highs, template, rows, duals) / n * 1e6)
        samples.setdefault("highspy loop: run alone", []).append(run_alone(highs, rows, template) / n * 1e6)
    figures = {name: statistics.median(values) for name, values in samples.items()}
    if options.no_store:
        for name, value in figures.items():
            print(f"  {name:<28} {value:9.2f}")
    else:
        publish("lp_batch", "us per solve (iterations: a count)", figures)


def run_alone(highs: highspy.Highs, rows: np.ndarray, template: LpTemplate) -> float:
    """Time inside ``run`` of the plain loop."""
    spent = 0.0
    zeta = 0.0036 * 730.0
    for p in rows:
        for h in range(RESERVOIRS):
            highs.changeRowBounds(h, p[h], p[h])
            highs.changeRowBounds(RESERVOIRS + h, p[RESERVOIRS + h], p[RESERVOIRS + h])
            highs.changeRowBounds(2 * RESERVOIRS + h, zeta * p[RESERVOIRS + h], zeta * p[RESERVOIRS + h])
        begin = time.perf_counter()
        highs.run()
        spent += time.perf_counter() - begin
    return spent


if __name__ == "__main__":
    main()

"""The stage problem written a second time, term by term from the equations of the case format.

It shares nothing with the package but the case: variables are found by name in a dictionary, inflow enters the
water balance through its lag terms, and idle slacks are there with an upper bound of 0.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from cobre.core.case import Case
from sddp.subproblem.dense import Solution, solve_dense

INF = float("inf")


class Reference:
    """Variables by name, rows as (terms, lower, upper)."""

    def __init__(self) -> None:
        self.index: dict[tuple, int] = {}
        self.cost: list[float] = []
        self.bounds: list[tuple[float, float]] = []
        self.rows: list[tuple[dict[tuple, float], float, float]] = []

    def variable(self, *name, lower=0.0, upper=INF, cost=0.0):
        assert name not in self.index
        self.index[name] = len(self.cost)
        self.cost.append(cost)
        self.bounds.append((lower, upper))
        return name

    def row(self, terms, lower, upper):
        self.rows.append((dict(terms), lower, upper))

    def solve(self) -> Solution:
        matrix = np.zeros((len(self.rows), len(self.cost)))
        for i, (terms, _, _) in enumerate(self.rows):
            for name, value in terms.items():
                matrix[i, self.index[name]] += value
        lower, upper = zip(*self.bounds, strict=True)
        return solve_dense(
            self.cost, lower, upper, matrix, [row[1] for row in self.rows], [row[2] for row in self.rows]
        )


def reference_cost(case: Case, t: int, psi, storage, lags, noise, load, available, cut, theta_bound) -> float:
    """The optimal value of stage ``t``; ``cut`` is (intercept, gradient) or None; ``psi`` is ``[hydro, lag]``."""
    lp = Reference()
    stage, system, tables = case.horizon.stages[t], case.system, case.tables
    hours = [block.hours for block in stage.blocks]
    blocks, total = range(len(hours)), sum(hours)
    columns = case.horizon.blocks_of(t)
    tau, zeta = [0.0036 * h for h in hours], 0.0036 * total
    balance: dict[tuple, defaultdict] = {
        (b, k): defaultdict(float) for b in range(len(system.buses)) for k in blocks
    }
    hydros, costs = tables.hydro, tables.hydro_costs
    buys_inflow = case.config.inflow_non_negativity.endswith("penalty")

    for h, plant in enumerate(system.hydros):
        lp.variable("v", h, lower=hydros.min_storage_hm3[h, t], upper=hydros.max_storage_hm3[h, t])
        lp.variable("sig", h, upper=INF if buys_inflow else 0.0, cost=costs.negative_inflow[h, t] * total)
        k0, kv = hydros.evaporation_base_m3s[h, t], hydros.evaporation_slope[h, t]
        evaporates = INF if plant.has_evaporation else 0.0
        most = 2 * abs(k0 + kv * hydros.max_storage_hm3[h, t]) if plant.has_evaporation else 0.0
        lp.variable("ev", h, lower=-most, upper=most)
        lp.variable("ev+", h, upper=evaporates, cost=costs.evaporation_below[h, t] * total)
        lp.variable("ev-", h, upper=evaporates, cost=costs.evaporation_above[h, t] * total)
        withdraws = INF if hydros.withdrawal_m3s[h, t] > 0 else 0.0
        lp.variable("ww-", h, upper=withdraws, cost=costs.withdrawal_below[h, t] * total)
        lp.variable("ww+", h, upper=withdraws, cost=costs.withdrawal_above[h, t] * total)
        planes = hydros.planes_of(h, t)
        rho = hydros.productivity_mw_per_m3s[h, t]
        for k in blocks:
            q_max = hydros.max_turbined_m3s[h, t]
            if not len(planes) and rho > 0:
                q_max = min(q_max, hydros.max_generation_mw[h, t] / rho)
            q_cost = costs.turbined[h, t] * hours[k]
            q = lp.variable("q", h, k, upper=q_max, cost=q_cost)
            s = lp.variable("s", h, k, cost=costs.spillage[h, t] * hours[k])
            canal = hydros.max_diversion_m3s[h, t] if plant.diversion else 0.0
            d = lp.variable("d", h, k, upper=canal, cost=costs.diversion[h, t] * hours[k])
            power = {q: rho}
            if len(planes):
                g = lp.variable("g", h, k, upper=hydros.max_generation_mw[h, t])
                power = {g: 1.0}
                for constant, gamma_v, gamma_q, gamma_s in planes:
                    lp.row(
                        {g: 1.0, ("v", h): -gamma_v / 2, q: -gamma_q, s: -gamma_s},
                        -INF,
                        constant + gamma_v / 2 * storage[h],
                    )
            for name, value in power.items():
                balance[plant.bus, k][name] += value
            limits = {
                "ob": hydros.min_outflow_m3s[h, t],
                "tb": hydros.min_turbined_m3s[h, t],
                "gb": hydros.min_generation_mw[h, t],
            }
            price = {"ob": costs.outflow_below, "tb": costs.turbined_below, "gb": costs.generation_below}
            expression = {"ob": {q: 1.0, s: 1.0, d: 1.0}, "tb": {q: 1.0}, "gb": power}
            for slack, limit in limits.items():
                name = lp.variable(
                    slack, h, k, upper=INF if limit > 0 else 0.0, cost=price[slack][h, t] * hours[k]
                )
                lp.row({**expression[slack], name: 1.0}, limit, INF)
            oa = lp.variable("oa", h, k, cost=costs.outflow_above[h, t] * hours[k])
            lp.row({q: 1.0, s: 1.0, d: 1.0, oa: -1.0}, -INF, hydros.max_outflow_m3s[h, t])
        if plant.has_evaporation:
            rhs = k0 + kv / 2 * storage[h]
            lp.row({("ev", h): 1.0, ("v", h): -kv / 2, ("ev+", h): 1.0, ("ev-", h): -1.0}, rhs, rhs)

    network = tables.line
    for i, line in enumerate(system.lines):
        eta = 1 - line.losses_percent / 100
        for k in blocks:
            price = network.exchange_cost_per_mwh[i, t] * hours[k]
            direct = lp.variable("f+", i, k, upper=network.direct_mw[i, columns][k], cost=price)
            reverse = lp.variable("f-", i, k, upper=network.reverse_mw[i, columns][k], cost=price)
            balance[line.source_bus, k][direct] -= 1.0
            balance[line.source_bus, k][reverse] += eta
            balance[line.target_bus, k][direct] += eta
            balance[line.target_bus, k][reverse] -= 1.0

    def add_power(kind, plants, lower, upper, price, signs):
        for i, (plant, sign) in enumerate(zip(plants, signs, strict=True)):
            for k in blocks:
                name = lp.variable(
                    kind, i, k, lower=lower[i, t], upper=upper[i, t], cost=price[i, t] * hours[k]
                )
                balance[plant.bus, k][name] += sign

    heat, trade = tables.thermal, tables.contract
    ones = [1.0] * len(system.thermals)
    add_power("th", system.thermals, heat.min_generation_mw, heat.max_generation_mw, heat.cost_per_mwh, ones)
    signs = [1.0 if each.is_import else -1.0 for each in system.contracts]
    add_power("chi", system.contracts, trade.min_mw, trade.max_mw, trade.price_per_mwh, signs)
    for i, source in enumerate(system.non_controllables):
        for k in blocks:
            name = lp.variable(
                "ncs",
                i,
                k,
                upper=available[i] * tables.non_controllable.factor[i, columns][k],
                cost=-tables.non_controllable.curtailment_cost_per_mwh[i, t] * hours[k],
            )
            balance[source.bus, k][name] += 1.0
    for i, pump in enumerate(system.pumping_stations):
        for k in blocks:
            name = lp.variable(
                "p", i, k, lower=tables.pumping.min_flow_m3s[i, t], upper=tables.pumping.max_flow_m3s[i, t]
            )
            balance[pump.bus, k][name] -= pump.consumption_mw_per_m3s
    for b, bus in enumerate(system.buses):
        for k in blocks:
            for j, segment in enumerate(bus.deficit_segments):
                depth = INF if segment.depth_mw is None else segment.depth_mw
                name = lp.variable("def", b, j, k, upper=depth, cost=segment.cost_per_mwh * hours[k])
                balance[b, k][name] += 1.0
            name = lp.variable("exc", b, k, cost=tables.bus.excess_cost_per_mwh[b, t] * hours[k])
            balance[b, k][name] -= 1.0
            demand = load[b] * tables.bus.load_factor[b, columns][k]
            lp.row(balance[b, k], demand, demand)

    for h in range(len(system.hydros)):
        terms: defaultdict = defaultdict(float, {("v", h): 1.0, ("sig", h): -zeta, ("ev", h): zeta})
        terms["ww-", h], terms["ww+", h] = -zeta, zeta
        for k in blocks:
            for name in ("q", "s", "d"):
                terms[name, h, k] += tau[k]
            for u, upstream in enumerate(system.hydros):
                if upstream.downstream == h:
                    terms["q", u, k] -= tau[k]
                    terms["s", u, k] -= tau[k]
                if upstream.diversion and upstream.diversion.downstream == h:
                    terms["d", u, k] -= tau[k]
            for i, pump in enumerate(system.pumping_stations):
                terms["p", i, k] += tau[k] * ((pump.source_hydro == h) - (pump.destination_hydro == h))
        inflow = noise[h] + sum(psi[h][lag] * lags[lag][h] for lag in range(len(lags)))
        rhs = storage[h] + zeta * (inflow - hydros.withdrawal_m3s[h, t])
        lp.row(terms, rhs, rhs)

    is_last = t == case.horizon.n_stages - 1
    theta = lp.variable(
        "theta", lower=0.0 if is_last else theta_bound, upper=0.0 if is_last else INF, cost=stage.discount
    )
    if cut is not None:
        intercept, gradient = cut
        n = len(system.hydros)
        inflows = [noise[h] + sum(psi[h][lag] * lags[lag][h] for lag in range(len(lags))) for h in range(n)]
        past = [*inflows, *np.ravel(lags[:-1])] if len(lags) else []
        constant = intercept + sum(g * x for g, x in zip(gradient[n:], past, strict=True))
        lp.row({theta: 1.0, **{("v", h): -gradient[h] for h in range(n)}}, constant, INF)
    return lp.solve().objective

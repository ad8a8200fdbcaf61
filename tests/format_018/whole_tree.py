"""The optimum of a small case of 0.18 as one linear program over the whole scenario tree, written from the equations.

Blocks are parallel, and there is nothing here of travel times, plants decided ahead or graphs of nodes. Nothing is
taken from the package under test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import highspy
import numpy as np

from format_018.plain_data import Noise, PlainData
from format_018.small import Case018

INF = float("inf")
CONSTANT = -1
"""The key of an expression's constant; other keys are columns."""
Expression = dict[int, float]


def total(parts: Iterable[tuple[float, Expression]]) -> Expression:
    """Sum of expressions times factors."""
    found: Expression = {}
    for factor, expression in parts:
        for key, value in expression.items():
            found[key] = found.get(key, 0.0) + factor * value
    return found


class Program:
    """Columns and rows, and the least value of one column."""

    def __init__(self) -> None:
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.rows: list[tuple[float, float, Expression]] = []

    def column(self, lower: float = 0.0, upper: float = INF) -> Expression:
        self.lower.append(lower)
        self.upper.append(upper)
        return {len(self.lower) - 1: 1.0}

    def between(self, lower: float, expression: Expression, upper: float) -> None:
        shift = expression.get(CONSTANT, 0.0)
        terms = {key: value for key, value in expression.items() if key != CONSTANT}
        self.rows.append((lower - shift, upper - shift, terms))

    def least(self, objective: Expression) -> float:
        (column,) = objective
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.lower), len(self.rows)
        cost = np.zeros(len(self.lower))
        cost[column] = 1.0
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, np.array(self.lower), np.array(self.upper)
        lp.row_lower_ = np.array([row[0] for row in self.rows])
        lp.row_upper_ = np.array([row[1] for row in self.rows])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        starts = np.cumsum([0] + [len(row[2]) for row in self.rows])
        lp.a_matrix_.start_ = starts.astype(np.int32)
        lp.a_matrix_.index_ = np.array([key for row in self.rows for key in row[2]], dtype=np.int32)
        lp.a_matrix_.value_ = np.array([value for row in self.rows for value in row[2].values()])
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            solver.setOptionValue(name, 1e-9)
        solver.passModel(lp)
        solver.run()
        status = solver.getModelStatus()
        assert status == highspy.HighsModelStatus.kOptimal, status
        return float(solver.getInfo().objective_function_value)


def optimum(case: Case018, *, has_floor: bool = False) -> float:
    """The least cost (or risk) of the case over its openings; ``has_floor``: no future is worth less than 0."""
    return WholeTree(case, has_floor).optimum()


class WholeTree:
    """One node per path of openings."""

    def __init__(self, case: Case018, has_floor: bool) -> None:
        self.data, self.has_floor = PlainData(case), has_floor
        self.noise = Noise(self.data)
        self.program = Program()
        self.meanings, self.right_sides = case.meanings, case.right_sides

    def optimum(self) -> float:
        initial = self.data.documents["initial_conditions.json"]
        storage = {
            entry["hydro_id"]: {CONSTANT: entry["value_hm3"]}
            for entry in (*initial["storage"], *initial["filling_storage"])
        }
        for number, hydro in self.data.hydros.items():
            filling = hydro.get("filling")
            if filling is not None and filling["start_stage_id"] > self.data.ids[0]:
                storage[number] = {CONSTANT: 0.0}
        return self.program.least(self._risk(0, storage, self.noise.first_lags()))

    def _risk(self, stage: int, storage: dict[int, Expression], lags: dict[int, list[float]]) -> Expression:
        """What the openings of a stage cost, weighed by the measure of the stage before."""
        count = self.data.stages[stage]["num_openings"]
        costs = [self._node(stage, opening, storage, lags) for opening in range(count)]
        measure = self.data.stages[max(stage - 1, 0)].get("risk_measure", "expectation")
        mean = total((1.0 / count, cost) for cost in costs)
        risk = self.program.column(-INF)
        if measure == "expectation":
            self.program.between(0.0, total([(1.0, risk), (-1.0, mean)]), 0.0)
            return risk
        alpha, weight = measure["cvar"]["alpha"], measure["cvar"]["lambda"]
        threshold = self.program.column(-INF)
        excess = [self.program.column() for _ in costs]
        for cost, above in zip(costs, excess, strict=True):
            self.program.between(0.0, total([(1.0, above), (-1.0, cost), (1.0, threshold)]), INF)
        tail = total([(1.0, threshold), *((1.0 / (alpha * count), above) for above in excess)])
        self.program.between(0.0, total([(1.0, risk), (weight - 1.0, mean), (-weight, tail)]), 0.0)
        return risk

    def _node(
        self, stage: int, opening: int, storage: dict[int, Expression], lags: dict[int, list[float]]
    ) -> Expression:
        node = Node(self, stage, opening, storage, self.noise.inflows(stage, opening, lags))
        cost = node.build()
        value = self.program.column(-INF)
        parts = [(1.0, value), (-1.0, cost)]
        if stage + 1 < len(self.data.stages):
            following = {
                number: [node.inflow[number], *past][: len(past)] if past else []
                for number, past in lags.items()
            }
            future = self._risk(stage + 1, node.final, following)
            if self.has_floor:
                risk, future = future, self.program.column()
                self.program.between(0.0, total([(1.0, future), (-1.0, risk)]), INF)
            parts.append((-self.data.discount(stage), future))
        self.program.between(0.0, total(parts), 0.0)
        return value


class Node:
    """The decisions of one stage after one history, added to the program of a tree."""

    def __init__(
        self,
        tree: WholeTree,
        stage: int,
        opening: int,
        storage: dict[int, Expression],
        inflow: dict[int, float],
    ) -> None:
        self.data, self.noise, self.program = tree.data, tree.noise, tree.program
        self.meanings, self.right_sides = tree.meanings, tree.right_sides
        self.stage, self.opening, self.initial, self.inflow = stage, opening, storage, inflow
        self.hours = self.data.hours[stage]
        self.blocks = range(len(self.hours))
        self.costs: list[tuple[float, Expression]] = []
        self.final: dict[int, Expression] = {}
        self.water: dict[int, list[tuple[float, Expression]]] = {number: [] for number in self.data.hydros}
        self.arriving: dict[tuple[int, int], list[tuple[float, Expression]]] = {}
        """By hydro and block, inflow and releases that reach it, m3/s."""
        self.power: dict[tuple[int, int], list[tuple[float, Expression]]] = {}
        """By bus and block, MW."""
        self.values: dict[tuple[str, Any, int], Expression] = {}
        """What constraints may speak of, by name, entity and block."""

    def build(self) -> Expression:
        """Add everything; the cost of the stage."""
        for number in self.data.hydros:
            self._hydro(number)
        self._pumps()
        for number in self.data.hydros:
            if self.data.phase(self.data.hydros[number], self.stage) != "absent":
                self.program.between(0.0, total(self.water[number]), 0.0)
        self._thermals()
        self._sources()
        self._contracts()
        self._lines()
        self._buses()
        for constraint in self.data.documents.get("constraints/generic_constraints.json", {}).get(
            "constraints", []
        ):
            self._constraint(constraint)
        return total(self.costs)

    def _pay(self, price: float, expression: Expression) -> None:
        self.costs.append((price, expression))

    def _flow(self, hydro: int | None, factor: float, flow: Expression) -> None:
        if hydro is not None:
            self.water[hydro].append((factor, flow))

    def _arrives(self, hydro: int | None, block: int, flow: Expression) -> None:
        """Water that comes to a plant; it passes those that are not there."""
        while hydro is not None:
            self.arriving.setdefault((hydro, block), []).append((1.0, flow))
            if self.data.phase(self.data.hydros[hydro], self.stage) != "absent":
                self._flow(hydro, -0.0036 * self.hours[block], flow)
                return
            hydro = self.data.hydros[hydro].get("downstream_id")

    def _put(self, bus: int, block: int, factor: float, power: Expression) -> None:
        self.power.setdefault((bus, block), []).append((factor, power))

    # Water

    def _hydro(self, number: int) -> None:
        data, stage, hydro = self.data, self.stage, self.data.hydros[number]
        phase = data.phase(hydro, stage)
        hours, target = sum(self.hours), data.present_at_or_below(number, stage)
        for block in self.blocks:
            self._arrives(number, block, {CONSTANT: self.inflow[number]})
        method = data.documents["config.json"]["modeling"]["inflow_non_negativity"]["method"]
        if method.endswith("penalty"):
            missing = self.program.column()
            self._flow(target, -0.0036 * hours, missing)
            self._pay(data.price(number, "inflow_nonnegativity_cost", stage) * hours, missing)
        self._withdrawal(number, target)
        self._storage(number, phase)
        if phase == "absent":
            return
        self._flow(number, 1.0, self.final[number])
        self._flow(number, -1.0, self.initial[number])
        for block in self.blocks:
            self._releases(number, block, phase)
        self._evaporation(number)

    def _limit(self, number: int, name: str, block: int, base: Any) -> Any:
        path = "constraints/hydro_bounds.parquet"
        return self.data.limit(path, {"hydro_id": number}, name, self.stage, block, base)

    def _storage(self, number: int, phase: str) -> None:
        hydro, stage = self.data.hydros[number], self.stage
        if phase == "absent":
            self.final[number] = self.initial[number]
            return
        limits = hydro["reservoir"]
        least = self._limit(number, "min_storage_hm3", 0, limits["min_storage_hm3"])
        most = self._limit(number, "max_storage_hm3", 0, limits["max_storage_hm3"])
        is_soft = hydro.get("filling") is not None
        volume = self.program.column(0.0 if is_soft else least, most)
        self.final[number] = volume
        if not is_soft:
            return
        name = "storage_violation_below_cost"
        if phase == "filling":
            name, least = "filling_target_violation_cost", self._target(number)
        missing = self.program.column()
        self.program.between(least, total([(1.0, volume), (1.0, missing)]), INF)
        self._pay(self.data.price(number, name, stage), missing)

    def _target(self, number: int) -> float:
        """The volume that a reservoir should have reached: backwards from the dead volume."""
        hydro, data = self.data.hydros[number], self.data
        dead = hydro["reservoir"]["min_storage_hm3"]
        wanted = dead
        for later in range(self.stage + 1, len(data.stages)):
            if data.ids[later] >= hydro["entry_stage_id"]:
                break
            rate = data.limit(
                "constraints/hydro_bounds.parquet",
                {"hydro_id": number},
                "filling_min_rate_m3s",
                later,
                -1,
                hydro["filling"].get("filling_min_rate_m3s", 0.0),
            )
            wanted -= 0.0036 * sum(data.hours[later]) * rate
        return float(min(wanted, dead))

    def _withdrawal(self, number: int, target: int | None) -> None:
        wanted = self._limit(number, "water_withdrawal_m3s", -1, 0.0)
        if not wanted:
            return
        hours = sum(self.hours)
        less = self.program.column(0.0, wanted if wanted > 0.0 else INF)
        more = self.program.column(0.0, -wanted if wanted < 0.0 else INF)
        taken = total([(1.0, {CONSTANT: wanted}), (-1.0, less), (1.0, more)])
        self._flow(target, 0.0036 * hours, taken)
        self._pay(hours * self.data.price(number, "water_withdrawal_violation_neg_cost", self.stage), less)
        self._pay(hours * self.data.price(number, "water_withdrawal_violation_pos_cost", self.stage), more)

    def _evaporation(self, number: int) -> None:
        found = self.data.evaporation(number, self.stage)
        if found is None:
            return
        constant, slope = found
        hours = sum(self.hours)
        most = self._limit(
            number, "max_storage_hm3", 0, self.data.hydros[number]["reservoir"]["max_storage_hm3"]
        )
        reach = 2.0 * abs(constant + slope * most)
        flow, less, more = self.program.column(-reach, reach), self.program.column(), self.program.column()
        middle = total([(0.5, self.initial[number]), (0.5, self.final[number])])
        row = total([(1.0, flow), (-slope, middle), (1.0, less), (-1.0, more)])
        self.program.between(constant, row, constant)
        self._flow(number, 0.0036 * hours, flow)
        self._pay(hours * self.data.price(number, "evaporation_violation_neg_cost", self.stage), less)
        self._pay(hours * self.data.price(number, "evaporation_violation_pos_cost", self.stage), more)
        for block in self.blocks:
            self.values["hydro_evaporation", number, block] = flow

    def _releases(self, number: int, block: int, phase: str) -> None:
        data, stage, hydro = self.data, self.stage, self.data.hydros[number]
        hours = self.hours[block]
        spilled = self.program.column(
            self._limit(number, "min_spillage_m3s", block, 0.0),
            self._limit(number, "max_spillage_m3s", block, INF),
        )
        self._pay(hours * data.price(number, "spillage_cost", stage), spilled)
        turbined = self._cells(number, block, spilled) if phase == "operating" else {}
        outflow = total([(1.0, turbined), (1.0, spilled)])
        self._flow(number, 0.0036 * hours, outflow)
        self._arrives(hydro.get("downstream_id"), block, outflow)
        self.values["hydro_turbined", number, block] = turbined
        self.values["hydro_spillage", number, block] = spilled
        self.values["hydro_outflow", number, block] = outflow
        self._diversion(number, block)
        price = hours * data.price(number, "outflow_violation_below_cost", stage)
        least = self._limit(number, "min_outflow_m3s", block, hydro["outflow"]["min_outflow_m3s"])
        self._soft(least, outflow, INF, price, price)
        most = self._limit(number, "max_outflow_m3s", block, hydro["outflow"].get("max_outflow_m3s"))
        price = hours * data.price(number, "outflow_violation_above_cost", stage)
        self._soft(-INF, outflow, INF if most is None else most, price, price)

    def _soft(self, lower: float, expression: Expression, upper: float, below: float, above: float) -> None:
        """A row that may be missed at a price per unit and stage."""
        parts = [(1.0, expression)]
        for bound, sign, price in ((lower, 1.0, below), (upper, -1.0, above)):
            if abs(bound) < INF:
                slack = self.program.column()
                parts.append((sign, slack))
                self._pay(price, slack)
        self.program.between(lower, total(parts), upper)

    def _diversion(self, number: int, block: int) -> None:
        hydro, data, stage = self.data.hydros[number], self.data, self.stage
        canal = hydro.get("diversion")
        if canal is None or hydro.get("filling") is not None:
            return
        flow = self.program.column(
            self._limit(number, "min_diversion_m3s", block, 0.0),
            self._limit(number, "max_diversion_m3s", block, canal["max_flow_m3s"]),
        )
        self._pay(self.hours[block] * data.price(number, "diversion_cost", stage), flow)
        self._flow(number, 0.0036 * self.hours[block], flow)
        self._arrives(canal["downstream_id"], block, flow)
        self.values["hydro_diversion", number, block] = flow

    def _cells(self, number: int, block: int, spilled: Expression) -> Expression:
        """Turbines and power of a plant by bus; all that is turbined."""
        data, stage, hydro = self.data, self.stage, self.data.hydros[number]
        model = data.production(number, stage)
        has_planes, rho = model["model"] == "fpha", model["productivity_mw_per_m3s"]
        plant = {
            name: self._limit(number, name, block, hydro["generation"][name])
            for name in ("max_turbined_m3s", "max_generation_mw")
        }
        capacity = sum(group["max_turbined_m3s"] for group in hydro["unit_groups"])
        found = []
        for bus in sorted({group["bus_id"] for group in hydro["unit_groups"]}):
            groups = [group for group in hydro["unit_groups"] if group["bus_id"] == bus]
            limits = [self._group(number, group, block) for group in groups]
            share = sum(group["max_turbined_m3s"] for group in groups) / capacity
            most = min(sum(each["max_turbined_m3s"] for each in limits), plant["max_turbined_m3s"])
            if not has_planes:
                most = min(sum(usable(each, rho) for each in limits), usable(plant, rho))
            flow = self.program.column(0.0, most)
            power = total([(rho, flow)])
            if has_planes:
                highest = sum(each["max_generation_mw"] for each in limits)
                power = self.program.column(0.0, min(highest, plant["max_generation_mw"]))
                self._planes(number, share, power, flow, spilled)
            self._pay(self.hours[block] * data.price(number, "turbined_cost", stage), flow)
            self._put(bus, block, 1.0, power)
            for name, expression in (("turbined", flow), ("generation", power)):
                unit = "m3s" if name == "turbined" else "mw"
                least = sum(each[f"min_{name}_{unit}"] for each in limits)
                price = data.price(number, f"{name}_violation_below_cost", stage)
                if least > 0.0:
                    self._soft(least, expression, INF, self.hours[block] * price, 0.0)
                self.values[f"hydro_{name}", (number, bus), block] = expression
            self.values["hydro_generation", number, block] = total(
                [(1.0, self.values.get(("hydro_generation", number, block), {})), (1.0, power)]
            )
            found.append((1.0, flow))
        return total(found)

    def _group(self, number: int, group: Mapping[str, Any], block: int) -> dict[str, float]:
        path = "constraints/hydro_unit_group_bounds.parquet"
        keys = {"hydro_id": number, "hydro_unit_group_id": group["id"]}
        names = ("min_turbined_m3s", "max_turbined_m3s", "min_generation_mw", "max_generation_mw")
        return {name: self.data.limit(path, keys, name, self.stage, block, group[name]) for name in names}

    def _planes(
        self, number: int, share: float, power: Expression, flow: Expression, spilled: Expression
    ) -> None:
        middle = total([(0.5, self.initial[number]), (0.5, self.final[number])])
        path, at = "system/fpha_hyperplanes.parquet", self.data.ids[self.stage]
        planes = self.data.rows(path, hydro_id=number, stage_id=at)
        for plane in planes or self.data.rows(path, hydro_id=number, stage_id=None):
            parts = [
                (1.0, power),
                (-share * plane["gamma_v"], middle),
                (-plane["gamma_q"], flow),
                (-share * plane["gamma_s"], spilled),
            ]
            self.program.between(-INF, total(parts), share * plane["gamma_0"] * plane.get("kappa", 1.0))

    def _pumps(self) -> None:
        path = "constraints/pumping_bounds.parquet"
        for pump in self.data.list_of("system/pumping_stations.json", "pumping_stations"):
            is_there = self.data.is_there(pump, self.stage)
            for block in self.blocks:
                low, high = (
                    self.data.limit(path, {"pumping_station_id": pump["id"]}, name, self.stage, block, base)
                    for name, base in pump["flow"].items()
                )
                flow = self.program.column(low if is_there else 0.0, high if is_there else 0.0)
                volume = 0.0036 * self.hours[block]
                self._flow(pump["source_hydro_id"], volume, flow)
                self._flow(pump["destination_hydro_id"], -volume, flow)
                self._put(pump["bus_id"], block, -pump["consumption_mw_per_m3s"], flow)
                self.values["pumping_flow", pump["id"], block] = flow
                self.values["pumping_power", pump["id"], block] = total(
                    [(pump["consumption_mw_per_m3s"], flow)]
                )

    # Power

    def _thermals(self) -> None:
        path = "constraints/thermal_bounds.parquet"
        for plant in self.data.list_of("system/thermals.json", "thermals"):
            keys, is_there = {"thermal_id": plant["id"]}, self.data.is_there(plant, self.stage)
            cost = self.data.limit(path, keys, "cost_per_mwh", self.stage, -1, plant["cost_per_mwh"])
            for block in self.blocks:
                low, high = (
                    self.data.limit(path, keys, f"{side}_generation_mw", self.stage, block, base)
                    for side, base in (
                        ("min", plant["generation"]["min_mw"]),
                        ("max", plant["generation"]["max_mw"]),
                    )
                )
                power = self.program.column(low if is_there else 0.0, high if is_there else 0.0)
                self._pay(cost * self.hours[block], power)
                self._put(plant["bus_id"], block, 1.0, power)
                self.values["thermal_generation", plant["id"], block] = power

    def _sources(self) -> None:
        name = "system/non_controllable_sources.json"
        for source in self.data.list_of(name, "non_controllable_sources"):
            available = self.noise.available(source, self.stage, self.opening)
            base = source.get("curtailment_cost")
            if base is None:
                base = self.data.penalties["non_controllable_source"]["curtailment_cost"]
            price = self.data.bus_price("ncs", "ncs_id", source["id"], "curtailment_cost", self.stage, base)
            for block in self.blocks:
                path = "scenarios/non_controllable_factors.json"
                factor = self.noise.factor(
                    path, "ncs_id", "non_controllable_factors", source["id"], self.stage, block
                )
                most = available * factor if self.data.is_there(source, self.stage) else 0.0
                power = self.program.column(0.0 if source.get("allow_curtailment", True) else most, most)
                self._pay(-price * self.hours[block], power)
                self._put(source["bus_id"], block, 1.0, power)

    def _contracts(self) -> None:
        path = "constraints/contract_bounds.parquet"
        for contract in self.data.list_of("system/energy_contracts.json", "contracts"):
            keys, is_there = {"contract_id": contract["id"]}, self.data.is_there(contract, self.stage)
            sign = 1.0 if contract["type"] == "import" else -1.0
            for block in self.blocks:
                low, high, price = (
                    self.data.limit(path, keys, name, self.stage, block, base)
                    for name, base in (
                        ("min_mw", contract["limits"]["min_mw"]),
                        ("max_mw", contract["limits"]["max_mw"]),
                        ("price_per_mwh", contract["price_per_mwh"]),
                    )
                )
                power = self.program.column(low if is_there else 0.0, high if is_there else 0.0)
                self._pay(price * self.hours[block], power)
                self._put(contract["bus_id"], block, sign, power)
                self.values[f"contract_{contract['type']}", contract["id"], block] = power

    def _lines(self) -> None:
        path = "constraints/line_bounds.parquet"
        for line in self.data.list_of("system/lines.json", "lines"):
            base = line.get("exchange_cost")
            base = self.data.penalties["line"]["exchange_cost"] if base is None else base
            price = self.data.bus_price("line", "line_id", line["id"], "exchange_cost", self.stage, base)
            kept = 1.0 - (line.get("losses_percent") or 0.0) / 100.0
            ends = (line["source_bus_id"], line["target_bus_id"])
            for block in self.blocks:
                flows = []
                for name, (source, target) in (("direct", ends), ("reverse", ends[::-1])):
                    capacity = line["capacity"][f"{name}_mw"]
                    keys = {"line_id": line["id"]}
                    most = self.data.limit(path, keys, f"{name}_mw", self.stage, block, capacity)
                    flow = self.program.column(0.0, most if self.data.is_there(line, self.stage) else 0.0)
                    self._pay(price * self.hours[block], flow)
                    self._put(source, block, -1.0, flow)
                    self._put(target, block, kept, flow)
                    self.values[f"line_{name}", line["id"], block] = flow
                    flows.append(flow)
                net = total([(1.0, flows[0]), (-1.0, flows[1])])
                self.values["line_exchange", line["id"], block] = net

    def _buses(self) -> None:
        for bus in self.data.list_of("system/buses.json", "buses"):
            load = self.noise.load(bus["id"], self.stage, self.opening)
            common = self.data.penalties["bus"]
            segments = bus.get("deficit_segments") or common["deficit_segments"]
            price = self.data.bus_price(
                "bus", "bus_id", bus["id"], "excess_cost", self.stage, common["excess_cost"]
            )
            for block in self.blocks:
                path = "scenarios/load_factors.json"
                factor = self.noise.factor(path, "bus_id", "load_factors", bus["id"], self.stage, block)
                missing = []
                for segment in segments:
                    depth = segment["depth_mw"]
                    part = self.program.column(0.0, INF if depth is None else depth)
                    self._pay(segment["cost"] * self.hours[block], part)
                    missing.append((1.0, part))
                excess = self.program.column()
                self._pay(price * self.hours[block], excess)
                parts = [*self.power.get((bus["id"], block), []), *missing, (-1.0, excess)]
                self.program.between(load * factor, total(parts), load * factor)
                self.values["bus_deficit", bus["id"], block] = total(missing)
                self.values["bus_excess", bus["id"], block] = excess

    # Constraints

    def _constraint(self, constraint: Mapping[str, Any]) -> None:
        """Every row of bounds of this stage; what the text means was left beside it by whoever wrote it."""
        terms = self.meanings[constraint["id"]]
        stocks = ("hydro_storage", "hydro_useful_volume", "hydro_evaporation")
        is_stock = all(name.startswith(stocks) for _, name, _ in terms)
        path = "constraints/generic_constraint_bounds.parquet"
        for row in self.data.rows(path, constraint_id=constraint["id"], stage_id=self.data.ids[self.stage]):
            blocks = self.blocks if row["block_id"] is None else [row["block_id"]]
            is_whole = is_stock and row["block_id"] is None
            for block in [0] if is_whole else blocks:
                expression = total(
                    (coefficient(factor, self.stage, block), self._value(name, entity, block))
                    for factor, name, entity in terms
                )
                lower, upper = row["bound_lower"], row["bound_upper"]
                if (right := self.right_sides.get(constraint["id"])) is not None:
                    upper = (upper or 0.0) + right
                lower, upper = (-INF if lower is None else lower), (INF if upper is None else upper)
                slack = constraint["slack"]
                if not slack["enabled"]:
                    self.program.between(lower, expression, upper)
                    continue
                price = slack["penalty"] * (sum(self.hours) if is_whole else self.hours[block])
                self._soft(lower, expression, upper, price, price)

    def _value(self, name: str, entity: Any, block: int) -> Expression:
        if name in ("hydro_storage", "hydro_storage_final", "hydro_useful_volume_final"):
            found = self.final[entity]
        elif name in ("hydro_storage_initial", "hydro_useful_volume_initial"):
            found = self.initial[entity]
        elif name == "hydro_inflow":
            return total(self.arriving.get((entity, block), []))
        else:
            return self.values.get((name, entity, block), {})
        if "useful" not in name:
            return found
        dead = self.data.hydros[entity]["reservoir"]["min_storage_hm3"]
        return total([(1.0, found), (-dead, {CONSTANT: 1.0})])


def coefficient(factor: Any, stage: int, block: int) -> float:
    """A coefficient: a number, or a function of stage and block."""
    return float(factor(stage, block) if callable(factor) else factor)


def usable(limits: Mapping[str, float], rho: float) -> float:
    """Flow that turbines and generators can use."""
    most = limits["max_turbined_m3s"]
    return min(most, limits["max_generation_mw"] / rho) if rho > 0.0 else most

"""Random small studies with chronological blocks, water that takes time and thermals that are decided ahead.

A `Plan` writes itself as a case directory, and is solved as one linear program over its whole scenario tree. The
program has no state: what arrives in a stage, and what is delivered there, refers to the columns of the stages that
released and decided it. It shares nothing with the package under test.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from files.program import COST_SCALE, INFINITY, Program, Terms
from format_018.small import START, Case018

HM3 = 0.0036


@dataclass
class River:
    """A hydro; ``below`` is the next one, ``hours`` the time to it, ``past`` windows of (days, m3/s), latest last."""

    initial: float
    most: float
    flow: float
    power: float
    inflow: list[float]
    deviation: float
    below: int | None = None
    hours: float = 0.0
    past: list[tuple[int, float]] = field(default_factory=list)
    leaves: int | None = None


@dataclass
class Fuel:
    """A thermal; ``seeds`` are MW of deliveries decided before the study, ``after`` (cost, min, max) of later ones."""

    cost: float
    most: float
    stages: int | None = None
    hours: float | None = None
    seeds: list[float] = field(default_factory=list)
    after: dict[int, tuple[float, float, float]] = field(default_factory=dict)

    @property
    def is_ahead(self) -> bool:
        return self.stages is not None or self.hours is not None


@dataclass
class Plan:
    days: list[int]
    hours: list[list[float]]
    is_chronological: list[bool]
    load: float
    factors: list[list[float]]
    rivers: list[River]
    fuels: list[Fuel]
    noise: list[list[list[float]]]
    """``[stage][opening][hydro]``."""
    after: list[int] = field(default_factory=list)
    """Days of stages after the study."""
    rate: float = 0.0

    @property
    def n(self) -> int:
        return len(self.days)

    def lengths(self, stage: int) -> float:
        declared = [sum(each) for each in self.hours] + [24.0 * days for days in self.after]
        return declared[min(stage, len(declared) - 1)]

    def begins(self, stage: int) -> float:
        return sum(self.lengths(each) for each in range(stage))

    def periods(self, stage: int) -> list[tuple[float, float]]:
        """First and last hour of each period of the water balance, from the start of the study."""
        first = self.begins(stage)
        if stage < self.n and self.is_chronological[stage]:
            ends = [first + sum(self.hours[stage][: k + 1]) for k in range(len(self.hours[stage]))]
            return list(zip([first, *ends[:-1]], ends, strict=True))
        return [(first, first + self.lengths(stage))]

    def decider(self, fuel: Fuel, delivery: int) -> int:
        if fuel.stages is not None:
            return max(-1, delivery - fuel.stages)
        moment = self.begins(delivery + 1) - fuel.hours
        if moment <= 1e-9:
            return -1
        return next(t for t in range(delivery + 1) if moment <= self.begins(t + 1) + 1e-9)

    def discount(self, stage: int) -> float:
        days = [*self.days, *self.after][:stage]
        return (1.0 + self.rate) ** (-sum(days) / 365.25)

    def write(self, folder: Path) -> Path:
        """As a case directory."""
        case = Case018(self.hours, [self.load], days=self.days)
        stages, config = case.documents["stages.json"], case.documents["config.json"]
        stages["policy_graph"]["annual_discount_rate"] = self.rate
        for t, stage in enumerate(stages["stages"]):
            stage["num_openings"] = len(self.noise[t])
            if self.is_chronological[t]:
                stage["block_mode"] = "chronological"
        training = config["training"]
        training["selection"]["forward_passes"] = 4
        training["scenario_source"] = {"seed": 3, "openings": {"source": "file"}}
        training["stopping_rules"] = [
            {"type": "iteration_limit", "limit": 120},
            {"type": "bound_stalling", "iterations": 25, "tolerance": 1e-12},
        ]
        case.set_load_factors(self.factors)
        initial = case.documents["initial_conditions.json"]
        initial["past_defluences"], initial["past_anticipated_commitments"] = [], []
        for number, river in enumerate(self.rivers):
            more = {"travel_time_hours": river.hours} if river.hours else {}
            if river.leaves is not None:
                more["exit_stage_id"] = river.leaves
            case.add_hydro(
                river.initial,
                river.most,
                flow=river.flow,
                productivity=river.power,
                downstream=river.below,
                inflow=river.inflow,
                **more,
            )
            end = START
            for days, value in reversed(river.past):
                window = {"hydro_id": number, "start_date": str(end - dt.timedelta(days=days))}
                initial["past_defluences"].append({**window, "end_date": str(end), "value_m3s": value})
                end -= dt.timedelta(days=days)
        self._write_fuels(case, initial)
        case.tables["scenarios/noise_openings.parquet"] = [
            {"stage_id": t, "opening_index": o, "entity_index": h, "value": value}
            for t, openings in enumerate(self.noise)
            for o, values in enumerate(openings)
            for h, value in enumerate(values)
        ]
        folder = case.write(folder)
        self._write_inflows(folder)
        return folder

    def _write_fuels(self, case: Case018, initial: dict) -> None:
        cells = []
        for number, fuel in enumerate(self.fuels):
            config = (
                {"lead_stages": fuel.stages} if fuel.stages is not None else {"lead_time_hours": fuel.hours}
            )
            case.add_thermal(
                fuel.cost, fuel.most, **({"anticipated_config": config} if fuel.is_ahead else {})
            )
            if not fuel.is_ahead:
                continue
            if (
                not fuel.seeds
            ):  # the public program wants a window for every such plant; this one says nothing
                before = {"start_date": str(START - dt.timedelta(days=7)), "end_date": str(START)}
                window = {"thermal_id": number, **before, "value_mw": 0.0}
                initial["past_anticipated_commitments"].append(window)
            for t, value in enumerate(fuel.seeds):
                first = START + dt.timedelta(days=sum(self.days[:t]))
                last = first + dt.timedelta(days=self.days[t])
                initial["past_anticipated_commitments"].append(
                    {"thermal_id": number, "start_date": str(first), "end_date": str(last), "value_mw": value}
                )
            cells += [
                {
                    "thermal_id": number,
                    "post_study_stage_index": index,
                    "cost_per_mwh": cost,
                    "min_mw": least,
                    "max_mw": most,
                }
                for index, (cost, least, most) in fuel.after.items()
            ]
        if self.after:
            first = START + dt.timedelta(days=sum(self.days))
            starts = [first + dt.timedelta(days=sum(self.after[:k])) for k in range(len(self.after))]
            case.documents["post_study_stages.json"] = {
                "stages": [
                    {"start_date": str(start), "duration_hours": 24.0 * days}
                    for start, days in zip(starts, self.after, strict=True)
                ],
                "thermal_bounds": cells,
            }

    def _write_inflows(self, folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [(h, t) for h in range(len(self.rivers)) for t in range(self.n)]
        pq.write_table(
            pa.table(
                {
                    "hydro_id": pa.array([h for h, _ in rows], pa.int32()),
                    "stage_id": pa.array([t for _, t in rows], pa.int32()),
                    "mean_m3s": [self.rivers[h].inflow[t] for h, t in rows],
                    "std_m3s": [self.rivers[h].deviation for h, _ in rows],
                }
            ),
            folder / "scenarios/inflow_seasonal_stats.parquet",
            compression="zstd",
        )
        openings = pq.read_table(folder / "scenarios/noise_openings.parquet")
        for name in ("opening_index", "entity_index"):
            place = openings.schema.get_field_index(name)
            openings = openings.set_column(place, name, openings[name].cast(pa.uint32()))
        pq.write_table(openings, folder / "scenarios/noise_openings.parquet", compression="zstd")


@dataclass
class Node:
    """One opening of one stage and those before it."""

    parent: Node | None
    stage: int
    storage: list[int] = field(default_factory=list)
    outflow: list[list[Terms]] = field(default_factory=list)
    """``[hydro][block]``."""
    decided: dict[tuple[int, int], int] = field(default_factory=dict)
    """By fuel and delivery."""
    costs: Terms = field(default_factory=list)

    def at(self, stage: int) -> Node:
        return self if self.stage == stage else self.parent.at(stage)


class Optimum:
    """The least cost of a plan; ``is_public``: of the program that the public Cobre 0.18 makes of it.

    That one loses water that was released before the study and arrives in its last stage, and lets water that is
    released above a plant that has left reach the next one below at once.
    """

    def __init__(self, plan: Plan, *, is_public: bool = False) -> None:
        self.plan, self.program, self.is_public = plan, Program(), is_public

    def value(self) -> float:
        roots = [self._node(None, 0, opening) for opening in range(len(self.plan.noise[0]))]
        return self.program.minimum(self._mean(roots))

    def _mean(self, costs: list[int]) -> int:
        return self.program.risk("expectation", costs)

    def _node(self, parent: Node | None, stage: int, opening: int) -> int:
        plan, node = self.plan, Node(parent, stage)
        for river in plan.rivers:
            is_there = river.leaves is None or stage < river.leaves
            node.storage.append(self.program.column(0.0, river.most))
            node.outflow.append([])
            for hours in plan.hours[stage]:
                turbined = self.program.column(0.0, river.flow if is_there else 0.0)
                spilled = self.program.column(0.0, INFINITY if is_there else 0.0)
                node.costs.append((spilled, 1e-9 * hours))
                node.outflow[-1].append([(turbined, 1.0), (spilled, 1.0)])
        self._add_power(node)
        self._add_water(node, plan.noise[stage][opening])
        total = self.program.column(-INFINITY)
        terms = [(total, COST_SCALE), *((column, -price) for column, price in node.costs)]
        if stage + 1 < plan.n:
            children = [self._node(node, stage + 1, each) for each in range(len(plan.noise[stage + 1]))]
            factor = plan.discount(stage + 1) / plan.discount(stage)
            terms.append((self._mean(children), -COST_SCALE * factor))
        self.program.row(terms, 0.0, 0.0)
        return total

    def _add_power(self, node: Node) -> None:
        plan, t, program = self.plan, node.stage, self.program
        supply: list[Terms] = [[] for _ in plan.hours[t]]
        for number, fuel in enumerate(plan.fuels):
            is_given = fuel.is_ahead and plan.decider(fuel, t) < t
            columns = [program.column(0.0, fuel.most) for _ in plan.hours[t]]
            for k, (column, hours) in enumerate(zip(columns, plan.hours[t], strict=True)):
                supply[k].append((column, 1.0))
                if not is_given:
                    node.costs.append((column, fuel.cost * hours))
            if is_given:
                energy = [(c, hours) for c, hours in zip(columns, plan.hours[t], strict=True)]
                stage = plan.decider(fuel, t)
                whole = plan.lengths(t)
                if stage < 0:
                    program.row(energy, whole * fuel.seeds[t], whole * fuel.seeds[t])
                else:
                    program.row([*energy, (node.at(stage).decided[number, t], -whole)], 0.0, 0.0)
            if fuel.is_ahead:
                self._add_decisions(node, number, fuel)
        for k, hours in enumerate(plan.hours[t]):
            deficit, excess = program.column(), program.column()
            node.costs += [(deficit, 1000.0 * hours), (excess, 0.01 * hours)]
            water = [
                (columns[k][0][0], river.power)
                for river, columns in zip(plan.rivers, node.outflow, strict=True)
            ]
            load = plan.load * plan.factors[t][k]
            program.row([*supply[k], *water, (deficit, 1.0), (excess, -1.0)], load, load)

    def _add_decisions(self, node: Node, number: int, fuel: Fuel) -> None:
        plan, t = self.plan, node.stage
        for delivery in range(t + 1, plan.n + len(plan.after)):
            if plan.decider(fuel, delivery) != t:
                continue
            cost, least, most = fuel.cost, 0.0, fuel.most
            if delivery >= plan.n:
                cost, least, most = fuel.after[delivery - plan.n]
            column = self.program.column(least, most)
            factor = plan.discount(delivery) / plan.discount(t)
            node.costs.append((column, cost * plan.lengths(delivery) * factor))
            node.decided[number, delivery] = column

    def _add_water(self, node: Node, noise: list[float]) -> None:
        plan, t = self.plan, node.stage
        periods = plan.periods(t)
        inner = [
            [
                self.program.column(0.0, river.most) if p + 1 < len(periods) else node.storage[h]
                for p in range(len(periods))
            ]
            for h, river in enumerate(plan.rivers)
        ]
        for p, (first, last) in enumerate(periods):
            blocks = [p] if plan.is_chronological[t] and len(plan.hours[t]) > 1 else range(len(plan.hours[t]))
            water: list[Terms] = [[] for _ in plan.rivers]
            fixed = [0.0 for _ in plan.rivers]
            for h, river in enumerate(plan.rivers):
                to = self._receiver(h, t)
                if to is not None:
                    fixed[to] += HM3 * (last - first) * (river.inflow[t] + river.deviation * noise[h])
                for k in blocks:
                    volume = HM3 * plan.hours[t][k]
                    water[h] += [(column, volume) for column, _ in node.outflow[h][k]]
                    if river.below is not None and not river.hours:
                        to = self._receiver(river.below, t)
                        if to is not None:
                            water[to] += [(column, -volume) for column, _ in node.outflow[h][k]]
                if river.below is not None and river.hours:
                    self._arrive(node, h, p, water, fixed)
            for h, river in enumerate(plan.rivers):
                terms = [(inner[h][p], 1.0), *water[h]]
                if p:
                    terms.append((inner[h][p - 1], -1.0))
                elif node.parent is not None:
                    terms.append((node.parent.storage[h], -1.0))
                else:
                    fixed[h] += river.initial
                self.program.row(terms, fixed[h], fixed[h])

    def _receiver(self, hydro: int | None, stage: int) -> int | None:
        while hydro is not None:
            leaves = self.plan.rivers[hydro].leaves
            if leaves is None or stage < leaves:
                return hydro
            hydro = self.plan.rivers[hydro].below
        return None

    def _arrive(self, node: Node, h: int, p: int, water: list[Terms], fixed: list[float]) -> None:
        """Water of hydro ``h`` that reaches the plant below it in period ``p`` of the node's stage."""
        plan, t, river = self.plan, node.stage, self.plan.rivers[h]
        to = self._receiver(river.below, t)
        if to is None:
            return
        periods = plan.periods(t)
        share = self._density(river, t)[p]
        stage_begin, stage_end = periods[0][0], periods[-1][1]
        for s in range(t + 1):
            released = node.at(s)
            for q, (first, last) in enumerate(plan.periods(s)):
                window = first + river.hours, last + river.hours
                if s == t and self.is_public and to != river.below:
                    part = float(p == q)
                elif s == t:
                    part = overlap(window, periods[p]) / (last - first)
                else:
                    part = share * overlap(window, (stage_begin, stage_end)) / (last - first)
                is_cut = plan.is_chronological[s] and len(plan.hours[s]) > 1
                for k in [q] if is_cut else range(len(plan.hours[s])):
                    volume = HM3 * plan.hours[s][k] * part
                    water[to] += [(column, -volume) for column, _ in released.outflow[h][k]]
        end = 0.0
        if self.is_public and t == plan.n - 1:
            return
        for days, value in reversed(river.past):
            window = (end - 24.0 * days + river.hours, end + river.hours)
            fixed[to] += share * HM3 * value * overlap(window, (stage_begin, stage_end))
            end -= 24.0 * days

    def _density(self, river: River, t: int) -> list[float]:
        plan = self.plan
        periods = plan.periods(t)
        found = [0.0] * len(periods)
        for s in range(t):
            window = plan.begins(s) + river.hours, plan.begins(s + 1) + river.hours
            for p, period in enumerate(periods):
                found[p] += overlap(window, period) / plan.lengths(s)
        if not any(found):
            found = [last - first for first, last in periods]
        return [each / sum(found) for each in found]


def overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    return max(0.0, min(one[1], other[1]) - max(one[0], other[0]))


def draw(seed: int) -> Plan:
    """A random plan of three or four stages."""
    random = Random(seed)
    n = random.choice([3, 3, 4])
    days = [random.choice([5, 7, 10, 14]) for _ in range(n)]
    hours, chronological = [], []
    for each in days:
        blocks = random.choice([1, 2, 3])
        parts = sorted(random.sample(range(1, 6), blocks - 1))
        ends = [*(24.0 * each * part / 6.0 for part in parts), 24.0 * each]
        hours.append([b - a for a, b in zip([0.0, *ends[:-1]], ends, strict=True)])
        chronological.append(random.random() < 0.5)
    rivers = []
    shared = random.choice([30.0, 50.0, 110.0, 200.0, 400.0])
    n_rivers = random.choice([2, 3, 3])
    leaves = random.choice([None, None, n - 1]) if n_rivers == 3 else None
    for h in range(n_rivers):
        below = h + 1 if h + 1 < n_rivers else None
        if n_rivers == 3 and h == 0 and random.random() < 0.4:
            below = 2
        hours_below = shared if below is not None and random.random() < 0.75 else 0.0
        lasting = int(-(-hours_below // 24))
        split = random.randint(0, lasting)
        past = [(lasting - split + 2, random.uniform(0.0, 30.0)), (split, random.uniform(0.0, 30.0))]
        rivers.append(
            River(
                initial=random.uniform(0.0, 8.0),
                most=random.uniform(8.0, 25.0),
                flow=random.uniform(20.0, 60.0),
                power=random.uniform(0.3, 1.2),
                inflow=[random.uniform(4.0, 25.0) for _ in range(n)],
                deviation=random.choice([0.0, 2.0]),
                below=below,
                hours=hours_below,
                past=[window for window in past if window[0]] if hours_below else [],
                leaves=leaves if h == 1 else None,
            )
        )
    after = [random.choice([5, 7, 10]) for _ in range(random.choice([0, 1, 2]))]
    plan = Plan(
        days,
        hours,
        chronological,
        load=random.uniform(80.0, 130.0),
        factors=[[random.choice([0.5, 1.0, 1.6]) for _ in each] for each in hours],
        rivers=rivers,
        fuels=[Fuel(random.uniform(60.0, 90.0), 25.0), Fuel(random.uniform(150.0, 300.0), 40.0)],
        noise=[
            [
                [random.uniform(-1.5, 1.5) for _ in rivers]
                for _ in range(1 if t == 0 else random.choice([1, 2]))
            ]
            for t in range(n)
        ],
        after=after,
        rate=random.choice([0.0, 0.4]),
    )
    for _ in range(random.choice([0, 1, 2])):
        _add_fuel(plan, random)
    if not any(fuel.is_ahead for fuel in plan.fuels) and not any(river.hours for river in rivers):
        plan.after = []
    return plan


def _add_fuel(plan: Plan, random: Random) -> None:
    """A thermal that is decided ahead, with what its lead time asks for."""
    fuel = Fuel(random.uniform(20.0, 55.0), random.uniform(15.0, 40.0))
    if random.random() < 0.5:
        fuel.stages = random.choice([1, 2])
    else:
        fuel.hours = random.choice([40.0, 120.0, 168.0, 240.0, 300.0])
    every = range(plan.n + len(plan.after))
    by_stage = [plan.decider(fuel, m) for m in every]
    ahead = [t for m, t in enumerate(by_stage) if -1 < t < min(m, plan.n)]
    if len(set(ahead)) < len(ahead) or any(by_stage[m] == -1 for m in range(plan.n, len(by_stage))):
        return
    fuel.seeds = [random.uniform(0.0, fuel.most) for m in range(plan.n) if by_stage[m] == -1]
    for m in range(plan.n, len(by_stage)):
        if by_stage[m] < plan.n:
            fuel.after[m - plan.n] = (random.uniform(20.0, 50.0), random.choice([0.0, 4.0]), 30.0)
    plan.fuels.append(fuel)

"""A linear program that grows by columns and rows, and one node of the tree inside it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import highspy
import numpy as np

Terms = list[tuple[int, float]]
INFINITY = highspy.kHighsInf
# Costs inside the program are in thousands: the solver's tolerances are absolute.
COST_SCALE = 1e3


class Program:
    def __init__(self) -> None:
        self.column_bounds: list[tuple[float, float]] = []
        self.row_bounds: list[tuple[float, float]] = []
        self.rows: list[dict[int, float]] = []

    def column(self, lower: float = 0.0, upper: float = INFINITY) -> int:
        self.column_bounds.append((lower, upper))
        return len(self.column_bounds) - 1

    def row(self, terms: Terms, lower: float, upper: float) -> None:
        summed: dict[int, float] = defaultdict(float)
        for column, coefficient in terms:
            summed[column] += coefficient
        self.rows.append(summed)
        self.row_bounds.append((lower, upper))

    def risk(self, measure: str | dict, costs: list[int]) -> int:
        """Column with the risk of equally likely ``costs``: ``(1 - lambda) E + lambda CVaR_alpha``."""
        risk = self.column(-INFINITY)
        if measure == "expectation":
            self.row([(risk, 1.0), *((cost, -1.0 / len(costs)) for cost in costs)], 0.0, 0.0)
            return risk
        tail, weight = measure["cvar"]["alpha"], measure["cvar"]["lambda"]
        threshold = self.column(-INFINITY)
        terms = [(risk, 1.0), (threshold, -weight), *((cost, -(1.0 - weight) / len(costs)) for cost in costs)]
        for cost in costs:
            excess = self.column()
            self.row([(excess, 1.0), (cost, -1.0), (threshold, 1.0)], 0.0, INFINITY)
            terms.append((excess, -weight / tail / len(costs)))
        self.row(terms, 0.0, 0.0)
        return risk

    def minimum(self, objective: int) -> float:
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.column_bounds), len(self.rows)
        cost = np.zeros(lp.num_col_)
        cost[objective] = 1.0
        lp.col_cost_ = cost
        lp.col_lower_, lp.col_upper_ = np.array(self.column_bounds, dtype=float).T
        lp.row_lower_, lp.row_upper_ = np.array(self.row_bounds, dtype=float).T
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.cumsum([0, *map(len, self.rows)]).astype(np.int32)
        lp.a_matrix_.index_ = np.array([column for row in self.rows for column in row], dtype=np.int32)
        lp.a_matrix_.value_ = np.array([value for row in self.rows for value in row.values()])
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.passModel(lp)
        solver.run()
        assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal, solver.getModelStatus()
        return solver.getInfo().objective_function_value * COST_SCALE


@dataclass
class Node:
    """One opening of one stage, as far as it is written.

    ``variables[name, entity, block]`` is what an expression means by that name: terms and a constant.
    """

    program: Program
    stage: dict
    hours: list[float]
    noise: dict[tuple[str, int], float]
    inflows: dict[int, float]
    incoming: dict[int, Terms]
    """Storage at the start by hydro; empty at the root, where ``initial`` holds the number."""
    initial: dict[int, float]
    storage: dict[int, int] = field(default_factory=dict)
    costs: Terms = field(default_factory=list)
    water: dict[int, Terms] = field(default_factory=lambda: defaultdict(list))
    power: dict[tuple[int, int], Terms] = field(default_factory=lambda: defaultdict(list))
    variables: dict[tuple[str, int, int], tuple[Terms, float]] = field(default_factory=dict)

    @property
    def stage_id(self) -> int:
        return self.stage["id"]

    def priced(self, price: float, lower: float = 0.0, upper: float = INFINITY) -> int:
        """A new column with a price; hours are the caller's."""
        column = self.program.column(lower, upper)
        self.costs.append((column, price))
        return column

    def name(self, name: str, entity: int, block: int, terms: Terms, constant: float = 0.0) -> None:
        self.variables[name, entity, block] = terms, constant

    def cost(self, discount: float = 0.0, future: int | None = None) -> int:
        """Column with the cost from this node on."""
        total = self.program.column(-INFINITY)
        terms = [(total, COST_SCALE), *((column, -price) for column, price in self.costs)]
        if future is not None:
            terms.append((future, -COST_SCALE * discount))
        self.program.row(terms, 0.0, 0.0)
        return total

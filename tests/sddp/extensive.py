"""The whole scenario tree as one LP: what training must converge to, without any cut or pass.

Every node of the tree is a copy of its stage's template whose incoming state is its parent's outgoing state.
``C`` of a node is its own cost plus the discounted risk ``R`` of its children; the optimum is the risk of the
nodes of the first stage.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import highspy
import numpy as np

from cobre.core.case import Case
from cobre.sddp.subproblem import StageProblem
from sddp.subproblem.dense import patched


@dataclass
class Rows:
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    terms: list[dict[int, float]] = field(default_factory=list)

    def add(self, lower: float, upper: float, terms: dict[int, float]) -> None:
        self.lower.append(lower)
        self.upper.append(upper)
        self.terms.append(terms)


class Tree:
    def __init__(self, case, problems, values, state, advance, probabilities=None, boundary=None):
        """``values[node][opening]`` are the parameters after the state; ``state`` is where the study starts.

        ``advance(stage, lags, inflow)`` gives the lags of the next stage, which no decision can change.
        ``probabilities[node]`` are those of its openings; they are equal in nodes that it does not have. The nodes of a
        chain are its stages.
        ``boundary`` are cuts, rows of intercept and coefficients, of what follows the last stage.
        """
        self.boundary = boundary
        self.case: Case = case
        self.problems: list[StageProblem] = problems
        self.values, self.state, self.advance = values, state, advance
        self.probabilities = probabilities or {}
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.rows = Rows()
        self.graph = case.horizon.policy_graph
        self.truncates = case.config.inflow_non_negativity.startswith("truncation")

    def optimum(self) -> float:
        root = self._risk_of_children(None, None, np.asarray(self.state))
        return self._solve(root)

    def _column(self, lower: float = -np.inf, upper: float = np.inf) -> int:
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.lower) - 1

    def _risk_of_children(self, node: int | None, parent: list[int] | None, lags: np.ndarray) -> int:
        """Column that holds the risk of all openings of all children of ``node``; without one, of the root's."""
        here = None if node is None else self.graph.nodes[node]
        measure = self.case.horizon.stages[0 if here is None else here.stage].risk
        edges = [(0, 1.0)] if here is None else zip(here.children, here.probabilities, strict=True)
        children, parts = [], []
        for child, probability in edges:
            n = len(self.values[child])
            children += [self._node(child, opening, parent, lags) for opening in range(n)]
            own = self.probabilities.get(child)
            parts.append(probability * (np.full(n, 1.0 / n) if own is None else np.asarray(own)))
        shares = np.concatenate(parts)
        risk = self._column()
        if measure.is_expectation:
            self.rows.add(0.0, 0.0, {risk: 1.0, **dict(zip(children, -shares, strict=True))})
            return risk
        # Rockafellar and Uryasev: CVaR = min over t of t + E[max(0, cost - t)] / tail.
        threshold = self._column()
        excesses = [self._column(0.0) for _ in children]
        for child, excess in zip(children, excesses, strict=True):
            self.rows.add(0.0, np.inf, {excess: 1.0, child: -1.0, threshold: 1.0})
        weight = measure.weight
        in_tail = dict(zip(excesses, -weight / measure.tail * shares, strict=True))
        everywhere = dict(zip(children, -(1.0 - weight) * shares, strict=True))
        self.rows.add(0.0, 0.0, {risk: 1.0, threshold: -weight, **in_tail, **everywhere})
        return risk

    def _node(self, node: int, opening: int, parent: list[int] | None, state: np.ndarray) -> int:
        stage = self.graph.nodes[node].stage
        problem = self.problems[stage]
        template, layout = problem.template, problem.parameters
        parameters = np.concatenate([state, self.values[node][opening]])
        inflow = self._inflow(problem, parameters)
        bounds = patched(template, parameters)
        columns = [
            self._column(a, b) for a, b in zip(bounds["column_lower"], bounds["column_upper"], strict=True)
        ]
        theta = template.future_cost_column
        fixing = {int(row): j for j, row in enumerate(template.observed_rows[: layout.state_dimension])}
        for row in range(len(template.row_lower)):
            span = range(template.row_starts[row], template.row_starts[row + 1])
            terms = {columns[template.column_indices[k]]: float(template.values[k]) for k in span}
            a, b = bounds["row_lower"][row], bounds["row_upper"][row]
            if parent is not None and row in fixing:
                terms[parent[fixing[row]]] = -1.0
                a = b = 0.0
            self.rows.add(a, b, terms)
        cost = self._column()
        terms = {cost: 1.0}
        for column, price in enumerate(template.column_cost):
            if price and column != theta:
                terms[columns[column]] = -float(price)
        if self.graph.nodes[node].children:
            outgoing = [columns[c] for c in template.cut_columns]
            following = self._shifted(stage, layout, state, inflow)
            future = self._risk_of_children(node, outgoing, following)
            terms[future] = -float(template.column_cost[theta])
        elif self.boundary is not None:
            terms[columns[theta]] = -float(template.column_cost[theta])
            outgoing = [columns[c] for c in template.cut_columns]
            for intercept, *slopes in self.boundary:
                cut = {columns[theta]: 1.0}
                for column, slope in zip(outgoing, slopes, strict=True):
                    cut[column] = cut.get(column, 0.0) - float(slope)
                self.rows.add(float(intercept), np.inf, cut)
        self.rows.add(0.0, 0.0, terms)
        return cost

    def _inflow(self, problem: StageProblem, parameters: np.ndarray) -> np.ndarray:
        """Inflows of this node, which no decision can change; truncation raises the noise term in ``parameters``."""
        layout = problem.parameters
        lags = parameters[layout.lags].reshape(layout.n_lags, layout.n_hydros)
        psi = self.coefficients(problem)
        past = (psi.T * lags).sum(axis=0)
        if self.truncates:
            inflow = parameters[layout.inflow]
            parameters[layout.inflow] = np.where(self.sigma(problem) > 0.0, np.maximum(inflow, -past), inflow)
        return parameters[layout.inflow] + past

    def coefficients(self, problem: StageProblem) -> np.ndarray:
        """``[hydro, lag]`` read from the rows of the template."""
        template, layout = problem.template, problem.parameters
        psi = np.zeros((layout.n_hydros, layout.n_lags))
        where = {
            int(c): (h, lag)
            for lag, row in enumerate(problem.columns.state.incoming_lags)
            for h, c in enumerate(row)
        }
        for row in problem.rows.inflow:
            for k in range(template.row_starts[row], template.row_starts[row + 1]):
                if int(template.column_indices[k]) in where:
                    psi[where[int(template.column_indices[k])]] = -template.values[k]
        return psi

    def sigma(self, problem: StageProblem) -> np.ndarray:
        """Whether a hydro's inflow is random in this stage."""
        layout = problem.parameters
        part = slice(
            layout.inflow.start - layout.state_dimension, layout.inflow.stop - layout.state_dimension
        )
        values = np.concatenate([self.values[node] for node in self.graph.of_stage[problem.stage]])
        return np.ptp(values[:, part], axis=0)

    def _shifted(self, stage: int, layout, state: np.ndarray, inflow: np.ndarray) -> np.ndarray:
        """Where the lags of the next stage stand; storages are left to the LP."""
        following = state.copy()
        lags = state[layout.lags].reshape(layout.n_lags, layout.n_hydros)
        following[layout.lags] = self.advance(stage, lags, inflow).ravel()
        return following

    def _solve(self, objective: int) -> float:
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.lower), len(self.rows.lower)
        cost = np.zeros(len(self.lower))
        cost[objective] = 1.0
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, np.array(self.lower), np.array(self.upper)
        lp.row_lower_, lp.row_upper_ = np.array(self.rows.lower), np.array(self.rows.upper)
        starts = np.concatenate(([0], np.cumsum([len(terms) for terms in self.rows.terms])))
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = starts.astype(np.int32)
        lp.a_matrix_.index_ = np.array([c for terms in self.rows.terms for c in terms], dtype=np.int32)
        lp.a_matrix_.value_ = np.array([v for terms in self.rows.terms for v in terms.values()])
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.passModel(lp)
        solver.run()
        assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal, solver.getModelStatus()
        return solver.getInfo().objective_function_value

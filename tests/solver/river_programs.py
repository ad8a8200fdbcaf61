"""Stages with water under way and generation that was decided before: columns that one equation defines, and equations
that leave no choice where a plant was decided to run at a limit."""

from __future__ import annotations

import numpy as np

from cobre.solver import LpTemplate, Patches, Target

N_BLOCKS = 3
SHARES = np.array([0.5, 0.25, 0.25])
"""Of the hours of a stage."""


class RiverProgram:
    """Plants in a cascade and thermals.

    Parameters: incoming storages and buckets, inflows, loads of the blocks, then what each thermal has to deliver.
    """

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.is_degenerate = seed % 2 == 0
        self.n_hydros, self.n_thermals = int(rng.integers(1, 5)), int(rng.integers(1, 5))
        self.cost: list[float] = []
        self.bounds: list[tuple[float, float]] = []
        self.rows: list[dict[int, float]] = []
        self.patches: list[tuple[Target, int, int, float, float]] = []
        self.n_parameters = 0
        n = self.n_hydros
        storages = [self._column(0.0, 0.0, self.draw(20, 60)) for _ in range(n)]
        buckets = [self._column(0.0, 0.0, np.inf) for _ in range(n)]
        self.theta = self._column(1.0, 0.0, np.inf)
        releases = [[self._column(0.0, 0.0, self.draw(5, 20)) for _ in range(N_BLOCKS)] for _ in range(n)]
        spills = [[self._column(0.001, 0.0, np.inf) for _ in range(N_BLOCKS)] for _ in range(n)]
        self.maxima = [self.draw(3, 12) for _ in range(self.n_thermals)]
        thermals = [[self._column(0.0, 0.0, top) for _ in range(N_BLOCKS)] for top in self.maxima]
        deficits = [self._column(50.0 + k, 0.0, np.inf) for k in range(N_BLOCKS)]
        excesses = [self._column(0.5, 0.0, np.inf) for _ in range(N_BLOCKS)]
        incoming = [self._given(-np.inf, np.inf) for _ in storages]
        arriving = [self._given(-np.inf, np.inf) for _ in buckets]
        for h in range(n):
            balance = {storages[h]: 1.0, incoming[h]: -1.0, arriving[h]: -0.5}
            bucket = {buckets[h]: float(rng.choice([1.0, 2.0, -4.0])), arriving[h]: -0.5}
            later = float(self.draw(1, 5)) / 8.0
            sign = 1.0 if bucket[buckets[h]] > 0.0 else -1.0
            bucket[arriving[h]] *= sign
            for flows in (releases[h], spills[h]):
                for k, column in enumerate(flows):
                    balance[column] = SHARES[k]
                    bucket[column] = -sign * later * SHARES[k]
            if h:
                for flows in (releases[h - 1], spills[h - 1]):
                    balance |= {column: -(1.0 - later) * SHARES[k] for k, column in enumerate(flows)}
            self._equation(balance, self._parameter())
            self._equation(bucket, None)
        for k in range(N_BLOCKS):
            supply = {releases[h][k]: float(self.draw(1, 3)) for h in range(n)}
            supply |= {plant[k]: 1.0 for plant in thermals}
            self._equation(supply | {deficits[k]: 1.0, excesses[k]: -1.0}, self._parameter())
        for plant in thermals:
            delivered = self._given(-np.inf, np.inf)
            delivery = {column: SHARES[k] for k, column in enumerate(plant)}
            self._equation(delivery | {delivered: -1.0}, None)
        self.cut_columns = [*storages, *buckets]

    def draw(self, low: float, high: float) -> float:
        """An integer where ties are wanted."""
        value = self.rng.uniform(low, high)
        return float(np.round(value)) if self.is_degenerate else float(value)

    def _column(self, cost: float, lower: float, upper: float) -> int:
        self.cost.append(cost)
        self.bounds.append((lower, upper))
        return len(self.cost) - 1

    def _parameter(self) -> int:
        self.n_parameters += 1
        return self.n_parameters - 1

    def _equation(self, row: dict[int, float], parameter: int | None) -> None:
        if parameter is not None:
            self.patches.append((Target.ROW_EQUAL, len(self.rows), parameter, 0.0, 1.0))
        self.rows.append(row)

    def _given(self, lower: float, upper: float) -> int:
        column = self._column(0.0, lower, upper)
        self._equation({column: 1.0}, self._parameter())
        return column

    def template(self) -> LpTemplate:
        """All rows are equations; duals of all of them are observed."""
        starts = np.cumsum([0] + [len(row) for row in self.rows])
        return LpTemplate(
            np.array(self.cost),
            np.array([low for low, _ in self.bounds]),
            np.array([high for _, high in self.bounds]),
            np.zeros(len(self.rows)),
            np.zeros(len(self.rows)),
            starts.astype(np.int32),
            np.array([j for row in self.rows for j in row], np.int32),
            np.array([a for row in self.rows for a in row.values()]),
            patches=Patches.of(self.n_parameters, self.patches),
            cut_columns=np.array(self.cut_columns, np.int32),
            future_cost_column=self.theta,
            observed_columns=np.array(self.cut_columns, np.int32),
            observed_rows=np.arange(len(self.rows), dtype=np.int32),
        )

    def parameters(self, n: int, *, least_arriving: float = 0.0) -> np.ndarray:
        """``[n, parameter]``: most of what is delivered is nothing, or all that a plant can generate."""
        rng, h = self.rng, self.n_hydros
        values = [
            np.array([[self.draw(0, 30) for _ in range(h)] for _ in range(n)]),
            np.array([[self.draw(least_arriving, 10) for _ in range(h)] for _ in range(n)]),
            np.array([[self.draw(0, 15) for _ in range(h)] for _ in range(n)]),
            np.array([[self.draw(5, 40) for _ in range(N_BLOCKS)] for _ in range(n)]),
            np.array(self.maxima) * rng.choice([0.0, 0.0, 1.0, 1.0, 0.4], (n, self.n_thermals)),
        ]
        return np.concatenate(values, axis=1)

    def cuts(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Intercepts and coefficients."""
        slopes = [[-self.draw(0, 6) for _ in self.cut_columns] for _ in range(n)]
        return np.array([self.draw(50, 400) for _ in range(n)]), np.array(slopes)

"""Random programs of every kind of row and bound, many of them degenerate, in chains with changing sides and cuts."""

from __future__ import annotations

import numpy as np

from cobre.solver import LpTemplate, Patches, Target

PENALTY = 60.0


class RandomProgram:
    """A template with ``n_state`` columns in its cuts.

    Even seeds draw integers, repeat rows and give equal costs: then many bases are optimal. Rows can give way at a
    price, unless ``is_hard``: then some programs have no solution. ``scale`` multiplies rows and columns.
    """

    def __init__(self, seed: int, *, is_hard: bool = False, scale: int = 1) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.is_degenerate = seed % 2 == 0
        self.n_state = int(rng.integers(1, 6)) * scale
        self.n_rows = int(rng.integers(1, 12)) * scale
        n = self.n_state + 1 + int(rng.integers(4, 30)) * scale
        theta = self.n_state
        cost = np.maximum(self.draw(-3, 20, n), 0.0)
        lower = np.where(rng.random(n) < 0.2, self.draw(-5, 0, n), 0.0)
        upper = np.where(rng.random(n) < 0.3, np.inf, lower + self.draw(0, 30, n))
        is_boxed = np.isfinite(upper) & (rng.random(n) < 0.2)
        cost[is_boxed] -= 5.0
        cost[theta], lower[theta], upper[theta] = 1.0, 0.0, np.inf
        self.cost, self.lower, self.upper = list(cost), list(lower), list(upper)
        self.rows: list[dict[int, float]] = []
        self.sides: list[tuple[float, float]] = []
        self.patches: list[tuple[Target, int, int, float, float]] = []
        self._add_incoming()
        for _ in range(self.n_rows):
            self._add_row(n, is_hard)
        self._add_delivered(is_hard)

    def draw(self, low: float, high: float, n: int | None = None):
        """Integers where ties are wanted."""
        values = self.rng.uniform(low, high, n)
        return np.round(values) if self.is_degenerate else values

    def _column(self, cost: float, lower: float, upper: float) -> int:
        self.cost.append(cost)
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.cost) - 1

    def _add_incoming(self) -> None:
        """Free columns fixed by a row each, and one that follows from two of them."""
        self.incoming = [self._column(0.0, -np.inf, np.inf) for _ in range(self.n_state)]
        for k, column in enumerate(self.incoming):
            self.patches.append((Target.ROW_EQUAL, len(self.rows), k, 0.0, 1.0))
            self.rows.append({column: 1.0 + k})
            self.sides.append((0.0, 0.0))
        derived = self._column(float(self.draw(0, 2)), -np.inf, np.inf)
        self.rows.append({derived: 2.0, self.incoming[0]: 1.0, self.incoming[-1]: -0.5})
        self.sides.append((1.0, 1.0))
        self.incoming.append(derived)

    def _add_delivered(self, is_hard: bool) -> None:
        """A column with limits that is half of an incoming one; nothing gives way if it is beyond them."""
        low, high = (0.0, 12.0) if is_hard else (-40.0, 40.0)
        delivered = self._column(float(self.draw(0, 5)), low, high)
        self.rows[-1][delivered] = 1.0
        self.rows.append({delivered: 2.0, int(self.rng.choice(self.incoming[:-1])): -1.0})
        self.sides.append((0.0, 0.0))

    def _add_row(self, n: int, is_hard: bool) -> None:
        rng, number = self.rng, len(self.rows)
        if self.is_degenerate and number > self.n_state + 2 and rng.random() < 0.3:
            row = {j: a for j, a in self.rows[-1].items() if j < n}
        else:
            chosen = rng.choice(n, int(rng.integers(2, min(9, n))), replace=False)
            values = self.draw(-4, 4, len(chosen))
            row = {int(j): float(a) or 1.0 for j, a in zip(chosen, values, strict=True) if j != self.n_state}
            row[int(rng.choice(self.incoming))] = -1.0
        if not is_hard:
            row[self._column(PENALTY, 0.0, np.inf)] = 1.0
            row[self._column(PENALTY + 1.0, 0.0, np.inf)] = -1.0
        side, width = float(self.draw(-10, 20)), float(self.draw(0, 8))
        parameter = self.n_state + number - self.n_state - 1
        match int(rng.integers(0, 4)):
            case 0:
                self.patches.append((Target.ROW_EQUAL, number, parameter, side, 1.0))
                self.sides.append((side, side))
            case 1:
                self.patches.append((Target.ROW_LOWER, number, parameter, side, 1.0))
                self.sides.append((side, np.inf))
            case 2:
                self.patches.append((Target.ROW_UPPER, number, parameter, side, 1.0))
                self.sides.append((-np.inf, side))
            case _:
                self.sides.append((side, side + width))
        self.rows.append(row)

    def template(self) -> LpTemplate:
        """With all columns that can be in a cut, incoming ones among them."""
        starts = np.cumsum([0] + [len(row) for row in self.rows])
        return LpTemplate(
            np.array(self.cost),
            np.array(self.lower),
            np.array(self.upper),
            np.array([low for low, _ in self.sides]),
            np.array([high for _, high in self.sides]),
            starts.astype(np.int32),
            np.array([j for row in self.rows for j in row], np.int32),
            np.array([a for row in self.rows for a in row.values()]),
            patches=Patches.of(self.n_parameters, self.patches),
            cut_columns=np.array([*range(self.n_state), self.incoming[-1]], np.int32),
            future_cost_column=self.n_state,
            observed_columns=np.arange(self.n_state + 1, dtype=np.int32),
            observed_rows=np.arange(self.n_state + 1, dtype=np.int32),
        )

    @property
    def n_parameters(self) -> int:
        return self.n_state + self.n_rows

    def parameters(self, n: int) -> np.ndarray:
        """``[n, parameter]`` of a chain."""
        state = self.draw(0, 30, n * self.n_state).reshape(n, -1)
        return np.concatenate([state, self.draw(-5, 5, n * self.n_rows).reshape(n, -1)], axis=1)

    def cuts(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Intercepts and coefficients; equal cuts and parallel ones where ties are wanted."""
        slopes = -np.maximum(self.draw(-3, 10, n * (self.n_state + 1)), 0.0).reshape(n, -1)
        return self.draw(0, 100, n), slopes

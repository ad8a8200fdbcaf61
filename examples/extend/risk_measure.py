"""A risk measure: the proportional-hazards measure, which weighs dear openings more without cutting the cheap ones off.

Run it: python risk_measure.py
"""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import cobre
from cobre.io.examples import write_example


@dataclass(frozen=True)
class ProportionalHazards:
    """The cost beyond a threshold has the weight ``P(cost > threshold) ** exponent``."""

    exponent: float

    @property
    def is_expectation(self) -> bool:
        return self.exponent == 1.0

    def opening_weights(self, costs: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """Weights ``[point, opening]`` that add up to 1; dear openings get more than their probability."""
        dearest_first = np.argsort(-costs, axis=1, kind="stable")
        beyond = np.cumsum(probabilities[dearest_first], axis=1) ** self.exponent
        beyond[:, -1] = 1.0
        weights = np.empty_like(costs)
        np.put_along_axis(weights, dearest_first, np.diff(beyond, axis=1, prepend=0.0), axis=1)
        return weights


def main() -> None:
    folder = Path(tempfile.mkdtemp()) / "my_case"
    write_example(folder)
    limit = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 4}]}}
    case = cobre.load_case(folder, limit)

    def bound(exponent: float) -> float:
        measure = ProportionalHazards(exponent)
        stages = tuple(replace(stage, risk=measure) for stage in case.horizon.stages)
        averse = replace(case, horizon=replace(case.horizon, stages=stages))
        return cobre.train(averse).final_lower_bound

    neutral, averse = bound(1.0), bound(0.5)
    plain = cobre.train(case).final_lower_bound
    print(f"exponent 1 is the expectation: {neutral == plain}")
    print(f"exponent 0.5 costs more: {averse > neutral}")


if __name__ == "__main__":
    main()

"""A stopping rule: end when ten dollars more of lower bound take longer than a second of training.

Run it: python stopping_rule.py
"""

import tempfile
from pathlib import Path

import cobre
from cobre.io.examples import write_example

LEAST_GAIN_PER_SECOND = 10.0
ITERATIONS = 3
"""Of which the gain is the mean."""


class SlowGain:
    """Asks the run to stop after the iteration in which the lower bound has become slow."""

    def __init__(self, control: cobre.Control, least_gain_per_second: float) -> None:
        self._control = control
        self._least = least_gain_per_second
        self._seen: list[tuple[float, float]] = []
        self.stopped_after: int | None = None

    def __call__(self, progress: cobre.ProgressEvent) -> None:
        self._seen.append((progress.wall_time_ms / 1000.0, progress.lower_bound))
        if self.stopped_after is not None or len(self._seen) <= ITERATIONS:
            return
        (began, before), (now, after) = self._seen[-1 - ITERATIONS], self._seen[-1]
        if after - before < self._least * (now - began):
            self.stopped_after = progress.iteration
            self._control.stop(
                wait=False
            )  # the iteration waits for this call, so do not wait for the iteration


def main() -> None:
    folder = Path(tempfile.mkdtemp()) / "my_case"
    write_example(folder)
    # The example study gains millions in its first iterations: ask for so much that it stops early.
    control = cobre.Control()
    rule = SlowGain(control, LEAST_GAIN_PER_SECOND * 1e9)
    limit = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 50}]}}
    result = cobre.train(folder, config_overrides=limit, progress_callback=rule, control=control)
    print(f"stopped on request: {result.termination_reason == 'shutdown'}")
    print(f"after fewer than 50 iterations: {result.iterations < 50}")


if __name__ == "__main__":
    main()

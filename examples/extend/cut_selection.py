"""Cut selection: keep only cuts of the last iterations, and those that were binding often.

Run it: python cut_selection.py
"""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import cobre
from cobre.core.config import CutSelection
from cobre.io.examples import write_example
from cobre.sddp.cuts import CutPool


@dataclass(frozen=True)
class OldAndRarelyBinding:
    """Drops a cut that is older than ``age`` iterations and was binding in fewer than ``least`` solves."""

    age: int
    least: int

    def cuts_to_drop(self, pool: CutPool, iteration: int) -> np.ndarray:
        """One flag per cut. Every rank has an equal pool and must decide alike; new cuts stay in any case."""
        return (iteration - pool.iterations > self.age) & (pool.active_count < self.least)


def main() -> None:
    folder = Path(tempfile.mkdtemp()) / "my_case"
    write_example(folder)
    limit = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 6}]}}
    case = cobre.load_case(folder, limit)

    def trained(selection: CutSelection) -> cobre.TrainingResult:
        training = replace(case.config.training, cut_selection=selection)
        chosen = replace(case, config=replace(case.config, training=training))
        return cobre.train(chosen)

    everything = trained(CutSelection())
    few = trained(CutSelection(method=OldAndRarelyBinding(age=2, least=5), check_frequency=1))
    all_cuts, kept = (result.policy.summary()["active_cuts"] for result in (everything, few))
    print(f"fewer cuts: {kept < all_cuts}")
    print(
        f"the bound differs by less than 5 %: {abs(few.final_lower_bound / everything.final_lower_bound - 1) < 0.05}"
    )


if __name__ == "__main__":
    main()

"""What a training run is about, part by part, to tell whether a checkpoint belongs to it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from cobre.core.case import Case
from cobre.core.digest import digest
from cobre.errors import ValidationError

WORDS = {
    "system": "the plants, buses, lines or constraints (system/, constraints/generic_constraints.json)",
    "horizon": "the stages, blocks, discounts or risk measures (stages.json)",
    "tables": "limits, costs or loads (system/, constraints/, penalties.json)",
    "scenarios": "inflow models, correlation or given scenarios (scenarios/)",
    "initial": "the initial conditions (initial_conditions.json)",
    "inflow_non_negativity": "modeling.inflow_non_negativity",
    "forward_passes": "training.forward_passes",
    "tree_seed": "training.tree_seed",
    "scenario_source": "training.scenario_source",
    "cut_selection": "training.cut_selection",
    "solver": "the version of the LP solver",
    "boundary": "the cuts of policy.boundary",
}
"""Each part as a user knows it."""
READABLE = ("inflow_non_negativity", "forward_passes", "tree_seed", "solver")
"""Parts that are short enough to be shown; of the others only a digest is kept."""


NOTHING = "none"
"""In place of the digest of something that a study does not have."""


def identity_of(case: Case, boundary: str | None = None) -> dict[str, str]:
    """Values or digests of everything that the numbers of training depend on; not limits, rules or workers.

    ``boundary`` is the digest of the cuts that follow the last stage.
    """
    training = case.config.training
    return {
        "system": digest(case.system),
        "horizon": digest(case.horizon),
        "tables": digest((case.tables, case.energy)),
        "scenarios": digest(case.scenarios),
        "initial": digest(case.initial),
        "inflow_non_negativity": case.config.inflow_non_negativity,
        "forward_passes": str(training.forward_passes),
        "tree_seed": str(training.tree_seed),
        "scenario_source": digest(training.scenario_source),
        "cut_selection": digest(training.cut_selection),
        "solver": f"highspy {version('highspy')}",
        "boundary": NOTHING if boundary is None else boundary,
    }


def check_identity(saved: Mapping[str, str], case: Case, boundary: str | None, path: Path) -> None:
    """Raise one error that names every difference between the run of a checkpoint and ``case``."""
    now = identity_of(case, boundary)
    differences = [
        f"{words}" + (f" was {saved.get(part)}, now {now[part]}" if part in READABLE else " changed")
        for part, words in WORDS.items()
        if saved.get(part, NOTHING) != now[part]
    ]
    if differences:
        raise ValidationError(
            f"{path} belongs to another study: " + "; ".join(differences),
            kind="IncompatibleSettings",
            context={"path": str(path), "differences": differences},
            suggestion="undo the change, or start from the policy instead: policy.mode warm_start",
        )

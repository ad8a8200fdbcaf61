"""A study with fitted planes and evaporation, trained and simulated; ranks import this."""

from __future__ import annotations

import hashlib
from pathlib import Path

import cobre
from cobre.comm import GroupMember
from simulation.bits import hashes

SETTINGS = {
    "training": {"forward_passes": 3, "stopping_rules": [{"type": "iteration_limit", "limit": 4}]},
    "simulation": {"io_channel_capacity": 2},
}
SCENARIOS = 7


def run_study(comm: GroupMember, case: str, target: str) -> None:
    """Collective: train into ``target/trained`` and simulate into ``target/simulated``."""
    folder = Path(target)
    own = case if comm.rank == 0 else None
    trained = cobre.train(own, config_overrides=SETTINGS, comm=comm, output=folder / "trained")
    cobre.simulate(
        own,
        trained.policy,
        config_overrides=SETTINGS,
        comm=comm,
        output=folder / "simulated",
        scenarios=SCENARIOS,
    )


def results_of(target: Path) -> dict[str, str]:
    """Hashes of the fitted models, the policy and all tables of the simulation."""
    policy = (target / "trained/policy/policy.cobre").read_bytes()
    return {
        "policy": hashlib.sha256(policy).hexdigest(),
        **hashes(target / "trained/hydro_models"),
        **hashes(target / "simulated"),
    }

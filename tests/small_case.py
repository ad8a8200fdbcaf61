"""A case folder whose iterations take a few milliseconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cobre.io.examples import write_example


def set_limits(
    folder: Path, iterations: int, *, forward_passes: int | None = None, scenarios: int | None = None
) -> Path:
    """Change how much a case computes: iterations and, if given, trajectories and simulated scenarios (0: none)."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": iterations}]
    if forward_passes is not None:
        config["training"]["selection"]["forward_passes"] = forward_passes
    if scenarios is not None:
        selection = {"method": "sampled", "num_scenarios": max(scenarios, 1)}
        config["simulation"] = {"enabled": scenarios > 0, "selection": selection}
    path.write_text(json.dumps(config))
    return folder


def write_small_case(folder: Path, iterations: int = 6, scenarios: int | None = None, **policy: Any) -> Path:
    """The example study with two trajectories and two openings; ``policy`` are settings of that name."""
    write_example(folder)
    set_limits(folder, iterations, forward_passes=2, scenarios=scenarios or 0)
    config = json.loads((folder / "config.json").read_text())
    config["policy"] = {**config.get("policy", {}), **policy}
    (folder / "config.json").write_text(json.dumps(config))
    stages = json.loads((folder / "stages.json").read_text())
    for stage in stages["stages"]:
        stage["num_openings"] = 2
    (folder / "stages.json").write_text(json.dumps(stages))
    return folder

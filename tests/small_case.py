"""A case folder whose iterations take a few milliseconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cobre.io.examples import write_example


def write_small_case(folder: Path, iterations: int = 6, scenarios: int | None = None, **policy: Any) -> Path:
    """The example study with two trajectories and two openings; ``policy`` are settings of that name."""
    write_example(folder)
    config = json.loads((folder / "config.json").read_text())
    config["training"]["selection"]["forward_passes"] = 2
    config["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": iterations}]
    selection = {"method": "sampled", "num_scenarios": scenarios or 1}
    config["simulation"] = {"enabled": scenarios is not None, "selection": selection}
    config["policy"] = {**config.get("policy", {}), **policy}
    (folder / "config.json").write_text(json.dumps(config))
    stages = json.loads((folder / "stages.json").read_text())
    for stage in stages["stages"]:
        stage["num_openings"] = 2
    (folder / "stages.json").write_text(json.dumps(stages))
    return folder

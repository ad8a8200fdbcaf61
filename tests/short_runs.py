"""Runs of few iterations, for tests of what a run leaves."""

from __future__ import annotations

import cobre
from cobre.io.examples import write_example

LEVEL_1 = {"enabled": True, "method": "level1", "check_frequency": 1}
"""A selection of cuts that looks at them in every iteration."""


def iterations(limit, **training):
    """Changes of a configuration."""
    return {"training": {**training, "stopping_rules": [{"type": "iteration_limit", "limit": limit}]}}


def run_in(folder, settings, scenarios, **options):
    """The output folder of a case after training and, where there are ``scenarios``, a simulation."""
    output = folder / "output"
    policy = cobre.train(folder, config_overrides=settings, output=output, **options).policy
    if scenarios:
        cobre.simulate(folder, policy, config_overrides=settings, output=output, scenarios=scenarios)
    return output


def trained_example(folder, settings):
    """The example case with a trained policy in its output folder."""
    write_example(folder)
    run_in(folder, settings, 0)
    return folder

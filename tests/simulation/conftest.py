"""A study that every variant of the simulation's settings runs on, and its policy."""

from __future__ import annotations

import pytest

import cobre
from simulation.bits import settings, write_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("study") / "case")


@pytest.fixture(scope="module")
def policy(study, tmp_path_factory):
    """A folder with a saved policy."""
    folder = tmp_path_factory.mktemp("trained")
    cobre.train(study, config_overrides=settings("by_scenario"), output=folder)
    return folder / "policy"

"""Planes and evaporation against those that the public Cobre 0.18 fits, number by number."""

from __future__ import annotations

import json

import pytest

import cobre
from public_planes import CASES, STORED, fitted, write


@pytest.mark.parametrize("name", CASES)
def test_planes_and_evaporation_are_those_of_the_public_program(name, tmp_path):
    expected = json.loads(STORED.read_text())[name]
    cobre.train(write(tmp_path / "case", name), output=tmp_path / "results")
    found = fitted(tmp_path / "results" / "hydro_models")
    for kind in ("planes", "evaporation"):
        assert len(found[kind]) == len(expected[kind]) > 1
        for ours, theirs in zip(found[kind], expected[kind], strict=True):
            assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)

"""The public example cases load, where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import cobre
from cobre.core.digest import digest

FOLDER = Path(os.environ.get("COBRE_PEER_CASES", Path(__file__).parents[3] / "shared" / "peer-cases"))
CASES = sorted(path for path in FOLDER.glob("*") if (path / "config.json").is_file())

pytestmark = pytest.mark.skipif(
    not CASES, reason="set COBRE_PEER_CASES to the folder of the public example cases"
)


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
def test_a_public_case_is_valid_and_loads_the_same_twice(folder):
    report = cobre.validate(folder)
    assert report.errors == ()
    assert len(report.layers_completed) == 5
    assert {warning.field for warning in report.warnings} <= {"simulation.enabled", "state_variables.storage"}
    assert digest(cobre.load_case(folder)) == digest(cobre.load_case(folder))

"""The public example cases load, where they are at hand."""

from __future__ import annotations

import pytest

import cobre
from cobre.core.digest import digest
from peer_cases import CASES, WHERE

pytestmark = pytest.mark.skipif(not CASES, reason=WHERE)


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
def test_a_public_case_is_valid_and_loads_the_same_twice(folder):
    report = cobre.validate(folder)
    assert report.errors == ()
    assert len(report.layers_completed) == 5
    assert {warning.field for warning in report.warnings} <= {"simulation.enabled", "state_variables.storage"}
    assert digest(cobre.load_case(folder)) == digest(cobre.load_case(folder))

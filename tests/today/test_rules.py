"""Each rule of the public Cobre 0.18 that has a number: the case that breaks it is told by that number."""

from __future__ import annotations

import pytest

import cobre
from today.rule_cases import ERRORS, WARNINGS, sound_case


def findings(case, folder) -> tuple[set[str], set[str]]:
    report = cobre.validate(case.write(folder / "case"))
    return {each.rule for each in report.errors}, {each.rule for each in report.warnings}


def test_a_sound_case_breaks_no_rule(tmp_path):
    errors, warnings = findings(sound_case(), tmp_path)
    assert not errors
    assert warnings <= {
        "stages.season_definitions.seasons.CoverageMismatch",
        "stages.blocks.hours.StageMismatch",
    }


@pytest.mark.parametrize("name", ERRORS)
def test_a_broken_rule_is_an_error_with_its_number(name, tmp_path):
    case = sound_case()
    ERRORS[name](case)
    errors, _ = findings(case, tmp_path)
    assert name.split()[0] in errors


@pytest.mark.parametrize("name", WARNINGS)
def test_a_doubtful_choice_is_a_warning_with_its_number(name, tmp_path):
    case = sound_case()
    WARNINGS[name](case)
    errors, warnings = findings(case, tmp_path)
    assert name.split()[0] in warnings
    assert not errors

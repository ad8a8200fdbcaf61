"""Hours of blocks against the dates of their stage."""

from __future__ import annotations

import pytest

import cobre

STAGES = "stages.json"


def scale_hours(case, stages, factor):
    for stage in stages:
        for block in case.documents[STAGES]["stages"][stage]["blocks"]:
            block["hours"] *= factor


@pytest.mark.parametrize("factor", [1.04, 1 / 1.04])
def test_hours_within_5_percent_of_the_dates_are_silent(case, factor):
    scale_hours(case, [0, 1], factor)
    report = cobre.validate(case.write())
    assert (report.errors, report.warnings) == ((), ())


@pytest.mark.parametrize("factor", [1.06, 1.49, 1 / 1.06, 1 / 1.49])
def test_hours_beyond_5_percent_of_the_dates_are_one_warning_that_lists_the_stages(case, factor):
    scale_hours(case, [2, 5, 7], factor)
    report = cobre.validate(case.write())
    assert report.valid
    (warning,) = report.warnings
    assert (warning.file, warning.entity, warning.field) == (STAGES, "stage 2", "blocks.hours")
    assert warning.value == pytest.approx(744.0 * factor)
    assert "the dates 2026-03-01 to 2026-04-01 have 744" in warning.message
    assert "stage 5, 7 likewise" in warning.message


@pytest.mark.parametrize("factor", [1.51, 1 / 1.51])
def test_hours_beyond_a_factor_of_one_and_a_half_are_an_error_for_each_stage(case, factor):
    scale_hours(case, [0, 11], factor)
    report = cobre.validate(case.write())
    assert [(error.entity, error.field) for error in report.errors] == [
        ("stage 0", "blocks.hours"),
        ("stage 11", "blocks.hours"),
    ]


def test_9999_hours_in_january_are_refused_with_both_numbers(case):
    stage = case.documents[STAGES]["stages"][0]
    stage["blocks"][0]["hours"] = 9999.0 - sum(block["hours"] for block in stage["blocks"][1:])
    (error,) = cobre.validate(case.write()).errors
    assert error.value == pytest.approx(9999.0)
    assert "its blocks have 9999 hours" in error.message
    assert "2026-01-01 to 2026-02-01 have 744" in error.message
    assert "correct the hours of the blocks or the dates" in error.remedy

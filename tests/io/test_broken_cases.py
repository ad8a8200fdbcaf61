"""Every broken case gets exit status 1 and a message that names file, entity, field, value and remedy."""

from __future__ import annotations

import json

import pytest

import cobre
from broken_cases import DIMENSIONS, FILES, REFERENCES, SCHEMA, SEMANTICS
from case_breakers import BUSES, GEOMETRY, HYDROS, LINES, LOAD, STAGES, THERMALS, cell, put, raw
from cobre.cli import main

EVERY = [*FILES, *SCHEMA, *REFERENCES, *DIMENSIONS, *SEMANTICS]


def _id(broken):
    return broken.name.replace(" ", "-")


def test_there_are_at_least_sixty():
    assert len(EVERY) == len({broken.name for broken in EVERY}) >= 60


def test_the_case_behind_the_broken_ones_is_valid(case):
    report = cobre.validate(case.write())
    assert (report.errors, report.warnings) == ((), ())
    assert report.layers_completed == ("files", "schema", "references", "dimensions", "semantics")


@pytest.mark.parametrize("broken", EVERY, ids=_id)
def test_a_broken_case_is_refused_with_everything_a_planner_needs(case, broken, capsys):
    broken.breaks(case)
    folder = case.write()
    report = cobre.validate(folder)
    assert not report.valid
    matching = [error for error in report.errors if (error.kind, error.file, error.field) == broken[2:5]]
    assert matching, [str(error) + f" [{error.kind} {error.field}]" for error in report.errors]
    error = matching[0]
    assert error.remedy
    assert error.message
    if broken.entity:
        assert error.entity == broken.entity
    if broken.value is not None:
        value = error.to_dict()["value"]
        assert value == broken.value or str(value) == str(broken.value)
        assert _spoken(broken.value, str(error)), str(error)
    assert main(["validate", str(folder)]) == 1
    shown = capsys.readouterr().out
    assert broken.file in shown
    assert f"fix: {error.remedy}" in shown


def _spoken(value, text):
    """Whether a message says a value the way people write it."""
    parts = value if isinstance(value, list) else [value]
    spellings = (
        [str(part), repr(part), f"{part:g}" if isinstance(part, float) else str(part)] for part in parts
    )
    special = {0xE3: "0xe3"}
    if value is True:
        return "true" in text
    if not parts:
        return True
    if not isinstance(value, list) and value in special:
        return special[value] in text
    return all(any(spelling in text for spelling in each) for each in list(spellings)[:8])


@pytest.mark.parametrize("broken", EVERY, ids=_id)
def test_one_mistake_gives_one_error_or_few(case, broken):
    broken.breaks(case)
    errors = cobre.validate(case.write()).errors
    limit = {"no bus": 60, "a stage is missing": 60, "JSON cut off": 5}.get(broken.name, 3)
    assert len(errors) <= limit, [str(error) for error in errors]


def test_loading_raises_one_error_that_carries_all(case):
    for broken in (SCHEMA[2], REFERENCES[1], SEMANTICS[4]):
        broken.breaks(case)
    put(STAGES, "stages", 2, "blocks", 1, "hours", -10.0)(case)
    cell(LOAD, "mean_mw", 0, float("nan"))(case)
    case.raw[GEOMETRY] = b"PAR1"
    with pytest.raises(cobre.ValidationError) as caught:
        cobre.load_case(case.write())
    found = {(error["file"], error["field"]) for error in caught.value.errors}
    assert found >= {
        (THERMALS, "cost_per_mwh"),
        (LINES, "target_bus_id"),
        (HYDROS, "reservoir.min_storage_hm3"),
        (STAGES, "blocks[1].hours"),
        (LOAD, "mean_mw"),
        (GEOMETRY, ""),
    }
    assert caught.value.exit_status == 1
    for part in ("'dear'", "there is no bus 9", "5000", "-10", "nan", "Parquet"):
        assert part in str(caught.value)
    assert json.loads(json.dumps(caught.value.to_dict()))["errors"]


def test_a_single_problem_is_the_error_itself(case):
    put(THERMALS, "thermals", 1, "bus_id", 77)(case)
    with pytest.raises(cobre.ValidationError, match="there is no bus 77") as caught:
        cobre.CaseLoader.load(case.write())
    error = caught.value
    assert error.kind == "MissingReference"
    assert error.suggestion == "use one of 0, 1, 2"
    assert error.context["file"] == THERMALS
    assert (error.context["entity"], error.context["field"], error.context["value"]) == (
        "thermal 1 (COAL)",
        "bus_id",
        77,
    )


def test_both_ways_to_write_a_risk_measure_are_shown(case):
    put(STAGES, "stages", 0, "risk_measure", "cvar")(case)
    (error,) = cobre.validate(case.write()).errors
    assert '{"cvar": {"alpha"' in error.remedy
    assert "expectation" in error.remedy


def test_many_problems_of_a_kind_are_counted_not_listed(case):
    case.tables[LOAD]["std_mw"] = [-1.0] * 36
    errors = cobre.validate(case.write()).errors
    assert len(errors) == 21
    assert errors[-1].message == "16 more problems of this kind with std_mw"


@pytest.mark.parametrize(
    ("breaks", "layers"),
    [
        (raw(THERMALS, None), ("files",)),
        (put(THERMALS, "thermals", 0, "cost_per_mwh", "dear"), ("files", "schema")),
        (put(THERMALS, "thermals", 1, "bus_id", 77), ("files", "schema", "references", "dimensions", "semantics")),
    ],
)  # fmt: skip
def test_layers_that_saw_all_of_the_data_are_completed(case, breaks, layers):
    breaks(case)
    assert cobre.validate(case.write()).layers_completed == layers


def test_an_entry_that_is_wrong_still_counts_as_there(case):
    put(BUSES, "buses", 1, "name", 3)(case)
    errors = cobre.validate(case.write()).errors
    assert [(error.file, error.field) for error in errors] == [(BUSES, "name")]

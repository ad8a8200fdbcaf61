"""Names that are almost right: keys, columns, files and folders are answered with what was found and what was meant."""

from __future__ import annotations

import pytest

from cobre.io.loading import validate

HYDROS, STAGES, CONFIG = "system/hydros.json", "stages.json", "config.json"
INITIAL, PENALTIES = "initial_conditions.json", "penalties.json"
STATS = "scenarios/inflow_seasonal_stats.parquet"


def rename(file, *path, to):
    """A change that gives the key at ``path`` of a JSON file another name."""

    def change(case):
        place = case.documents[file]
        for step in path[:-1]:
            place = place[step]
        place[to] = place.pop(path[-1])

    return change


@pytest.mark.parametrize(
    ("change", "field", "found", "wanted"),
    [
        (rename(HYDROS, "hydros", 0, "bus_id", to="busid"), "bus_id", "busid", "bus_id"),
        (rename(HYDROS, "hydros", 0, "bus_id", to="Bus_ID"), "bus_id", "Bus_ID", "bus_id"),
        (
            rename(HYDROS, "hydros", 1, "reservoir", "max_storage_hm3", to="max_storage"),
            "reservoir.max_storage_hm3",
            "max_storage",
            "max_storage_hm3",
        ),
        (rename(PENALTIES, "line", to="lines"), "line", "lines", "line"),
        (rename(STAGES, "stages", 3, "blocks", 1, "hours", to="hour"), "blocks[1].hours", "hour", "hours"),
        (
            rename(STAGES, "stages", 3, "risk_measure", "cvar", "lambda", to="lamda"),
            "risk_measure.cvar.lambda",
            "lamda",
            "lambda",
        ),
        (
            rename(CONFIG, "training", "stopping_rules", 0, "limit", to="limits"),
            "training.stopping_rules[0].limit",
            "limits",
            "limit",
        ),
        (rename(INITIAL, "storage", 0, "value_hm3", to="volume_hm3"), "value_hm3", "volume_hm3", "value_hm3"),
    ],
)
def test_a_misspelt_required_key_says_what_was_found_instead(case, change, field, found, wanted):
    change(case)
    errors = [error for error in validate(case.write()).errors if error.field == field]
    assert [error.kind for error in errors] == ["SchemaViolation"]
    assert errors[0].message == f"{field} is missing; {found} is there, which is no key of the format"
    assert errors[0].remedy == f"rename {found} to {wanted}"


def test_a_key_that_is_right_elsewhere_in_the_entry_is_not_taken_for_the_missing_one(case):
    del case.documents[HYDROS]["hydros"][0]["reservoir"]["max_storage_hm3"]
    (error,) = validate(case.write()).errors
    assert error.message == "reservoir.max_storage_hm3 is missing"
    assert error.remedy == "add max_storage_hm3"


def test_an_unknown_key_is_shown_with_the_missing_one(case):
    rename(INITIAL, "storage", 0, "hydro_id", to="plant")(case)
    error = next(error for error in validate(case.write()).errors if error.field == "hydro_id")
    assert "unknown keys are there: plant" in error.message
    assert error.remedy == "add hydro_id, or rename the key that means it"


def test_entries_that_are_wrong_are_not_said_to_be_missing(case):
    case.documents[STAGES]["stages"][0]["blocks"] = [{"id": 0, "name": "ALL", "horus": 744.0}]
    errors = validate(case.write()).errors
    assert [error.field for error in errors if error.file == STAGES] == ["blocks[0].hours"]


def test_a_list_without_entries_is_an_error_of_its_own(case):
    case.documents[STAGES]["stages"][0]["blocks"] = []
    assert "blocks has 0 entries" in [error.message for error in validate(case.write()).errors]


def test_a_misspelt_optional_key_is_a_warning_that_names_the_right_one(case):
    case.documents[STAGES]["stages"][3]["sampling_metod"] = "saa"
    (warning,) = validate(case.write()).warnings
    assert warning.field == "sampling_metod"
    assert warning.remedy == "rename sampling_metod to sampling_method if that is meant"


def test_a_misspelt_required_column_says_what_was_found_instead(case):
    case.tables[STATS]["hydro"] = case.tables[STATS].pop("hydro_id")
    report = validate(case.write())
    (error,) = [error for error in report.errors if error.file == STATS]
    assert (error.field, error.remedy) == ("hydro_id", "rename hydro to hydro_id")
    (warning,) = [warning for warning in report.warnings if warning.file == STATS]
    assert warning.remedy == "rename it to hydro_id if that is meant"


def test_a_misspelt_setting_of_a_call_names_the_right_one(case):
    (error,) = validate(case.write(), {"training": {"forward_pases": 3}}).errors
    assert error.remedy == "use forward_passes"


HISTORY = "scenarios/inflow_history.parquet"
SECOND = "keep it outside the case, or move its data into {}, which is read"


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        (
            "scenarios/inflow_histori.parquet",
            f"rename scenarios/inflow_histori.parquet to {HISTORY} if that is meant",
        ),
        (
            "scenarios/inflow_history.xlsx",
            f"write the data of scenarios/inflow_history.xlsx to {HISTORY} if that is meant",
        ),
        ("system/hydros.xlsx", SECOND.format("system/hydros.json")),
        ("constraints/hydro_bounds.csv", SECOND.format("constraints/hydro_bounds.parquet")),
        ("system/hydros.json.bak", SECOND.format("system/hydros.json")),
        ("system/plants.xlsx", "keep it outside the case"),  # not lines.json for its folder's sake
        ("inflows.xlsx", "keep it outside the case"),
        ("notes.xlsx", "keep it outside the case"),
        ("scenarios/deck.dat", "keep it outside the case"),
    ],
)
def test_any_unknown_file_is_a_warning(case, path, remedy):
    case.raw[path] = b"x"
    (warning,) = validate(case.write()).warnings
    assert (warning.file, warning.message) == (path, "is no file of a case; it is not read")
    assert warning.remedy == remedy


@pytest.mark.parametrize(
    "path", ["README.md", "LICENSE", "notes.txt", ".gitignore", "system/.hydros.json.swp", "_SUCCESS"]
)
def test_notes_and_hidden_files_are_ignored(case, path):
    case.raw[path] = b"x"
    assert validate(case.write()).warnings == ()


def test_a_misspelt_folder_is_a_warning(case):
    case.tables = {name.replace("constraints/", "constraint/"): table for name, table in case.tables.items()}
    case.documents = {
        name.replace("constraints/", "constraint/"): each for name, each in case.documents.items()
    }
    (warning,) = validate(case.write()).warnings
    assert (warning.file, warning.message) == ("constraint", "is no folder of a case; nothing in it is read")
    assert warning.remedy == "rename constraint to constraints if that is meant"


def test_a_folder_inside_those_of_the_case_is_a_warning_and_results_next_to_them_are_none(case):
    case.raw["system/old/hydros.json"] = b"{}"
    case.raw["output/training/metadata.json"] = b"{}"
    (warning,) = validate(case.write()).warnings
    assert warning.file == "system/old"


def test_a_required_file_under_a_near_name_is_pointed_out(case):
    case.documents["system/thermal.json"] = case.documents.pop("system/thermals.json")
    (error,) = [e for e in validate(case.write()).errors if e.kind == "MissingFile"]
    assert error.remedy == "rename system/thermal.json to system/thermals.json"


def test_a_required_file_as_a_spreadsheet_is_pointed_out(case):
    del case.documents["system/thermals.json"]
    case.raw["system/Thermals.xlsx"] = b"x"
    (error,) = [e for e in validate(case.write()).errors if e.kind == "MissingFile"]
    assert error.message.endswith("which has system/Thermals.xlsx")
    assert error.remedy == "write the data of system/Thermals.xlsx to system/thermals.json"

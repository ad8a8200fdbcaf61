"""``cobre init``, ``validate`` and ``schema export`` as a user meets them."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from case_folders import full_case
from cobre.io.examples import write_example
from cobre.io.loading import validate
from commands import run_command

DOCUMENT_KEYS = "$schema command success exit_code cobre_version errors warnings data summary".split()


@pytest.fixture
def good(tmp_path):
    write_example(tmp_path / "good")
    return tmp_path / "good"


@pytest.fixture
def bad(tmp_path):
    case = full_case(tmp_path / "bad")
    case.documents["system/thermals.json"]["thermals"][1]["bus_id"] = 77
    case.documents["config.json"]["training"]["cut_formulation"] = "multi"
    return case.write()


def test_init_writes_a_case_that_is_valid(cobre, tmp_path):
    done = cobre("init", tmp_path / "deep" / "study", check=0)
    assert "cobre run" in done.stdout
    report = validate(tmp_path / "deep" / "study")
    assert (report.errors, report.warnings) == ((), ())
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["study"]


def test_init_takes_an_empty_folder_and_leaves_a_full_one_alone(cobre, tmp_path):
    (tmp_path / "empty").mkdir()
    cobre("init", tmp_path / "empty", check=0)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("precious")
    done = cobre("init", tmp_path / "full", check=2)
    assert "exists already and is not empty" in done.stderr
    assert "fix: choose a new folder" in done.stderr
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]


def test_init_where_nothing_can_be_written_leaves_nothing(cobre, tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot write" in cobre("init", tmp_path / "file" / "case", check=2).stderr


def test_init_answers_in_json(cobre, tmp_path):
    document = json.loads(cobre("init", tmp_path / "a", "--output-format", "json", check=0).stdout)
    assert list(document) == DOCUMENT_KEYS
    assert document["command"] == "init"
    assert "config.json" in document["data"]["files"]


def test_validate_reports_a_valid_case(cobre, good):
    done = cobre("validate", good, check=0)
    assert done.stdout == f"{good} is valid: 0 errors, 0 warnings\n"


def test_validate_lists_problems_as_plain_lines_on_a_pipe(cobre, bad):
    done = cobre("validate", bad, check=1)
    assert done.stdout.splitlines() == [
        "error: system/thermals.json: thermal 1 (COAL): bus_id = 77, but there is no bus 77",
        "  fix: use one of 0, 1, 2",
        "warning: config.json: cut_formulation = 'multi' is not used: one averaged cut per trial point is added",
        "  fix: use single; the optimum is the same",
        f"{bad} is not valid: 1 error, 1 warning",
    ]
    assert done.stderr == ""


def test_validate_shows_a_table_on_a_terminal(terminal, bad):
    screen = terminal("validate", bad, columns=100)
    assert screen.wait() == 1
    assert "system/thermals.json: thermal 1 (COAL)" in screen.text
    assert "fix: use one of 0, 1, 2" in screen.text
    assert "\x1b[" in screen.text


def test_validate_answers_in_json(cobre, good, bad):
    document = json.loads(cobre("validate", good, "--output-format", "json", check=0).stdout)
    assert list(document) == DOCUMENT_KEYS
    assert (document["$schema"], document["success"]) == ("urn:cobre:response:v1", True)
    assert document["data"]["layers_completed"] == [
        "files",
        "schema",
        "references",
        "dimensions",
        "semantics",
    ]
    document = json.loads(cobre("validate", bad, "--output-format", "json", check=1).stdout)
    assert (document["success"], document["exit_code"], document["data"]["valid"]) == (False, 1, False)
    (error,) = document["errors"]
    assert error == {
        "kind": "MissingReference",
        "file": "system/thermals.json",
        "message": "bus_id = 77, but there is no bus 77",
        "remedy": "use one of 0, 1, 2",
        "entity": "thermal 1 (COAL)",
        "field": "bus_id",
        "rule": "thermals.bus_id.MissingReference",
        "value": 77,
    }
    assert document["warnings"][0]["field"] == "training.cut_formulation"


def test_a_folder_that_is_not_there_is_exit_status_2(cobre, tmp_path):
    done = cobre("validate", tmp_path / "nowhere", check=2)
    assert "does not exist" in done.stderr
    document = json.loads(cobre("validate", tmp_path / "nowhere", "--output-format", "json", check=2).stdout)
    assert document["errors"][0]["type"] == "IOError"
    assert document["exit_code"] == 2


def test_a_missing_or_truncated_file_inside_the_case_is_exit_status_1(cobre, good):
    (good / "penalties.json").unlink()
    stats = good / "scenarios" / "inflow_seasonal_stats.parquet"
    stats.write_bytes(stats.read_bytes()[:100])
    out = cobre("validate", good, check=1).stdout
    assert "penalties.json: is missing" in out
    assert "inflow_seasonal_stats.parquet: is no readable Parquet file (100 bytes)" in out


def test_usage_errors_are_exit_status_4(cobre, tmp_path):
    assert "fix: see cobre validate --help" in cobre("validate", check=4).stderr
    assert "invalid choice" in cobre("schema", "import", check=4).stderr
    assert "invalid choice" in cobre("validate", tmp_path, "--output-format", "xml", check=4).stderr


def test_schema_export_writes_a_schema_per_file(cobre, tmp_path):
    done = cobre("schema", "export", tmp_path / "schemas", check=0)
    assert done.stdout == f"wrote 45 schemas to {tmp_path / 'schemas'}\n"
    assert len(list((tmp_path / "schemas").glob("*.schema.json"))) == 45


# Root reads everything, so root becomes another user, once all modules are loaded.
AS_NOBODY = """
import os, sys
from cobre.cli import main
good, bad = sys.argv[1:]
main(["validate", good])
if os.geteuid() == 0:
    os.setuid(65534)
sys.exit(main(["validate", bad]))
"""


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "what", [".", "system", "system/hydros.json", "scenarios/load_seasonal_stats.parquet"]
)
def test_what_may_not_be_read_is_exit_status_2(environ, what):
    folder = Path(tempfile.mkdtemp(prefix="cobre_test_case_"))  # where others may look, unlike tmp_path
    folder.chmod(0o755)
    good, bad = folder / "good", folder / "bad"
    try:
        write_example(good)
        write_example(bad)
        (bad / what).chmod(0)
        done = run_command([sys.executable, "-c", AS_NOBODY, str(good), str(bad)], env=environ)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "Permission denied" in done.stderr
        assert str(bad / what) in done.stderr
        assert "fix: give yourself permission" in done.stderr
    finally:
        for path in (bad, bad / "system", bad / "scenarios"):
            path.chmod(0o755)
        shutil.rmtree(folder)


def test_control_characters_in_names_do_not_reach_the_terminal(cobre, tmp_path):
    folder = full_case(tmp_path / "case")
    hydro = folder.documents["system/hydros.json"]["hydros"][0]
    hydro["name"], hydro["bus_id"] = "\x1b[31mred\x07\u202egnp 👩‍🔬", 99
    folder.write()
    for done in (cobre("validate", tmp_path / "case", check=1), cobre("run", tmp_path / "case", check=1)):
        shown = done.stdout + done.stderr
        assert "?[31mred??gnp 👩‍🔬" in shown
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", shown)

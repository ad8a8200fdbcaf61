"""``cobre simulate`` and the simulation of ``cobre run``: what they accept, refuse and leave behind."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cobre.cli import main
from cobre.io.examples import write_example
from cobre.sddp.policy import Policy
from cobre.study import load_results
from small_case import set_limits


@pytest.fixture
def case(tmp_path):
    """The example study with one iteration and a simulation of three scenarios."""
    folder = tmp_path / "case"
    write_example(folder)
    return set_limits(folder, 1, forward_passes=1, scenarios=3)


def cobre(capsys, *arguments):
    """Exit status and what it printed."""
    capsys.readouterr()
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as ended:
        status = ended.code
    printed = capsys.readouterr()
    return status, printed.out + printed.err


def scenarios(folder):
    return len(list((folder / "simulation/costs").glob("scenario_id=*")))


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "1e3", "many", ""])
def test_an_invalid_number_of_scenarios_is_refused(case, capsys, count):
    status, printed = cobre(capsys, "simulate", case, f"--scenarios={count}")
    assert (status, f"{count!r} is not a whole number" in printed) == (4, True)


def test_more_scenarios_than_there_can_be_are_refused_before_training(case, capsys):
    status, printed = cobre(capsys, "run", case, "--scenarios", 10**12)
    assert status == 1
    assert "cannot simulate 1000000000000 scenarios" in printed
    assert "ask for 1 to 2147483647" in printed
    assert not (case / "output").exists()


def test_scenarios_and_no_simulation_contradict_each_other(case, capsys):
    status, printed = cobre(capsys, "run", case, "--skip-simulation", "--scenarios", 4)
    assert status == 4
    assert "--scenarios: not allowed with argument --skip-simulation" in printed
    assert not (case / "output").exists()


@pytest.mark.parametrize("command", [("run", "--simulate-only"), ("simulate",)], ids=["run", "simulate"])
def test_without_a_policy_it_says_to_train_first(case, capsys, command):
    status, printed = cobre(capsys, command[0], case, *command[1:])
    assert status == 2
    assert f"{case / 'output/policy'} does not exist" in printed
    assert "fix: train one first (cobre run), or name the folder of a trained policy" in printed
    assert not (case / "output").exists()


def test_run_trains_and_simulates_and_simulate_replaces_the_simulation(case, capsys):
    output = case / "output"
    assert cobre(capsys, "run", case, "--quiet") == (0, "")
    assert scenarios(output) == 3
    bounds = (output / "training/convergence.parquet").read_bytes()
    assert cobre(capsys, "simulate", case, "--scenarios", 2, "--quiet") == (0, "")
    assert scenarios(output) == 2
    assert cobre(capsys, "run", case, "--simulate-only", "--quiet") == (0, "")
    assert scenarios(output) == 3
    assert (output / "training/convergence.parquet").read_bytes() == bounds
    assert cobre(capsys, "run", case, "--skip-simulation", "--quiet") == (0, "")
    assert not (output / "simulation/metadata.json").exists()
    assert scenarios(output) == 0


def test_a_simulation_of_changed_data_is_not_compared_with_the_bound_of_the_training(case, capsys):
    cobre(capsys, "run", case)
    status, same = cobre(capsys, "summary", case)
    assert (status, "lower bound" in same.partition("simulation  ")[2]) == (0, True)
    thermals = json.loads((case / "system/thermals.json").read_text())
    for thermal in thermals["thermals"]:
        thermal["cost_per_mwh"] *= 10.0
    (case / "system/thermals.json").write_text(json.dumps(thermals))
    cobre(capsys, "simulate", case)
    status, changed = cobre(capsys, "summary", case)
    assert status == 0
    assert "lower bound" not in changed.partition("simulation  ")[2]
    assert "the data of the case has changed since the training" in changed


def test_the_metadata_of_a_simulation_says_which_run_of_which_case_it_was(case, capsys):
    cobre(capsys, "run", case)
    trained = json.loads((case / "output/training/metadata.json").read_text())
    simulated = json.loads((case / "output/simulation/metadata.json").read_text())
    same = ["case_name", "case_digest", "config_digest", "cobre_version", "hostname"]
    assert {key: simulated[key] for key in same} == {key: trained[key] for key in same}
    assert simulated["run_id"] != trained["run_id"]
    assert simulated["started_at"] <= simulated["completed_at"]


def test_simulating_a_stopped_training_does_not_make_the_folder_look_complete(case, capsys):
    output = case / "output"
    assert cobre(capsys, "run", case, "--skip-simulation", "--quiet") == (0, "")
    for mark in ("_SUCCESS", "training/_SUCCESS"):  # as after a signal
        (output / mark).unlink()
    assert cobre(capsys, "simulate", case, "--scenarios", 1, "--quiet") == (0, "")
    assert (output / "simulation/_SUCCESS").exists()
    assert not (output / "_SUCCESS").exists()


@pytest.mark.parametrize("word", ["--resume", "--fresh"])
def test_where_training_starts_and_no_training_contradict_each_other(case, capsys, word):
    status, printed = cobre(capsys, "run", case, "--simulate-only", word)
    assert status == 4
    assert "--simulate-only does not train" in printed


def change(path, edit):
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


def raise_cost(document):
    document["thermals"][0]["cost_per_mwh"] += 1.0


@pytest.mark.parametrize("command", [["simulate"], ["run", "--simulate-only"]])
def test_a_policy_of_a_changed_study_is_used_with_a_note(case, capsys, command):
    assert cobre(capsys, "run", case)[0] == 0
    status, printed = cobre(capsys, *command, case)
    assert (status, "changed since" in printed) == (0, False)
    change(case / "system/thermals.json", raise_cost)
    status, printed = cobre(capsys, *command, case)
    assert status == 0
    said = " ".join(printed.split())
    assert "note: the study changed since the policy was trained" in said
    assert "changed: thermal.cost_per_mwh. It decides as for the old study" in said


def test_a_policy_whose_stages_end_on_other_days_is_refused(case, capsys):
    assert cobre(capsys, "run", case)[0] == 0
    policy = Policy.load(case / "output/policy")
    later = [(number, date.replace("2026", "2027")) for number, date in policy.calendar]
    replace(policy, calendar=tuple(later)).save(case / "output/policy")
    status, printed = cobre(capsys, "simulate", case)
    assert status == 1
    assert "stage 0 ends on 2026-02-01, and that of the policy on 2027-02-01" in " ".join(printed.split())


def test_summary_reports_a_simulation_that_was_killed(case, capsys):
    cobre(capsys, "run", case)
    for name in ("_SUCCESS", "simulation/_SUCCESS", "simulation/metadata.json"):  # written last
        (case / "output" / name).unlink()
    status, printed = cobre(capsys, "summary", case)
    assert status == 0
    assert "the simulation was stopped before its end: its tables are not complete" in printed
    assert "simulation not finished" in repr(load_results(case))


def test_summary_says_nothing_about_a_simulation_that_was_not_requested(case, capsys):
    cobre(capsys, "run", case)
    cobre(capsys, "run", case, "--skip-simulation", "--fresh")
    status, printed = cobre(capsys, "summary", case)
    assert (status, "simulation" in printed) == (0, False)

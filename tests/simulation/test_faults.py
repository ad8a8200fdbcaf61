"""A simulation that is killed, stopped or runs out of disk: a clear error, no mark, nothing mixed, nothing left."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import cobre
from commands import can_mount, run_command
from matrices import every_value_once
from short_runs import iterations, trained_example
from simulation.bits import hashes

DEADLINE_S = 90
ENDLESS = 50_000
"""Scenarios that nobody waits for."""
FEW = 5
LAYOUTS = ("by_scenario", "by_table")
SHORT = iterations(2, forward_passes=2)


def settings(layout):
    return {**SHORT, "exports": {"layout": layout}, "simulation": {"io_channel_capacity": 8}}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return trained_example(tmp_path_factory.mktemp("study") / "case", SHORT)


@pytest.fixture(scope="module")
def expected(study, tmp_path_factory):
    """What a few scenarios look like in a folder that was never used before."""
    found = {}
    for layout in LAYOUTS:
        folder = tmp_path_factory.mktemp(layout)
        cobre.simulate(study, config_overrides=settings(layout), output=folder, scenarios=FEW)
        found[layout] = hashes(folder)
    return found


def assert_unfinished(output):
    """No mark, no part files, no file with a temporary name."""
    assert not (output / "simulation" / "_SUCCESS").exists()
    assert not (output / "_SUCCESS").exists()
    left = [path for path in output.rglob("*") if path.name.startswith(".") or path.suffix == ".tmp"]
    assert left == []


def assert_clean_start(study, output, layout, expected):
    """A simulation of fewer scenarios in the same folder shows nothing of the one before."""
    cobre.simulate(study, config_overrides=settings(layout), output=output, scenarios=FEW)
    assert hashes(output) == expected[layout]
    assert (output / "simulation" / "_SUCCESS").exists()


def rank_pid(rank):
    """The process that is this rank of the only group of shm that this test has started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"COBRE_SHM_RANK=%d" % rank in variables and os.environb[b"COBRE_TEST_RUN"] in b"".join(variables):
            found.append(int(entry.name))
    assert len(found) == 1, found
    return found[0]


@pytest.mark.few(1)
@pytest.mark.parametrize(("layout", "victim"), every_value_once(LAYOUTS, (0, 2)))
def test_a_killed_rank(study, expected, tmp_path, layout, victim):
    killed = []

    def kill(event):
        if event.worker_id == victim and event.scenarios_complete >= 16 and not killed:
            killed.append(rank_pid(victim))
            os.kill(killed[0], signal.SIGKILL)

    with pytest.raises(cobre.WorkerError, match=f"[Rr]ank {victim}.*SIGKILL") as caught:
        cobre.simulate(
            study,
            None,
            3,
            config_overrides=settings(layout),
            output=tmp_path,
            scenarios=ENDLESS,
            progress_callback=kill,
        )
    assert killed
    assert caught.value.suggestion or "fix" in str(caught.value)
    assert_unfinished(tmp_path)
    assert_clean_start(study, tmp_path, layout, expected)


SIMULATE = """
import cobre
def show(event):
    print(event.worker_id, event.scenarios_complete, flush=True)
result = cobre.simulate(CASE, None, WORKERS, config_overrides=SETTINGS, output=OUTPUT, scenarios=ENDLESS,
                        progress_callback=show)
print("ended", result.stop_signal, result.is_complete, flush=True)
"""


def program(**values):
    code = SIMULATE
    for name, value in {"ENDLESS": ENDLESS, **values}.items():
        code = code.replace(name, repr(value))
    return code


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("layout", "n_workers", "number"), every_value_once(LAYOUTS, (1, 3, 3), (signal.SIGINT, signal.SIGTERM))
)
def test_a_signal(study, expected, tmp_path, layout, n_workers, number):
    code = program(CASE=str(study), WORKERS=n_workers, SETTINGS=settings(layout), OUTPUT=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        for _ in range(2 * n_workers):
            assert process.stdout.readline()
        process.send_signal(number)
        rest, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, rest
    assert rest.splitlines()[-1] == f"ended {int(number)} False"
    assert_unfinished(tmp_path)
    result = cobre.load_results(tmp_path).simulation
    assert not result.is_complete
    with pytest.raises(cobre.CobreError, match="stopped before its end"):
        _ = result.statistics
    assert_clean_start(study, tmp_path, layout, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_second_signal_ends_it_at_once(study, expected, tmp_path, layout):
    code = program(CASE=str(study), WORKERS=1, SETTINGS=settings(layout), OUTPUT=str(tmp_path))
    code = code.replace(
        "print(event", "import os, signal\n    os.kill(os.getpid(), signal.SIGINT)\n    print(event"
    )
    done = run_command([sys.executable, "-c", code], timeout=DEADLINE_S)
    assert "KeyboardInterrupt" in done.stderr or done.stdout.splitlines()[-1] == "ended 2 False"
    assert_unfinished(tmp_path)
    assert_clean_start(study, tmp_path, layout, expected)


@pytest.mark.few(1)
@pytest.mark.skipif(not can_mount("/mnt"), reason="needs root and unshare for a small disk of its own")
@pytest.mark.parametrize(("layout", "n_workers"), every_value_once(LAYOUTS, (1, 3)))
def test_a_full_disk(study, tmp_path, layout, n_workers):
    disk = tmp_path / "disk"
    disk.mkdir()
    code = program(CASE=str(study), WORKERS=n_workers, SETTINGS=settings(layout), OUTPUT=str(disk))
    script = f'mount -t tmpfs -o size=2m none {disk} && "$@"; status=$?; find {disk}; exit $status'
    done = run_command(
        ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, "-c", code], timeout=DEADLINE_S
    )
    assert done.returncode == 1, done.stderr
    last = done.stderr.strip().splitlines()
    assert any("cannot write" in line and "No space left on device" in line for line in last), done.stderr
    assert any("free some space" in line for line in last), done.stderr
    assert "Exception ignored" not in done.stderr
    paths = [Path(line) for line in done.stdout.splitlines() if line.startswith(str(disk))]
    assert len(paths) > 1
    assert [path for path in paths if path.name.startswith((".", "_SUCCESS")) or path.suffix == ".tmp"] == []


@pytest.mark.few(1)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_that_may_not_grow(study, expected, tmp_path, layout):
    """What a quota does: a write fails in the middle."""
    limit = 6_000 if layout == "by_scenario" else 100_000
    code = program(CASE=str(study), WORKERS=1, SETTINGS=settings(layout), OUTPUT=str(tmp_path))
    done = run_command(
        [sys.executable, "-c", code],
        timeout=DEADLINE_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 1, done.stderr
    assert "cobre.errors.IOError: cannot write" in done.stderr
    assert "File too large" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert_unfinished(tmp_path)
    assert_clean_start(study, tmp_path, layout, expected)


@pytest.mark.parametrize(("layout", "n_workers"), every_value_once(LAYOUTS, (1, 2)))
def test_a_callback_that_fails(study, expected, tmp_path, layout, n_workers):
    def fail(event):
        raise RuntimeError("the caller had enough")

    with pytest.raises(RuntimeError, match="had enough"):
        cobre.simulate(
            study,
            None,
            n_workers,
            config_overrides=settings(layout),
            output=tmp_path,
            scenarios=ENDLESS,
            progress_callback=fail,
        )
    assert_unfinished(tmp_path)
    assert_clean_start(study, tmp_path, layout, expected)


def test_a_folder_that_may_not_be_written(study, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(cobre.IOError, match="file"):
        cobre.simulate(study, output=tmp_path / "file", scenarios=FEW)


def test_scenarios_of_tables_that_this_program_does_not_write_are_removed(study, tmp_path):
    root = tmp_path / "simulation"
    for name in ("in_transit", "violations/other", "notes"):
        place = root / name / ("scenario_id=0007" if name != "notes" else "mine")
        place.mkdir(parents=True)
        (place / "data.parquet").write_bytes(b"of an earlier run")
    cobre.simulate(study, config_overrides=SHORT, output=tmp_path, scenarios=FEW)
    assert list(root.rglob("scenario_id=0007")) == []
    assert not (root / "in_transit").exists()
    assert (root / "notes/mine/data.parquet").exists()


def test_a_failed_simulation_without_output_leaves_no_folder(study, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def fail(event):
        raise RuntimeError("the caller had enough")

    for layout in LAYOUTS:
        with pytest.raises(RuntimeError, match="had enough"):
            cobre.simulate(
                study, config_overrides=settings(layout), scenarios=ENDLESS, progress_callback=fail
            )
        result = cobre.simulate(study, config_overrides=settings(layout), scenarios=FEW)
        assert result.costs.num_rows
        assert len(list(tmp_path.iterdir())) == 1
        del result
    assert list(tmp_path.iterdir()) == []

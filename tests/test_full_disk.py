"""Runs whose output folder is on a file system that is really full: a small tmpfs in a mount namespace of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from cli.test_resume import bits, case_with_checkpoints
from commands import run_command

DEADLINE_S = 120
OWN_MOUNTS = ["unshare", "--map-root-user", "--mount"]

# Everything happens within one namespace: what is mounted there is gone with its last process.
SCRIPT = """
set -u
mount -t tmpfs -o size="$2" tmpfs "$1/out" || exit 99
"$3" -m cobre run "$1/case" --output "$1/out" --quiet 2> "$1/errors"
echo "$?" > "$1/status"
ls -A "$1/out/checkpoint" > "$1/left"
test -e "$1/out/_SUCCESS" && touch "$1/looked_finished"
mount -o remount,size=20m "$1/out" || exit 99
"$3" -m cobre run "$1/case" --output "$1/out" --resume 2> "$1/notes" || exit 1
cp -r "$1/out" "$1/copied"
"""


def can_mount(tmp_path):
    if shutil.which("unshare") is None:
        return False
    command = [*OWN_MOUNTS, "mount", "-t", "tmpfs", "tmpfs", str(tmp_path)]
    return subprocess.run(command, capture_output=True, timeout=DEADLINE_S, check=False).returncode == 0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    case = case_with_checkpoints(tmp_path_factory.mktemp("undisturbed"), 4)
    command = [sys.executable, "-m", "cobre", "run", str(case), "--quiet"]
    assert subprocess.run(command, timeout=DEADLINE_S, check=False).returncode == 0
    return bits(case / "output")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("size", "file"),
    [("140k", "checkpoint/iteration_00000"), ("200k", "")],
    ids=["while a checkpoint is written", "while results are written"],
)
def test_a_full_file_system_ends_the_run_with_its_checkpoints_whole(undisturbed, tmp_path, size, file):
    if not can_mount(tmp_path):
        pytest.skip("this machine does not let the test mount a file system")
    case_with_checkpoints(tmp_path, 4)
    (tmp_path / "out").mkdir()
    command = [*OWN_MOUNTS, "sh", "-c", SCRIPT, "sh", str(tmp_path), size, sys.executable]
    ended = run_command(command, timeout=DEADLINE_S)
    errors = (tmp_path / "errors").read_text()
    assert (tmp_path / "status").read_text().strip() == "2", errors
    assert f"cannot write {tmp_path}/out/{file}" in errors
    assert "No space left on device" in errors
    assert "free some space on that disk; then continue after iteration" in errors
    assert not (tmp_path / "looked_finished").exists()
    left = (tmp_path / "left").read_text().split()
    assert left
    assert not any(name.startswith(".") for name in left)
    assert ended.returncode == 0, ended.stderr + (tmp_path / "notes").read_text()
    notes = (tmp_path / "notes").read_text()
    assert "continues after iteration" in notes
    assert "cannot be" not in notes  # every checkpoint that is there can be used
    assert bits(tmp_path / "copied") == undisturbed

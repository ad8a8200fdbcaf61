"""``cobre doctor``: findings with remedies, and cleaning that never touches what lives."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import mpi_ranks
from cobre.comm import doctor
from cobre.comm.backend import Finding
from cobre.io.examples import write_example
from commands import run_command
from shm_ranks import Ranks, wait_for
from system_calls import AT_SYSTEM_CALL

MPI_ENVIRONMENTS = os.environ.get("COBRE_TEST_MPI")
SEGMENT = Path(f"/dev/shm/cobre_comm_doctor_test_{os.getpid()}")

# Rank 0 of a group that never completes: its segment keeps the name.
WAITING_CREATOR = f"""
from cobre.comm import ShmCommunicator, ShmConfig
ShmCommunicator.attach(ShmConfig("/{SEGMENT.name}", 0, 2, connect_timeout=60))
"""


@pytest.fixture
def creator():
    process = subprocess.Popen([sys.executable, "-c", WAITING_CREATOR])
    wait_for(SEGMENT)
    yield process
    process.kill()
    process.wait()
    SEGMENT.unlink(missing_ok=True)


def findings_of(done) -> list[Finding]:
    return [Finding(**each) for each in json.loads(done.stdout)["findings"]]


def test_doctor_reports_every_subject(cobre):
    findings = findings_of(cobre("doctor", "--json"))
    subjects = {finding.subject for finding in findings}
    wanted = {"versions", "cpus", "memory", "limits", "ports", "mpi", "tcp", "shm", "local", "leftovers"}
    assert wanted <= subjects
    assert {finding.level for finding in findings} <= {"ok", "note", "problem"}
    assert all(finding.remedy for finding in findings if finding.level != "ok")


def test_doctor_shows_the_same_as_its_json(cobre):
    done = cobre("doctor", COLUMNS="100")
    assert "versions" in done.stdout
    assert re.search(r"^\d+ problems?$", done.stdout, re.MULTILINE)
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_a_terminal_gets_colours_and_fits_its_width(terminal):
    shell = terminal("doctor", columns=60)
    shell.wait()
    assert "\x1b[32mok" in shell.text
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in shell.text.splitlines()) <= 60


def test_doctor_keeps_the_segment_of_a_running_creator(cobre, creator):
    done = cobre("doctor", "--clean", "--json", check=0)
    assert str(SEGMENT) not in json.loads(done.stdout)["removed"]
    [finding] = [each for each in findings_of(done) if SEGMENT.name in each.text]
    assert finding.level == "ok"
    assert f"pid {creator.pid}, alive" in finding.text
    assert SEGMENT.exists()


def assert_reported_and_removed(cobre, path, pid):
    done = cobre("doctor", "--json", check=1)
    [finding] = [each for each in findings_of(done) if path.name in each.text]
    assert (finding.level, finding.remedy) == ("problem", "cobre doctor --clean removes it")
    assert f"pid {pid}, dead" in finding.text
    done = cobre("doctor", "--clean", "--json", check=0)
    assert str(path) in json.loads(done.stdout)["removed"]
    assert not path.exists()


def test_the_segment_of_a_dead_creator_is_a_problem_until_it_is_cleaned(cobre, creator):
    creator.send_signal(signal.SIGKILL)
    creator.wait()
    assert_reported_and_removed(cobre, SEGMENT, creator.pid)


def test_a_segment_whose_group_chose_the_name_is_found_too(cobre):
    with Ranks(0, "") as ranks:
        creator = ranks.add(0, 2, "ShmCommunicator.attach(config(connect_timeout=60))").process
        path = SEGMENT.with_name(ranks.name[1:])
        wait_for(path)
        creator.send_signal(signal.SIGKILL)
        creator.wait()
        assert_reported_and_removed(cobre, path, creator.pid)


# Ranks that may not look into each other give a region a name, and here the last to open it never does.
NAMED_REGION = f"""
{AT_SYSTEM_CALL}
comm = ShmCommunicator.attach(config(connect_timeout=20, timeout=60))
if rank == victim:
    at_system_call("openat", DENY, os.O_NOCTTY)
    stop_when_trapped()
    at_system_call("openat", TRAP, os.O_NOFOLLOW)
comm.create_shared_region(1000)
"""


def test_the_region_of_dead_ranks_is_a_problem_until_it_is_cleaned(cobre):
    with Ranks(2, NAMED_REGION) as ranks:
        leader = ranks.ranks[0].process
        end = time.monotonic() + 20
        while not (found := list(SEGMENT.parent.glob(f"cobre_comm_region_*_{leader.pid}_*"))):
            assert time.monotonic() < end
            time.sleep(0.01)
        [region] = found
        done = cobre("doctor", "--clean", "--json")
        [finding] = [each for each in findings_of(done) if region.name in each.text]
        assert finding.level == "ok"
        assert f"pid {leader.pid}, alive" in finding.text
        assert region.exists()
        for rank in ranks.ranks:
            rank.process.send_signal(signal.SIGKILL)
    assert_reported_and_removed(cobre, region, leader.pid)


def test_doctor_keeps_files_that_are_not_segments(cobre):
    SEGMENT.write_bytes(b"mine")
    try:
        done = cobre("doctor", "--clean", "--json")
        assert SEGMENT.read_bytes() == b"mine"
    finally:
        SEGMENT.unlink()
    [finding] = [each for each in findings_of(done) if SEGMENT.name in each.text]
    assert "not a Cobre segment" in finding.text


def test_a_half_set_environment_is_a_problem(cobre):
    done = cobre("doctor", "--json", COBRE_TCP_RANK="1", COBRE_TCP_SECRET="hush", check=1)
    problems = [each for each in findings_of(done) if each.level == "problem"]
    assert any("COBRE_TCP_COORDINATOR" in each.text and "unset" in each.remedy for each in problems)
    assert "hush" not in done.stdout


def test_an_unknown_backend_in_the_environment_is_a_problem(cobre):
    done = cobre("doctor", "--json", COBRE_COMM_BACKEND="pigeon", check=1)
    assert any("pigeon" in each.text for each in findings_of(done) if each.level == "problem")


@pytest.mark.skipif(find_spec("mpi4py") is not None, reason="needs a Python without mpi4py")
def test_a_backend_that_the_environment_asks_for_and_that_cannot_run_here_is_a_problem(cobre):
    done = cobre("doctor", "--json", COBRE_COMM_BACKEND="mpi", check=1)
    [problem] = [
        each for each in findings_of(done) if each.level == "problem" and "leftover" not in each.subject
    ]
    assert problem.text == "COBRE_COMM_BACKEND=mpi, but it cannot run here: mpi4py is not installed"
    assert "pip install mpi4py" in problem.remedy


def test_few_open_files_are_a_problem(environ):
    done = run_command(
        ["bash", "-c", f"ulimit -n 100; {sys.executable} -m cobre doctor"], env={**environ, "COLUMNS": "100"}
    )
    assert done.returncode == 1
    assert "open files: 100" in done.stdout
    assert "ulimit -n" in done.stdout


def test_a_port_in_use_is_noted():
    with socket.socket() as holder:
        try:
            holder.bind(("127.0.0.1", doctor.DEFAULT_PORT))
            holder.listen()
        except OSError:
            pass  # another process has it, which is as good
        [finding, _] = list(doctor._ports())
    assert finding.level == "note"
    assert "COBRE_TCP_PORT" in finding.remedy


@pytest.mark.parametrize(("quota", "level"), [(0.5, "note"), (10_000.0, "ok"), (None, "ok")])
def test_a_quota_below_the_cpus_is_noted(monkeypatch, quota, level):
    monkeypatch.setattr(doctor, "cpu_quota", lambda: quota)
    [finding] = list(doctor._cpus())
    assert finding.level == level


def test_scarce_memory_is_a_problem(monkeypatch):
    monkeypatch.setattr(doctor, "available_memory", lambda: (1 << 20, "cgroup limit"))
    [finding] = list(doctor._memory())
    assert finding.level == "problem"
    assert "cgroup limit" in finding.text


@pytest.mark.skipif(not MPI_ENVIRONMENTS, reason="needs the MPI environments of make test")
@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_the_mpi_library_and_its_launcher_are_named(library):
    folder = Path(MPI_ENVIRONMENTS) / library / "bin"
    code = "from cobre.comm.doctor import examine; print(*[f.text for f in examine() if f.subject == 'mpi'], sep='\\n')"
    done = run_command([folder / "python", "-c", code], check=True)
    assert {"openmpi": "Open MPI", "mpich": "MPICH"}[library] in done.stdout
    assert str(folder / "mpiexec") in done.stdout
    assert "does not match" not in done.stdout


def test_in_a_pipe_every_finding_is_one_line(cobre):
    lines = cobre("doctor").stdout.splitlines()
    assert not [line for line in lines if line != line.rstrip()]
    assert all(line.lstrip().startswith(("ok", "note", "problem", "fix: ")) for line in lines[:-1])


def test_a_narrow_terminal_wraps_behind_the_first_column(terminal):
    shell = terminal("doctor", columns=60)
    shell.wait()
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shell.text).splitlines()
    assert max(map(len, lines)) <= 60
    assert all(line.startswith(("ok ", "note ", "problem ", " " * 10)) for line in lines[:-1])


@pytest.mark.skipif(not MPI_ENVIRONMENTS, reason="needs the MPI environments of make test")
@pytest.mark.parametrize(("library", "other"), [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_a_launcher_on_path_is_said_to_match_or_not(library, other, tmp_path):
    python = Path(MPI_ENVIRONMENTS) / library / "bin" / "python"
    code = "from cobre.comm.doctor import examine; print(*[f.text for f in examine() if f.subject == 'mpi'], sep='\\n')"
    said = {}
    for owner in (library, other):
        # A script elsewhere that becomes that library's mpiexec, as a module system sets PATH.
        (tmp_path / owner).mkdir()
        wrapper = tmp_path / owner / "mpiexec"
        wrapper.write_text(f'#!/bin/sh\nexec "{Path(MPI_ENVIRONMENTS) / owner / "bin" / "mpiexec"}" "$@"\n')
        wrapper.chmod(0o755)
        path = f"{tmp_path / owner}{os.pathsep}{os.environ['PATH']}"
        command = [python, "-c", code]
        said[owner] = run_command(command, env={**os.environ, "PATH": path}, check=True).stdout
    assert f"mpiexec on PATH matches: {tmp_path / library / 'mpiexec'}" in said[library]
    assert f"mpiexec on PATH does not match: {tmp_path / other / 'mpiexec'}" in said[other]


def broken_plugin(folder, code):
    """A package whose backend is called ``ring``."""
    metadata = folder / "ring_backend-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: ring-backend\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[cobre.comm.backends]\nring = ring_backend:BACKEND\n")
    (folder / "ring_backend.py").write_text(code)


RECORD = """
from cobre.comm.backend import Backend, Detection
def no():
    raise OSError("the ring\\nis broken")
fields = dict(name="ring", detect=lambda environ: Detection(fits=False), configure=lambda environ: None,
              open=lambda config: None, rank_commands=lambda argv, size: [])
"""


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import no_such_package\n", "No module named 'no_such_package'"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("BACKEND = 'no record'\n", "is a str, not a cobre.comm.backend.Backend"),
        (
            RECORD + "BACKEND = Backend(**fields | dict(detect=lambda environ: no()))",
            "OSError: the ring is broken",
        ),
        (RECORD + "BACKEND = Backend(**fields | dict(detect=lambda environ: None))", "not a Detection"),
        (RECORD + "BACKEND = Backend(**fields, unavailable=no)", "OSError: the ring is broken"),
        (RECORD + "BACKEND = Backend(**fields, diagnose=no, leftovers=no)", "OSError: the ring is broken"),
    ],
    ids=["import", "exit", "no record", "detect", "no detection", "unavailable", "diagnose"],
)
def test_a_broken_plugin_is_one_problem_in_one_line_with_its_cause(cobre, tmp_path, code, cause):
    broken_plugin(tmp_path / "site", code)
    done = cobre("doctor", PYTHONPATH=str(tmp_path / "site"), check=1)
    assert done.stderr == ""
    [line] = [line for line in done.stdout.splitlines() if line.startswith("problem") and "ring" in line]
    assert cause in line
    assert "Traceback" not in done.stdout
    assert "fix: repair or uninstall the package that provides" in done.stdout
    document = json.loads(cobre("doctor", "--json", "--clean", PYTHONPATH=str(tmp_path / "site")).stdout)
    assert [each["level"] for each in document["findings"] if "ring" in each["text"]] == ["problem"]


def test_a_broken_plugin_costs_other_commands_one_line_at_most(cobre, tmp_path):
    broken_plugin(tmp_path / "site", "import no_such_package\n")
    done = cobre("run", "no/such/case", PYTHONPATH=str(tmp_path / "site"), check=2)
    assert [line for line in done.stderr.splitlines() if "ring" in line] == [
        "the backend 'ring' (ring_backend:BACKEND) cannot be loaded: "
        "ModuleNotFoundError: No module named 'no_such_package'"
    ]
    assert "Traceback" not in done.stderr


def broken_in(folder, name):
    """A package whose backend has a record that loads, with a function that raises."""
    broken_plugin(folder, RECORD + f"BACKEND = Backend(**fields | dict({name}=lambda *given: no()))")
    return str(folder)


def test_a_run_on_workers_skips_a_backend_whose_detection_fails(cobre, tmp_path):
    path = broken_in(tmp_path / "site", "detect")
    write_example(tmp_path / "case")
    config = tmp_path / "case/config.json"
    rules = [{"type": "iteration_limit", "limit": 1}]
    selection = {"method": "sampled", "forward_passes": 2}
    config.write_text(json.dumps({"training": {"selection": selection, "stopping_rules": rules}}))
    done = cobre("run", tmp_path / "case", "-n", 2, PYTHONPATH=path, check=0)
    assert (
        done.stderr == "the backend 'ring' cannot be asked and is passed over: OSError: the ring is broken\n"
    )


@pytest.mark.parametrize("name", ["unavailable", "rank_commands"])
def test_measuring_skips_a_broken_backend(cobre, tmp_path, name):
    path = broken_in(tmp_path / "site", name)
    done = cobre("bench", "-n", 2, "--op", "barrier", "--seconds", 0.01, PYTHONPATH=path)
    assert "Traceback" not in done.stderr
    assert "not measured: ring: " in done.stdout
    assert re.search(r"^shm ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(("library", "other"), [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_ranks_that_another_mpi_s_launcher_started_are_a_problem(library, other):
    python, mpiexec = mpi_ranks.python_of(library), Path(mpi_ranks.python_of(other)).parent / "mpiexec"
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "COLUMNS": "1000"}
    oversubscribe = ["--oversubscribe"] if other == "openmpi" else []
    done = mpi_ranks.run(mpiexec, *oversubscribe, "-n", 2, python, "-m", "cobre", "doctor", **allowed)
    assert done.returncode == 1, done.stdout
    vendor = {"openmpi": "Open MPI", "mpich": "MPICH"}[library]
    assert re.search(
        rf"problem.*a launcher started 2 ranks .* but not that of {vendor}: every rank", done.stdout
    )

"""``cobre bench``: what is measured is right, and shown to people and programs."""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cobre.cli.bench import parse_size
from cobre.comm import LocalCommunicator
from cobre.comm.bench import ceiling, member
from cobre.comm.bench.ceiling import limits_gb_per_s
from commands import run_command

MPI_ENVIRONMENTS = os.environ.get("COBRE_TEST_MPI")
QUICK = ["--seconds", "0.01", "--sizes", "8,64K"]


def test_every_backend_is_measured_at_every_size(cobre):
    done = cobre("bench", "-n", 2, "--backend", "shm,tcp,sockets", *QUICK, "--json", check=0)
    report = json.loads(done.stdout)
    assert report["ranks"] == 2
    assert report["skipped"] == {}
    wanted = {
        (backend, operation, size)
        for backend in ("shm", "tcp", "sockets")
        for operation in ("allgatherv", "allreduce", "broadcast", "barrier")
        for size in ((0,) if operation == "barrier" else (8, 65536))
    }
    assert {(row["backend"], row["operation"], row["bytes"]) for row in report["rows"]} == wanted
    for row in report["rows"]:
        assert 0 < row["p50_us"] <= row["p99_us"]
        assert row["calls"] >= 10
        if row["bytes"] == 65536:
            assert row["gb_per_s"] == pytest.approx(65536 / row["p50_us"] / 1e3)
            assert row["percent"] == pytest.approx(100 * row["gb_per_s"] / row["limit_gb_per_s"])
        else:
            assert row["percent"] is None
    limits = {row["backend"]: row["limit"] for row in report["rows"] if row["bytes"]}
    assert limits == {"shm": "memcpy", "tcp": "loopback", "sockets": "loopback"}


def test_people_get_a_table_per_operation(cobre):
    done = cobre("bench", "-n", 2, "--backend", "shm", "--op", "allreduce,barrier", *QUICK, check=0)
    assert re.search(r"allreduce, 2 ranks\s+size +backend +p50 µs +p99 µs +GB/s +of limit", done.stdout)
    assert re.search(r"64 KiB +shm +[\d,.]+ +[\d,.]+ +[\d.]+ +\d+ %", done.stdout)
    assert re.search(r"barrier, 2 ranks\s+backend +p50 µs +p99 µs\n", done.stdout)
    assert "allgatherv" not in done.stdout
    assert "\x1b" not in done.stdout
    assert not re.search(r" $", done.stdout, re.M)


def test_the_table_fits_a_narrow_terminal(terminal):
    shell = terminal("bench", "-n", 2, "--backend", "shm", "--op", "allreduce", *QUICK, columns=60)
    assert shell.wait() == 0
    tables = shell.text[shell.text.index("allreduce, 2 ranks") :]
    assert max(len(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line)) for line in tables.splitlines()) <= 60


def test_one_rank_measures_local(cobre):
    report = json.loads(cobre("bench", "-n", 1, *QUICK, "--json", check=0).stdout)
    assert {row["backend"] for row in report["rows"]} == {"local"}


@pytest.mark.soak
def test_odd_numbers_of_ranks_work(cobre):
    report = json.loads(
        cobre("bench", "-n", 3, "--backend", "shm", "--sizes", "8,1K", "--seconds", "0.01", "--json").stdout
    )
    assert len(report["rows"]) == 7


def test_files_in_the_working_directory_do_not_stand_in_for_modules(environ, tmp_path):
    (tmp_path / "secrets.py").write_text("raise ImportError('not meant to be imported')")
    done = run_command(
        [
            sys.executable,
            "-P",
            "-m",
            "cobre",
            "bench",
            "-n",
            "2",
            "--backend",
            "shm",
            "--op",
            "barrier",
            "--seconds",
            "0.01",
        ],
        cwd=tmp_path,
        env=environ,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_sizes_that_cannot_be_measured_are_reported(cobre):
    done = cobre("bench", "-n", 2, "--backend", "local", check=1)
    assert "one rank" in done.stdout
    done = cobre("bench", "--backend", "pigeon", check=4)
    assert "pigeon" in done.stderr


def test_a_backend_that_takes_too_long_is_given_up(cobre):
    less_than_a_process_needs_to_start = "0.02"
    arguments = ["--backend", "shm", "--op", "barrier", "--timeout", less_than_a_process_needs_to_start]
    done = cobre("bench", "-n", 2, *arguments, check=1)
    assert "not measured: shm: still running after 0.02 s" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["--sizes", "7"], ["--sizes", "8X"], ["--op", "dance"], ["-n", "0"], ["--seconds", "-1"], ["extra"]],
)
def test_wrong_options_are_refused(cobre, arguments):
    done = cobre("bench", *arguments, check=4)
    assert "fix: see cobre bench --help" in done.stderr


@pytest.mark.parametrize(("text", "number"), [("8", 8), ("64k", 65536), ("16M", 16 << 20), ("1G", 1 << 30)])
def test_sizes_are_written_as_people_do(text, number):
    assert parse_size(text) == number


def test_a_wrong_result_is_noticed():
    class Forgetful(LocalCommunicator):
        def allreduce(self, send, recv, op):
            recv[:] = 0

    call, verify = member._prepare(Forgetful(), "allreduce", 64)
    call()
    with pytest.raises(AssertionError, match="allreduce delivered 0.0 instead of 1.0 at element 1"):
        verify()


@pytest.mark.parametrize("operation", ["allgatherv", "allreduce", "broadcast", "barrier"])
def test_a_right_result_passes(operation):
    call, verify = member._prepare(LocalCommunicator(), operation, 80)
    call()
    verify()
    assert np.all(member._time(LocalCommunicator(), call, 0.001) > 0)


@pytest.mark.parametrize("kind", ["memcpy", "loopback"])
def test_the_machine_s_limit_is_a_plausible_speed(kind):
    limits = limits_gb_per_s(kind, [64 << 10, 1 << 20])
    assert list(limits) == [64 << 10, 1 << 20]
    assert all(0.001 < speed < 10_000 for speed in limits.values())


def test_the_stream_that_measures_the_limit_ends_while_its_sender_waits_for_room(monkeypatch):
    clock, calls = time.perf_counter, itertools.count(1)

    def slow_clock():
        if next(calls) == 32:  # the last: before the receiver ends the buffers are full
            time.sleep(0.5)
        return clock()

    monkeypatch.setattr(ceiling, "STREAM", 16 << 10)
    monkeypatch.setattr(ceiling, "time", SimpleNamespace(perf_counter=slow_clock))
    measuring = threading.Thread(target=limits_gb_per_s, args=("loopback", [64 << 10]), daemon=True)
    measuring.start()
    measuring.join(20)
    assert not measuring.is_alive()


@pytest.mark.soak
def test_a_picture_is_written(cobre, tmp_path):
    path = tmp_path / "bench.png"
    done = cobre("bench", "-n", 2, "--backend", "shm", *QUICK, "--plot", path, check=0)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert f"wrote {path}" in done.stderr


def test_a_page_needs_no_network(cobre, tmp_path):
    path = tmp_path / "bench.html"
    cobre("bench", "-n", 2, "--backend", "shm", *QUICK, "--plot", path, check=0)
    page = path.read_text()
    assert "<svg" in page
    assert "<td>allreduce</td><td>shm</td><td>65,536</td>" in page
    assert not re.search(r"""(src|href)=["'](?!#)|@import|url\((?!#)""", page)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "operations", "said"),
    [
        pytest.param("missing/x.png", "broadcast", "there is no folder", id="folder"),
        pytest.param("x.xyz", "broadcast", "end the name in", id="format"),
        pytest.param("x.png", "barrier", "nothing with a size", id="content"),
    ],
)
def test_a_plot_that_cannot_be_written_is_refused_before_anything_is_measured(
    cobre, tmp_path, name, operations, said
):
    arguments = ["-n", 1, "--op", operations, *QUICK, "--plot", tmp_path / name]
    done = cobre("bench", *arguments, check=4)
    assert said in done.stderr
    assert done.stdout == ""


def test_auto_is_not_listed_where_a_backend_must_be_named(cobre):
    done = cobre("bench", "--backend", "auto", check=4)
    assert "fix: choose mpi, tcp, shm," in done.stderr


def test_without_matplotlib_a_plot_says_what_to_install(cobre, tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('not here')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    arguments = ["-n", 1, "--op", "broadcast", *QUICK, "--plot", tmp_path / "x.png"]
    done = cobre("bench", *arguments, PYTHONPATH=path, check=4)
    assert "pip install matplotlib" in done.stderr
    assert done.stdout == ""


@pytest.mark.soak
@pytest.mark.skipif(not MPI_ENVIRONMENTS, reason="needs the MPI environments of make test")
def test_mpi4py_is_a_peer_where_it_is_installed():
    python = Path(MPI_ENVIRONMENTS) / "mpich" / "bin" / "python"
    code = """
    import json
    from cobre.comm.bench import Plan, choose, measure
    records, skipped = choose(["mpi"], 2, peers=True)
    report = measure(records, Plan(2, sizes=(8, 1024), seconds=0.01), timeout=60)
    print(json.dumps([sorted({row.backend for row in report.rows}), len(report.rows), report.skipped]))
    """
    program = "\n".join(line.strip() for line in code.strip().splitlines())
    done = run_command([python, "-c", program], timeout=120, check=True)
    assert json.loads(done.stdout) == [["mpi", "mpi4py"], 14, {}]


@pytest.mark.skipif(find_spec("torch") is not None, reason="PyTorch is here")
def test_a_missing_peer_library_is_reported(cobre):
    done = cobre(
        "bench", "-n", 2, "--peers", "--backend", "shm", "--op", "barrier", "--seconds", "0.01", check=0
    )
    assert "not measured: gloo: PyTorch is not installed" in done.stdout


@pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")
@pytest.mark.parametrize("ranks", [2, 3])
def test_gloo_is_a_peer_where_pytorch_is_installed(cobre, ranks):
    done = cobre("bench", "-n", ranks, "--peers", "--backend", "shm", *QUICK, "--json", check=0)
    rows = [row for row in json.loads(done.stdout)["rows"] if row["backend"] == "gloo"]
    assert len(rows) == 7
    assert {row["limit"] for row in rows if row["bytes"]} == {"loopback"}

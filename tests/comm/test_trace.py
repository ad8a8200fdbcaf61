"""COBRE_COMM_TRACE: one file per rank, and one that a timeline viewer opens."""

from __future__ import annotations

import itertools
import json
import math
import os
import struct
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from cobre.comm.timeline import RankTrace, summary
from cobre.comm.timeline import events_of as events_of_traces
from cobre.comm.trace import merge, read_rank, remove_old
from commands import run_command
from mpi_ranks import LIBRARIES, python_of

PROGRAM = """
import os, signal, sys, time
import numpy as np
from cobre.comm import create_communicator
with create_communicator() as comm:
    a, b = np.ones(1000), np.empty(1000)
    for step in range(5):
        if comm.rank == 1:
            time.sleep(0.02)
        comm.allreduce(a, b, "sum")
    comm.broadcast(a, 0)
    comm.allgatherv(a, np.empty(1000 * comm.size), [1000] * comm.size, range(0, 1000 * comm.size, 1000))
    comm.barrier()
    if len(sys.argv) > 1 and comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
"""


IN_TURN = "backend"


@pytest.fixture(params=["shm", "tcp", "sockets", *LIBRARIES])
def backend(request):
    return request.param


@pytest.fixture
def launch(sockets_path, tmp_path):
    """Run the program on ranks with a trace; the trace's path and the launcher's stderr."""

    def run(backend, size, *arguments, check=True):
        program, path = tmp_path / "program.py", tmp_path / "trace.json"
        program.write_text(PROGRAM)
        python, name = (python_of(backend), "mpi") if backend in LIBRARIES else (sys.executable, backend)
        command = ["-m", "cobre", "launch", "-n", str(size), "--backend", name, "--timeout", "60"]
        done = run_command(
            [python, *command, str(program), *arguments],
            env={**os.environ, "PYTHONPATH": sockets_path, "COBRE_COMM_TRACE": str(path)},
            timeout=90,
        )
        assert not check or done.returncode == 0, done.stderr
        return path, done.stderr

    return run


def events_of(path: Path, phase: str) -> list[dict]:
    return [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == phase]


def test_every_rank_has_a_track_with_all_its_collectives(backend, launch):
    path, said = launch(backend, 3)
    assert {file.name for file in path.parent.glob("trace.json*")} == {
        "trace.json",
        *(f"trace.json.rank{rank}" for rank in range(3)),
    }
    names = [event["args"]["name"] for event in events_of(path, "M") if event["name"] == "thread_name"]
    assert [name.partition(" (")[0] for name in names] == [f"rank {rank}" for rank in range(3)]
    slices = [event for event in events_of(path, "X") if event["cat"] == "collective"]
    for rank in range(3):
        mine = [event for event in slices if event["args"]["rank"] == rank]
        counts = Counter(event["name"] for event in mine)
        assert counts == {"allreduce": 5, "broadcast": 1, "allgatherv": 1, "barrier": 1}
        assert [event["args"]["sequence"] for event in mine] == list(range(8))
        assert [event["args"]["bytes"] for event in mine] == [8000] * 6 + [24000, 0]
        assert all(before["ts"] + before["dur"] <= after["ts"] for before, after in itertools.pairwise(mine))
    assert f"3 ranks, 24 collectives; the others waited longest for rank {awaited_longest(slices)}" in said


def last_by_sequence(slices: list[dict]) -> dict[int, dict]:
    """The slice of the rank that came last, for each collective."""
    last: dict[int, dict] = {}
    for each in slices:
        sequence = each["args"]["sequence"]
        last[sequence] = max(last.get(sequence, each), each, key=lambda s: s["ts"])
    return last


def awaited_longest(slices: list[dict]) -> int:
    """The rank for which the others waited longest; on a busy machine it need not be the one that sleeps."""
    waited: Counter[int] = Counter()
    for sequence, last in last_by_sequence(slices).items():
        waits = [s["args"]["wait_us"] for s in slices if s["args"]["sequence"] == sequence and s is not last]
        waited[last["args"]["rank"]] += sum(waits)
    return waited.most_common(1)[0][0]


def test_arrows_lead_from_waiting_ranks_to_the_last_one(backend, launch):
    path, _ = launch(backend, 3)
    starts, ends = events_of(path, "s"), events_of(path, "f")
    assert len(starts) == len(ends) == 8 * 2
    assert [event["id"] for event in starts] == [event["id"] for event in ends]
    slices = [event for event in events_of(path, "X") if event["cat"] == "collective"]

    def beginning_at(event):
        [found] = [s for s in slices if (s["tid"], s["ts"]) == (event["tid"], event["ts"])]
        return found

    for start, end in zip(starts, ends, strict=True):
        waiter, last = beginning_at(start), beginning_at(end)
        assert waiter["args"]["sequence"] == last["args"]["sequence"]
        assert waiter["ts"] <= last["ts"]
    lasts = last_by_sequence(slices)
    assert [beginning_at(end) for end in ends] == [
        lasts[beginning_at(end)["args"]["sequence"]] for end in ends
    ]
    for each in slices:  # who came at least 10 ms before the last one waited for it
        early_us = lasts[each["args"]["sequence"]]["ts"] - each["ts"]
        if each["name"] == "allreduce" and early_us > 10_000:
            assert each["args"]["wait_us"] > early_us / 2


def test_the_file_follows_the_trace_event_format(backend, launch):
    """What its importer counts as errors, checked here: tracks that are none, slices that overlap, loose arrows."""
    path, _ = launch(backend, 4)
    document = json.loads(path.read_text())
    assert set(document) == {"displayTimeUnit", "traceEvents"}
    assert_is_chrome_trace(document["traceEvents"])
    named = [event for event in events_of(path, "M") if event["name"] == "thread_name"]
    assert [event["args"]["name"].partition(" (")[0] for event in named] == [f"rank {r}" for r in range(4)]


def assert_is_chrome_trace(events: list[dict]) -> None:
    needed = {
        "M": {"name", "pid", "tid", "args"},
        "X": {"name", "cat", "pid", "tid", "ts", "dur"},
        "s": {"name", "cat", "pid", "tid", "ts", "id"},
        "f": {"name", "cat", "pid", "tid", "ts", "id", "bp"},
    }
    tracks: dict[int, list[dict]] = {}
    for event in events:
        assert needed[event["ph"]] <= set(event), event
        assert isinstance(event["pid"], int)
        # Perfetto takes 0 for the idle thread and mixes it with another; the process's own number is its main thread.
        assert event["ph"] == "M" or 0 < event["tid"] < event["pid"], event
        assert all(value >= 0 for key in ("ts", "dur") if (value := event.get(key, 0)) is not None), event
        if event["ph"] == "X":
            tracks.setdefault(event["tid"], []).append(event)
    for slices in tracks.values():
        open_until = [math.inf]
        for event in sorted(slices, key=lambda each: (each["ts"], -each["dur"])):
            begin, end = round(event["ts"] * 1e3), round((event["ts"] + event["dur"]) * 1e3)
            while open_until[-1] <= begin:
                open_until.pop()
            assert end <= open_until[-1], f"{event} lasts beyond the slice around it"
            open_until.append(end)
    for arrow, ends in itertools.groupby(sorted(flows(events), key=lambda e: e["id"]), lambda e: e["id"]):
        start, end = sorted(ends, key=lambda event: event["ph"] == "f")
        assert (start["ph"], end["ph"], end["bp"]) == ("s", "f", "e"), arrow
        assert start["ts"] <= end["ts"]


def flows(events: list[dict]) -> list[dict]:
    return [event for event in events if event["ph"] in "sf"]


def test_collectives_at_the_same_time_are_drawn_in_separate_rows(tmp_path):
    code = """
    import os, threading, time
    from cobre.comm import run
    def later(comm):
        inner = comm.split_local()
        other = threading.Thread(target=comm.barrier)
        if comm.rank == 0:
            other.start()
            futex, end = {"x86_64": "202", "aarch64": "98"}[os.uname().machine], time.monotonic() + 60
            while open(f"/proc/self/task/{other.native_id}/syscall").read().split()[0] != futex:
                assert time.monotonic() < end, "it never waited"
                time.sleep(0.002)
        inner.barrier()
        if comm.rank == 1:
            other.start()
        other.join()
    run(later, num_workers=2, backend="shm")
    """
    run_traced(tmp_path / "t", code)
    events = json.loads((tmp_path / "t").read_text())["traceEvents"]
    assert_is_chrome_trace(events)
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    # Rank 0 waits for rank 1 in one barrier while it passes through the other.
    assert [name.endswith(", at the same time") for name in names if name.startswith("rank 0")] == [
        False,
        True,
    ]


@pytest.mark.parametrize("seconds", [1e-6, 0.1, 30.0])
def test_intervals_that_overlap_by_rounding_are_cut(seconds):
    duration = struct.unpack("f", struct.pack("f", seconds))[0]
    begin = 10**18
    after = begin + round(duration * 1e9) - int(duration * 1e9 / 2**24)
    records = [(begin, 8, duration, duration, 0, 2, 0, 1), (after, 8, 1e-6, 0.0, 1, 2, 0, 1)]
    events = list(events_of_traces([RankTrace(0, 2, 7, "shm", "here", 0, records)]))
    assert_is_chrome_trace(events)
    assert len({event["tid"] for event in events if event["ph"] == "X"}) == 1


def test_a_killed_rank_leaves_its_collectives(launch):
    path, _ = launch("shm", 3, "die", check=False)
    assert [len(read_rank(Path(f"{path}.rank{rank}")).records) for rank in range(3)] == [8, 8, 8]
    assert len([event for event in events_of(path, "X") if event["cat"] == "collective"]) == 24


def test_ranks_of_an_earlier_run_do_not_show_up(launch):
    launch("shm", 4)
    path, said = launch("shm", 2)
    assert "2 ranks, 16 collectives" in said
    assert len(list(path.parent.glob("trace.json.rank*"))) == 2


def test_the_timeline_grows_beyond_its_first_window(tmp_path):
    code = "from cobre.comm import LocalCommunicator\nc = LocalCommunicator()\nfor i in range(100_000): c.barrier()"
    run_traced(tmp_path / "t", code)
    trace = read_rank(tmp_path / "t.rank0")
    assert len(trace.records) == 100_000
    assert [record[4] for record in trace.records] == list(range(100_000))
    begins = [record[0] for record in trace.records]
    assert begins == sorted(begins)


def test_communicators_of_one_process_are_distinguished(tmp_path):
    run_traced(
        tmp_path / "t",
        """
        from cobre.comm import LocalCommunicator
        first, second = LocalCommunicator(), LocalCommunicator()
        first.barrier(); second.barrier(); first.barrier()
        """,
    )
    assert [record[4:7] for record in read_rank(tmp_path / "t.rank0").records] == [
        (0, 1, 0),
        (0, 1, 1),
        (1, 1, 0),
    ]
    [trace] = merge(tmp_path / "t")
    assert summary([trace]) == "1 rank, 3 collectives"
    assert events_of(tmp_path / "t", "s") == []


def test_a_failed_collective_is_marked(tmp_path):
    code = """
    import numpy as np
    from cobre.comm import CollectiveFailed, run
    def disagree(comm):
        try:
            comm.broadcast(np.ones(1), comm.rank)
        except CollectiveFailed:
            pass
    run(disagree, num_workers=2, backend="shm")
    """
    run_traced(tmp_path / "t", code)
    assert [event["args"]["failed"] for event in events_of(tmp_path / "t", "X") if "args" in event] == [
        True,
        True,
    ]


def test_a_forked_child_writes_nothing(tmp_path):
    code = """
    import os
    from cobre.comm import LocalCommunicator
    LocalCommunicator().barrier()
    if os.fork() == 0:
        LocalCommunicator().barrier()
        os._exit(0)
    os.wait()
    """
    run_traced(tmp_path / "t", code)
    assert len(read_rank(tmp_path / "t.rank0").records) == 1
    assert len(list(tmp_path.glob("t.rank*"))) == 1


def test_without_the_variable_nothing_is_written(tmp_path):
    run_traced(
        tmp_path / "t", "from cobre.comm import LocalCommunicator\nLocalCommunicator().barrier()", wanted=""
    )
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_trace_file_is_reported_and_ends_nothing(tmp_path):
    path = tmp_path / "missing" / "t"
    code = "from cobre.comm import LocalCommunicator\nc = LocalCommunicator()\nc.barrier()\nc.barrier()\nprint('done')"
    done = run_traced(path, code)
    assert done.stdout == "done\n"
    assert done.stderr == f"cobre: the trace {path}.rank0 ends here: No such file or directory\n"


MANY_BARRIERS = """
import resource, sys
from cobre.comm import LocalCommunicator
comm = LocalCommunicator()
comm.barrier()
if len(sys.argv) > 1:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
for _ in range(2499):
    comm.barrier()
print("done")
"""


def test_records_of_several_blocks_stay_in_order(tmp_path):
    run_traced(tmp_path / "t", MANY_BARRIERS)
    assert [record[4] for record in read_rank(tmp_path / "t.rank0").records] == list(range(2500))


def test_a_full_disk_ends_the_trace_and_not_the_program(tmp_path):
    done = run_traced(tmp_path / "t", MANY_BARRIERS, "80000")
    assert done.stdout == "done\n"
    assert done.stderr == f"cobre: the trace {tmp_path / 't'}.rank0 ends here: File too large\n"
    assert [record[4] for record in read_rank(tmp_path / "t.rank0").records] == list(range(2047))


def test_merging_by_hand(tmp_path):
    run_traced(tmp_path / "t", "from cobre.comm import LocalCommunicator\nLocalCommunicator().barrier()")
    command = [sys.executable, "-m", "cobre.comm.trace"]
    done = run_command([*command, str(tmp_path / "t")], check=True)
    assert done.stdout == f"{tmp_path / 't'}: 1 rank, 1 collectives\n"
    done = run_command([*command, "nothing"])
    assert done.returncode == 4
    assert "fix: " in done.stderr


def test_other_files_are_refused_and_kept(tmp_path):
    (tmp_path / "t.rank0").write_bytes(b"something else")
    (tmp_path / "t.ranking").write_text("mine")
    with pytest.raises(ValueError, match="no trace"):
        merge(tmp_path / "t")
    remove_old(tmp_path / "t")
    assert [file.name for file in tmp_path.iterdir()] == ["t.ranking"]


def run_traced(path, code, *arguments, wanted=None):
    return run_command(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env={**os.environ, "COBRE_COMM_TRACE": str(path) if wanted is None else wanted},
        check=True,
    )


def test_a_trace_that_cannot_be_merged_does_not_change_the_result(tmp_path):
    """Neither the status and the report of a failed rank, nor the results of a run."""
    (tmp_path / "t").mkdir()
    code = (
        "import sys\nfrom cobre.comm import create_communicator\ncreate_communicator().barrier()\nsys.exit(3)"
    )
    said = f"cobre: the trace {tmp_path / 't'} cannot be merged: Is a directory\n"
    (tmp_path / "program.py").write_text(code)
    command = [sys.executable, "-m", "cobre", "launch", "-n", "2", str(tmp_path / "program.py")]
    environ = {**os.environ, "COBRE_COMM_TRACE": str(tmp_path / "t")}
    done = run_command(command, env=environ)
    assert done.returncode == 3
    assert said in done.stderr
    assert "failed" in done.stderr.splitlines()[-1]
    done = run_traced(
        tmp_path / "t", "from cobre.comm import run\nprint(run(lambda c: c.barrier(), num_workers=2))"
    )
    assert (done.stdout, done.stderr) == ("[None, None]\n", said)
    done = run_command([sys.executable, "-m", "cobre.comm.trace", str(tmp_path / "t")])
    assert done.returncode == 4
    assert "fix: " in done.stderr


def test_ranks_may_leave_the_directory_in_which_they_were_started(tmp_path):
    code = "import os\nos.chdir('/')\nfrom cobre.comm import create_communicator\ncreate_communicator().barrier()"
    (tmp_path / "program.py").write_text(code)
    subprocess.run(
        [sys.executable, "-m", "cobre", "launch", "-n", "2", "program.py"],
        env={**os.environ, "COBRE_COMM_TRACE": "t"},
        cwd=tmp_path,
        timeout=60,
        check=True,
    )
    assert len(events_of(tmp_path / "t", "X")) >= 2

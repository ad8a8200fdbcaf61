"""Ranks that mpiexec starts: the launcher hears of a killed one before mpiexec can end the others."""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cobre.comm.backends.mpi import BACKEND as MPI
from cobre.comm.launch import outlet
from cobre.comm.launch.blame import RankResult
from cobre.comm.launch.connected import ConnectedRank, ConnectedRanks

LONG_S = 60.0


def test_the_connection_of_a_killed_rank_ends_before_the_descriptors_that_mpiexec_watches():
    address = f"cobre_test_{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as ends:
        listener.bind("\0" + address)
        listener.listen()
        watched, inherited = os.pipe()
        command = [sys.executable, "-S", "-E", outlet.__file__, "MY_RANK", "0", "cat", f"/dev/fd/{inherited}"]
        rank = subprocess.Popen(
            command, env=os.environ | {outlet.VARIABLE: address, "MY_RANK": "0"}, pass_fds=[inherited]
        )
        try:
            listener.settimeout(LONG_S)
            report, lines = listener.accept()[0], listener.accept()[0]
            assert report.recv(outlet.HEADER.size, socket.MSG_WAITALL)
            assert lines.recv(outlet.HEADER.size, socket.MSG_WAITALL)
            wait_until_it_is("cat", rank.pid)
            os.close(inherited)
            ends.register(watched, selectors.EVENT_READ, "watched")
            ends.register(report, selectors.EVENT_READ, "report")
        finally:
            rank.kill()
            rank.wait(LONG_S)
        # Both are at their end: the order in which the kernel queued them is the order of closing.
        assert [key.data for key, _ in ends.select(LONG_S)] == ["report", "watched"]
        for each in (report, lines):
            each.close()
        os.close(watched)


def wait_until_it_is(program, pid):
    name = Path(f"/proc/{pid}/comm")
    while name.read_text().strip() != program:
        os.sched_yield()


@pytest.mark.parametrize(("later_s", "alike"), [(0.0, (2,)), (0.001, ())])
def test_ranks_that_end_at_the_same_time_are_reported_together(later_s, alike):
    connected = ConnectedRanks(MPI, 3, is_split=False, keep_lines=10)
    for number, gone_at in ((1, 5.0), (2, 5.0 + later_s)):
        rank = connected.ranks[number] = ConnectedRank(number, keep_lines=10)
        rank.note_end(gone_at)
    connected.close()
    culprit = connected.culprit(RankResult(None, 9, "", 6.0), 0.0)
    assert (culprit.rank, culprit.alike) == (1, alike)

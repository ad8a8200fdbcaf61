"""Exit codes of processes that are not our children."""

from __future__ import annotations

import os
import platform
import select
import socket
import subprocess
import sys

import pytest

from cobre.comm.launch.pidfd import exit_code_of, open_peer

KERNEL = tuple(int(word) for word in platform.release().split(".")[:2])
TELLS = KERNEL >= (6, 15)

CONNECT = """
import os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect("\\0" + sys.argv[1])
connection.recv(1)
{fate}
"""


@pytest.mark.parametrize(
    ("fate", "code"),
    [("os.kill(os.getpid(), 9)", -9), ("os._exit(3)", 3), ("os.kill(os.getpid(), 11)", -11), ("", 0)],
)
def test_the_end_of_a_peer_is_seen_and_explained(fate, code):
    address = f"cobre_test_{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + address)
        listener.listen()
        # A shell in between, so that the peer is no child of this process.
        command = f"'{sys.executable}' -c '{CONNECT.format(fate=fate)}' {address}; true"
        with subprocess.Popen(["/bin/sh", "-c", command], stderr=subprocess.DEVNULL) as shell:
            connection, _ = listener.accept()
            peer = open_peer(connection)
            try:
                assert select.select([peer], [], [], 0) == ([], [], [])
                connection.send(b"x")
                assert select.select([peer], [], [], 10)[0] == [peer]
                shell.wait(10)
                assert exit_code_of(peer) == (code if TELLS else None)
            finally:
                os.close(peer)
                connection.close()


def test_a_descriptor_that_is_no_pidfd_has_no_exit_code():
    reader, writer = os.pipe()
    try:
        assert exit_code_of(reader) is None
    finally:
        os.close(reader)
        os.close(writer)

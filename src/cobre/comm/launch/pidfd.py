"""Processes that are not our children: when they end, and how."""

from __future__ import annotations

import fcntl
import os
import socket
import struct

__all__ = ["exit_code_of", "open_peer"]

CREDENTIALS = struct.Struct("3i")  # pid, uid, gid

# PIDFD_GET_INFO of <linux/pidfd.h> with its first structure, 64 bytes: a mask first, the wait status last.
GET_INFO = 0xC040FF0B
INFO = struct.Struct("=Q52xi")
INFO_EXIT = 1 << 3


def open_peer(connection: socket.socket) -> int | None:
    """A descriptor of the process that connected, readable once it has ended.

    ``None`` if it is gone already, or out of sight in a container of its own.
    """
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    try:
        return os.pidfd_open(CREDENTIALS.unpack(credentials)[0])
    except OSError:
        return None


def exit_code_of(pidfd: int) -> int | None:
    """How a process ended that its parent has waited for, negative for a signal; ``None`` before Linux 6.15."""
    answer = bytearray(INFO.pack(INFO_EXIT, 0))
    try:
        fcntl.ioctl(pidfd, GET_INFO, answer)
    except OSError:
        return None
    mask, status = INFO.unpack(answer)
    return os.waitstatus_to_exitcode(status) if mask & INFO_EXIT else None

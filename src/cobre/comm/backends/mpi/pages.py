"""The memory that views of a region point to: that of a window, kept after MPI has freed the window."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from typing import Any

import numpy as np

from cobre.comm.memory import Available, available_memory

__all__ = ["Pages", "available_for_sharing", "claim"]

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - where both libraries put the memory of a window
MADV_POPULATE_WRITE = 23
MREMAP_MAYMOVE = 1


def available_for_sharing() -> Available:
    """How many bytes a new window can have on this node, and what limits it."""
    room = available_memory()
    try:
        space = os.statvfs(SHARED_MEMORY)
    except OSError:
        return room
    return min(room, Available(space.f_bavail * space.f_frsize, f"free space in {SHARED_MEMORY}"))


def claim(address: int, n_bytes: int) -> bool:
    """Take the pages now and fill them with zeros; false where touching one would be a SIGBUS."""
    page = os.sysconf("SC_PAGESIZE")
    start = address // page * page
    libc = ctypes.CDLL(None, use_errno=True)
    madvise = libc.madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if madvise(start, address + n_bytes - start, MADV_POPULATE_WRITE) != 0 and ctypes.get_errno() in (
        errno.EFAULT,
        errno.ENOMEM,
    ):
        return False  # kernels before 5.14 answer EINVAL: there only the check beforehand protects
    ctypes.memset(address, 0, n_bytes)
    return True


class Pages:
    """Where a region begins, until `release`."""

    def __init__(self, address: int, start: int, length: int) -> None:
        self.address, self._start, self._length = address, start, length

    @classmethod
    def of_window(cls, address: int, n_bytes: int) -> Pages:
        """A second mapping of a window's memory: MPI_Finalize removes the first one, even while views of it exist."""
        start = address // mmap.PAGESIZE * mmap.PAGESIZE
        length = address + n_bytes - start
        remap = _function("mremap", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int)
        second = remap(start, 0, length, MREMAP_MAYMOVE)  # of length 0: the old mapping stays
        if second == -1:  # not memory that can be shared: it is valid as long as the library's
            return cls(address, 0, 0)
        return cls(address - start + second, second, length)

    @classmethod
    def of_one(cls, n_bytes: int) -> Pages:
        """Memory for a rank that is alone on its node, to which a library may give what only it can map."""
        memory = mmap.mmap(-1, n_bytes)
        pages = cls(np.frombuffer(memory, np.uint8).ctypes.data, 0, 0)
        pages._memory = memory
        return pages

    _memory: mmap.mmap | None = None

    def release(self) -> None:
        self._memory = None
        if self._length:
            _function("munmap", ctypes.c_void_p, ctypes.c_size_t)(self._start, self._length)
            self._length = 0


def _function(name: str, *arguments: type) -> Any:
    function = ctypes.CDLL(None)[name]
    function.restype, function.argtypes = ctypes.c_ssize_t, arguments
    return function

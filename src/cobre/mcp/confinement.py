"""The kernel's own limit on the files of this process and of the runs that it starts (Landlock, Linux 5.13 and later).

The checks of `cobre.mcp.roots` look at a path and then use it. Whoever can change links in a folder of the server
could do that in between; the kernel refuses such an access at the moment it happens.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cobre.errors import CobreError

__all__ = ["confine", "landlock_version", "private_folders"]

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG, PATH_BENEATH, NO_NEW_PRIVILEGES = 1, 1, 38

EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_AND_REMOVE = sum(1 << bit for bit in range(4, 13))
MAKE_DEVICES = 1 << 6 | 1 << 11
RENAME_ACROSS, TRUNCATE, DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
ALL_OF_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_CONTROL
READING = EXECUTE | READ_FILE | READ_FOLDER
WRITING = READ_FILE | READ_FOLDER | WRITE_FILE | MAKE_AND_REMOVE & ~MAKE_DEVICES | RENAME_ACROSS | TRUNCATE

SYSTEM = (
    "/usr", "/lib", "/lib64", "/bin", "/sbin", "/proc", "/sys", "/dev/zero", "/dev/random", "/dev/urandom",
    "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/etc/hosts", "/etc/hostname", "/etc/host.conf",
    "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/gai.conf", "/etc/alternatives",
)  # fmt: skip
"""What programs and libraries read; /proc shows no more of processes outside than their names."""
SHARED = ("/dev/null", "/dev/shm")  # noqa: S108 - the memory that ranks of a run share


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def landlock_version() -> int:
    """Of the kernel; 0 where it has none, or where it is switched off."""
    if not sys.platform.startswith("linux"):
        return 0
    found = _libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION_FLAG))
    return max(0, int(found))


def confine(folders: Sequence[Path], *, may_write: bool) -> None:
    """Let this thread, those that it starts and all their children use files of ``folders`` and of programs only.

    Call it before other threads are started. It cannot be undone.
    """
    version = landlock_version()
    if not version:
        raise CobreError("this kernel has no Landlock", suggestion="use --confine auto")
    handled = ALL_OF_VERSION[min(version, 5)]
    libc = _libc()
    rules = _Ruleset(handled)
    ruleset = _checked(
        libc.syscall(
            CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(ctypes.sizeof(rules)), ctypes.c_uint32(0)
        )
    )
    try:
        for path in (*SYSTEM, *_python_folders()):
            _allow(libc, ruleset, path, READING & handled)
        for path in (*SHARED, *private_folders()):
            _allow(libc, ruleset, path, WRITING & handled)
        for path in map(str, folders):
            _allow(libc, ruleset, path, (WRITING if may_write else READ_FILE | READ_FOLDER) & handled)
        zero = ctypes.c_ulong(0)
        _checked(libc.prctl(NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero, zero, zero))
        _checked(libc.syscall(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)))
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, access: int) -> None:
    """What is not there, or may not be looked at, needs no rule."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        is_folder = Path(path).is_dir()
        rule = _PathBeneath(access if is_folder else access & OF_FILES, descriptor)
        _checked(
            libc.syscall(
                ADD_RULE,
                ctypes.c_int(ruleset),
                ctypes.c_int(PATH_BENEATH),
                ctypes.byref(rule),
                ctypes.c_uint32(0),
            )
        )
    finally:
        os.close(descriptor)


def _python_folders() -> Iterable[str]:
    """Where this interpreter and its packages are."""
    found = {
        sys.prefix,
        sys.base_prefix,
        sys.exec_prefix,
        sys.base_exec_prefix,
        *sysconfig.get_paths().values(),
    }
    found |= {each for each in sys.path if each} | {os.path.realpath(sys.executable)}
    return sorted(os.path.realpath(each) for each in found if os.path.realpath(each) != "/")


def private_folders() -> Iterator[str]:
    """Where runs put their control sockets and temporary files; made here, so that there is something to allow."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    sockets = [Path(runtime) / "cobre"] if runtime.startswith("/") else []
    sockets.append(Path("/tmp") / f"cobre-{os.getuid()}")  # noqa: S108 - cobre.study.control checks that it is ours
    for folder in sockets:
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            continue
        if not folder.is_symlink() and folder.stat().st_uid == os.getuid():
            yield str(folder)


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise CobreError(f"the kernel refused to confine this process: {os.strerror(code)}")
    return int(result)

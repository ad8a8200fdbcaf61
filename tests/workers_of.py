"""Finding the processes that a launch has started, to kill them."""

from __future__ import annotations

from pathlib import Path


def children(pid: int) -> list[int]:
    """Of a process, in the order in which they were started: process ids begin again at the end of their range."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return sorted(found, key=_start)


def _start(pid: int) -> tuple[int, int]:
    """When a process began, in ticks, and its id."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it has ended
        return 0, pid
    return int(status.rpartition(")")[2].split()[19]), pid


def workers_of(pid: int, words: bytes = b"from cobre.comm.rank_main import script") -> list[int]:
    """Children whose command line has ``words``: the ranks, not the process that guards them."""
    return [child for child in children(pid) if words in _command(child)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def ranks_that_write(output: Path) -> list[int]:
    """Ranks that mpiexec has started and that write into ``output``, in the order in which they were started."""
    words = [b"cobre", b"run", str(output).encode()]
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        command = _command(int(folder.name)).split(b"\0")
        is_rank = b"python" in command[0] and b"launch" not in command
        if is_rank and all(word in command for word in words):
            found.append(int(folder.name))
    return sorted(found)

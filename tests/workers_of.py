"""Finding the processes that a launch has started, to kill them."""

from __future__ import annotations

from pathlib import Path


def children(pid: int) -> list[int]:
    """Of a process, in the order in which they were started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return sorted(found)


def workers_of(pid: int, words: bytes = b"cobre.comm.worker") -> list[int]:
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

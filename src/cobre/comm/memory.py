"""Memory that is left for this process, by machine and control group; processes that were killed for lack of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Available", "MemoryKills", "available_memory", "memory_kills"]

# A limit that no machine has: cgroup v1 writes "no limit" as a number of this size.
NO_LIMIT = 1 << 60


class Available(NamedTuple):
    """Bytes to be had, and what sets that limit."""

    bytes: int
    source: str


class MemoryKills(NamedTuple):
    """Processes killed for lack of memory so far: in this process's control groups, and on the whole machine.

    ``None`` where the kernel does not say.
    """

    in_group: int | None
    on_machine: int | None


class _Files(NamedTuple):
    """Where a version of control groups keeps its figures."""

    limit: str
    usage: str
    events: str


V1 = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control")
V2 = _Files("memory.max", "memory.current", "memory.events")


def available_memory(root: Path = Path("/")) -> Available:
    """The tightest of free machine memory and every enclosing cgroup (v1 or v2) limit.

    Where none of it can be read, the answer is "unlimited" and the allocator decides.
    """
    candidates = [Available(NO_LIMIT, "no limit found")]
    free = _machine_memory(root)
    if free is not None:
        candidates.append(Available(free, "free memory of this machine"))
    candidates.extend(_cgroup_memory(root))
    return min(candidates)


def _machine_memory(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _cgroup_memory(root: Path) -> Iterator[Available]:
    for group, files in _groups(root):
        limit, usage = _number(group / files.limit), _number(group / files.usage)
        if limit is not None and usage is not None and limit < NO_LIMIT:
            in_use = max(0, usage - _reclaimable(group))
            yield Available(max(0, limit - in_use), f"cgroup limit {files.limit} = {limit:,}")


def _groups(root: Path) -> Iterator[tuple[Path, _Files]]:
    """Every control group from this process's own up to the mount, for memory: any of them may be the one that is
    full."""
    for line in _lines(root / "proc/self/cgroup"):
        hierarchy, controllers, path = line.split(":", 2)
        if hierarchy == "0":
            mount, files = root / "sys/fs/cgroup", V2
        elif "memory" in controllers.split(","):
            mount, files = root / "sys/fs/cgroup/memory", V1
        else:
            continue
        group = mount / path.strip("/")
        if not group.is_dir():  # inside a container the path is the host's, the mount is ours
            group = mount
        yield from ((each, files) for each in (group, *group.parents) if each.is_relative_to(mount))


def memory_kills(root: Path = Path("/")) -> MemoryKills:
    """How many processes the kernel has killed for lack of memory, as far as it can be read."""
    groups = [_value(group / files.events, "oom_kill") for group, files in _groups(root)]
    known = [count for count in groups if count is not None]
    return MemoryKills(sum(known) if known else None, _value(root / "proc/vmstat", "oom_kill"))


def _reclaimable(group: Path) -> int:
    """File pages that the kernel drops before it refuses memory; a group that read files is full of them."""
    stat = group / "memory.stat"
    return _value(stat, "inactive_file") or _value(stat, "total_inactive_file") or 0


def _value(path: Path, name: str) -> int | None:
    """The number behind a name, of a file with a name and a number per line."""
    for line in _lines(path):
        found, _, value = line.partition(" ")
        if found == name and value.strip().isdigit():
            return int(value)
    return None


def _number(path: Path) -> int | None:
    text = next(iter(_lines(path)), "").strip()
    return int(text) if text.isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []

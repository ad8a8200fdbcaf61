"""How much memory this process may still take: the machine's, and its control group's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Available", "available_memory"]

# A limit that no machine has: cgroup v1 writes "no limit" as a number of this size.
NO_LIMIT = 1 << 60


class Available(NamedTuple):
    """Bytes to be had, and what sets that limit."""

    bytes: int
    source: str


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
    for line in _lines(root / "proc/self/cgroup"):
        hierarchy, controllers, path = line.split(":", 2)
        if hierarchy == "0":
            yield from _walk_up(root / "sys/fs/cgroup", path, "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            yield from _walk_up(
                root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes"
            )


def _walk_up(mount: Path, path: str, limit_file: str, usage_file: str) -> Iterator[Available]:
    """Every group from this process's own up to the mount: any of them may be the one that is full."""
    group = mount / path.strip("/")
    if not group.is_dir():  # inside a container the path is the host's, the mount is ours
        group = mount
    while True:
        limit, usage = _number(group / limit_file), _number(group / usage_file)
        if limit is not None and usage is not None and limit < NO_LIMIT:
            in_use = max(0, usage - _reclaimable(group))
            yield Available(max(0, limit - in_use), f"cgroup limit {limit_file} = {limit:,}")
        if group == mount:
            return
        group = group.parent


def _reclaimable(group: Path) -> int:
    """File pages that the kernel drops before it refuses memory; a group that read files is full of them."""
    for line in _lines(group / "memory.stat"):
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0


def _number(path: Path) -> int | None:
    text = next(iter(_lines(path)), "").strip()
    return int(text) if text.isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []

from __future__ import annotations

from pathlib import Path

import pytest

from cobre.comm.memory import MemoryKills, available_memory, memory_kills

GIB = 1 << 30


def _write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def machine(tmp_path):
    _write(tmp_path, proc__meminfo=f"MemTotal: 1 kB\nMemAvailable: {4 * GIB // 1024} kB\n")
    return tmp_path


def test_this_machine_has_some():
    available, source = available_memory()
    assert 1 << 20 < available < 1 << 50
    assert source


def test_free_memory_counts_without_a_control_group(machine):
    assert available_memory(machine) == (4 * GIB, "free memory of this machine")


def test_a_v2_group_limits_and_its_file_cache_does_not_count_as_used(machine):
    _write(machine, proc__self__cgroup="0::/a/b\n")
    group = "sys__fs__cgroup__a__b__memory_DOT_"
    _write(
        machine,
        **{
            f"{group}max": f"{GIB}\n",
            f"{group}current": f"{GIB}\n",
            f"{group}stat": f"anon 1\ninactive_file {GIB // 4}\n",
        },
    )
    assert available_memory(machine).bytes == GIB // 4


def test_the_tightest_enclosing_group_wins(machine):
    _write(machine, proc__self__cgroup="0::/a/b\n")
    for group, limit in (("a", GIB), ("a__b", 2 * GIB)):
        prefix = f"sys__fs__cgroup__{group}__memory_DOT_"
        _write(machine, **{f"{prefix}max": str(limit), f"{prefix}current": "0"})
    assert available_memory(machine).bytes == GIB


def test_a_v1_group_limits(machine):
    _write(machine, proc__self__cgroup="12:cpu,cpuacct:/x\n5:memory:/job\n")
    prefix = "sys__fs__cgroup__memory__job__memory_DOT_"
    _write(machine, **{f"{prefix}limit_in_bytes": str(2 * GIB), f"{prefix}usage_in_bytes": str(GIB)})
    assert available_memory(machine).bytes == GIB


def test_v1_without_a_limit_does_not_limit(machine):
    _write(machine, proc__self__cgroup="5:memory:/job\n")
    prefix = "sys__fs__cgroup__memory__job__memory_DOT_"
    _write(machine, **{f"{prefix}limit_in_bytes": "9223372036854771712", f"{prefix}usage_in_bytes": "5"})
    assert available_memory(machine).bytes == 4 * GIB


def test_a_container_limit_is_found_without_the_host_s_path(machine):
    _write(machine, proc__self__cgroup="0::/host/only/path\n")
    _write(machine, sys__fs__cgroup__memory_DOT_max=str(GIB), sys__fs__cgroup__memory_DOT_current="0")
    assert available_memory(machine).bytes == GIB


def test_max_means_no_limit(machine):
    _write(machine, proc__self__cgroup="0::/\n")
    _write(machine, sys__fs__cgroup__memory_DOT_max="max", sys__fs__cgroup__memory_DOT_current="0")
    assert available_memory(machine).bytes == 4 * GIB


def test_nothing_readable_means_the_allocator_decides(tmp_path):
    assert available_memory(tmp_path).bytes > 1 << 50


def test_kills_for_lack_of_memory_are_counted_in_every_enclosing_group_and_on_the_machine(machine):
    _write(machine, proc__self__cgroup="0::/a/b\n", proc__vmstat="nr_free_pages 9\noom_kill 7\n")
    for group, count in (("a", 3), ("a__b", 2)):
        path = f"sys__fs__cgroup__{group}__memory_DOT_events"
        _write(machine, **{path: f"low 0\nhigh 0\nmax 4\noom 5\noom_kill {count}\noom_group_kill 0\n"})
    assert memory_kills(machine) == MemoryKills(in_group=5, on_machine=7)


def test_kills_in_a_v1_group_are_counted(machine):
    _write(machine, proc__self__cgroup="12:cpu,cpuacct:/x\n5:memory:/job\n")
    path = "sys__fs__cgroup__memory__job__memory_DOT_oom_control"
    _write(machine, **{path: "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"})
    assert memory_kills(machine) == MemoryKills(in_group=1, on_machine=None)


def test_missing_kill_counters_are_unknown_and_not_zero(machine):
    assert memory_kills(machine) == MemoryKills(None, None)

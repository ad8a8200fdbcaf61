"""The one count of CPUs, and the start time that tells processes of one number apart."""

import os
import subprocess
import sys

import pytest

from cobre._machine import cpu_quota, process_start, usable_cpus

V2, V1 = "0::/outer/inner", "4:cpu,cpuacct:/outer/inner"


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        (V2, {"outer/inner/cpu.max": "150000 100000"}, 1.5),
        (V2, {"outer/inner/cpu.max": "max 100000"}, None),
        (V2, {"outer/inner/cpu.max": "300000 100000", "outer/cpu.max": "250000 100000"}, 2.5),
        (V2, {"cpu.max": "50000 100000"}, 0.5),  # a container: the path is the host's, the mount its own
        (
            V1,
            {"cpu/outer/inner/cpu.cfs_quota_us": "50000", "cpu/outer/inner/cpu.cfs_period_us": "100000"},
            0.5,
        ),
        (V1, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ("7:cpuset:/outer", {"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, None),
        (V2, {}, None),
        ("", {}, None),
    ],
)
def test_the_tightest_control_group_around_the_process_sets_the_quota(tmp_path, groups, files, quota):
    for name, text in {"../../../proc/self/cgroup": groups, **files}.items():
        path = (tmp_path / "sys/fs/cgroup" / name).resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    assert cpu_quota(str(tmp_path)) == quota
    whole = len(os.sched_getaffinity(0)) if quota is None else max(1, int(quota))
    assert usable_cpus(str(tmp_path)) == min(whole, len(os.sched_getaffinity(0)))


def test_a_process_that_has_ended_has_no_start_time():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert process_start(child.pid) >= process_start(os.getpid())
    child.communicate(b"\n")
    assert process_start(child.pid) is None

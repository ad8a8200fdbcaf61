"""Names that mean what a test wants: a hosts file and a resolver of its own, in a mount namespace."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from commands import run_command


def inside(directory, hosts="", resolver="", *, alone=False):
    """What a command needs in front to see these ``/etc/hosts`` and ``/etc/resolv.conf``, and ``alone`` a network
    of nothing but loopback. Skips the test where the machine does not permit that."""
    refusal = _refusal()
    if refusal:
        pytest.skip(f"namespaces are not permitted here: {refusal}")
    files = {"/etc/hosts": hosts, "/etc/resolv.conf": resolver, "/etc/nsswitch.conf": "hosts: files dns\n"}
    steps = ["ip link set lo up"] if alone else []
    for path, text in files.items():
        own = directory / Path(path).name
        own.write_text(text)
        steps.append(f"mount --bind {own} {path}")
    command = " && ".join([*steps, 'exec "$@"'])
    return ["unshare", "--mount", *(["--net"] if alone else []), "sh", "-c", command, "sh"]


@functools.cache
def _refusal():
    trial = "mount --bind /etc/hosts /etc/resolv.conf && ip link set lo up"
    try:
        done = run_command(["unshare", "--mount", "--net", "sh", "-c", trial], timeout=20)
    except OSError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else ""

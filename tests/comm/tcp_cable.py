"""Two network namespaces joined by a cable that can be cut, made lossy and mended again.

Needs the right to make namespaces (root) and ``ip``; cutting by dropped packets also ``nft`` or ``iptables``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import uuid

import pytest

from commands import run_command

NEAR, FAR = "192.0.2.1", "192.0.2.2"
NEAR_V6, FAR_V6 = "fd00:c0b::1", "fd00:c0b::2"


class Cable:
    """Namespaces ``near`` and ``far`` with one address of each family; used as a context.

    Where the machine does not permit that, entering skips the test and says why.
    """

    def __init__(self):
        name = f"cobre-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self.near, self.far = f"{name}-near", f"{name}-far"

    def inside(self, namespace):
        """What a command needs in front to run there."""
        return ["ip", "netns", "exec", namespace]

    def __enter__(self):
        if shutil.which("ip") is None:
            pytest.skip("there is no ip command here (Debian: iproute2)")
        try:
            for namespace in (self.near, self.far):
                _do("ip", "netns", "add", namespace)
            _do(
                *("ip", "link", "add", "cable", "netns", self.near, "type", "veth"),
                *("peer", "name", "cable", "netns", self.far),
            )
            for namespace, *addresses in ((self.near, NEAR, NEAR_V6), (self.far, FAR, FAR_V6)):
                for address in addresses:
                    is_v6 = ":" in address
                    tail = [f"{address}/64", "nodad"] if is_v6 else [f"{address}/24"]
                    self._ip(namespace, "address", "add", *tail, "dev", "cable")
                self._ip(namespace, "link", "set", "lo", "up")
                self._ip(namespace, "link", "set", "cable", "up")
        except subprocess.CalledProcessError as error:
            self.__exit__()
            pytest.skip(f"network namespaces are not permitted here: {error.stderr.strip()}")
        return self

    def __exit__(self, *exception):
        for namespace in (self.near, self.far):
            with contextlib.suppress(subprocess.CalledProcessError):
                _do("ip", "netns", "delete", namespace)

    def drop(self, percent=100):
        """A packet filter drops so many of the packets in each direction, without a word to anybody."""
        if shutil.which("nft"):
            some = "" if percent == 100 else f"numgen random mod 100 < {percent}"
            rules = f"""table inet cable {{
                chain arriving {{ type filter hook input priority 0; iifname "cable" {some} drop; }}
                chain leaving {{ type filter hook output priority 0; oifname "cable" {some} drop; }}
            }}"""
            _do(*self.inside(self.far), "nft", "-f", "-", input=rules)
            return
        if not shutil.which("iptables"):
            pytest.skip("there is no packet filter here (Debian: nftables or iptables)")
        some = ["-m", "statistic", "--mode", "random", "--probability", str(percent / 100)]
        for chain in (("INPUT", "-i"), ("OUTPUT", "-o")):
            for command in ("iptables", "ip6tables"):
                rule = [*chain, "cable", *(some if percent < 100 else []), "-j", "DROP"]
                _do(*self.inside(self.far), command, "-A", *rule)

    def unplug(self):
        """The interface of the far side goes down, which both sides see, and neither is told a reason."""
        self._ip(self.far, "link", "set", "cable", "down")

    def mend(self):
        self._ip(self.far, "link", "set", "cable", "up")
        self._ip(self.far, "address", "replace", f"{FAR_V6}/64", "dev", "cable", "nodad")
        if shutil.which("nft"):
            with contextlib.suppress(subprocess.CalledProcessError):
                _do(*self.inside(self.far), "nft", "delete", "table", "inet", "cable")
            return
        for command in filter(shutil.which, ("iptables", "ip6tables")):
            _do(*self.inside(self.far), command, "-F")

    def _ip(self, namespace, *command):
        _do("ip", "-n", namespace, *command)


def _do(*command, **options):
    run_command(command, check=True, timeout=20, **options)

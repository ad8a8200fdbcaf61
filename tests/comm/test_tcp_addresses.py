"""Every way to write where rank 0 is: the others find it there."""

from __future__ import annotations

import socket

import pytest

from cobre.comm import TcpCommunicator
from cobre.comm.config import tcp_config_from
from comm.tcp_ranks import barrier_on, close_all, free_port, group_of, open_all

AT_V6 = ("[::1]", "::1", "[::1]:{port}")


def meet(configs):
    comms = open_all(configs)
    assert all(isinstance(comm, TcpCommunicator) for comm in comms), comms
    barrier_on(comms)
    close_all(comms)


@pytest.mark.parametrize("secret", [None, "between us"])
@pytest.mark.parametrize("host", ["127.0.0.2", "[::1]", "::1", "localhost", "LocalHost"])
def test_rank_0_listens_where_the_others_look(host, secret):
    if ":" in host and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    meet(group_of(2, host, secret=secret, connect_timeout=3.0))


@pytest.mark.parametrize("secret", [{}, {"COBRE_TCP_SECRET": "between us"}])
@pytest.mark.parametrize(
    ("host", "bind"),
    [(host, {}) for host in ("127.0.0.2", "localhost:{port}", *AT_V6)]
    + [(host, {"COBRE_TCP_BIND_ADDR": "[::1]"}) for host in AT_V6],
)
def test_the_environment_means_the_same(host, bind, secret):
    if host in AT_V6 and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    port = free_port()
    shared = {
        "COBRE_TCP_COORDINATOR": host.format(port=port),
        "COBRE_TCP_PORT": str(port),
        "COBRE_TCP_SIZE": "2",
        "COBRE_TCP_CONNECT_TIMEOUT_MS": "3000",
        **bind,
        **secret,
    }
    meet([tcp_config_from({**shared, "COBRE_TCP_RANK": str(rank)}) for rank in range(2)])

"""Every way to write where rank 0 is: the others find it there."""

from __future__ import annotations

import socket

import pytest

from cobre.comm import InitializationFailed, TcpCommunicator, TcpConfig
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
    meet(group_of(2, host, secret=secret))


@pytest.mark.parametrize("secret", [{}, {"COBRE_TCP_SECRET": "between us"}])
@pytest.mark.parametrize(
    ("host", "bind"),
    [(host, {}) for host in ("127.0.0.2", "localhost:{port}", *AT_V6)]
    + [(host, {"COBRE_TCP_BIND_ADDR": "[::1]"}) for host in AT_V6],
)
def test_the_environment_gives_the_same_configuration(host, bind, secret):
    if host in AT_V6 and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    port = free_port()
    shared = {
        "COBRE_TCP_COORDINATOR": host.format(port=port),
        "COBRE_TCP_PORT": str(port),
        "COBRE_TCP_SIZE": "2",
        **bind,
        **secret,
    }
    meet([tcp_config_from({**shared, "COBRE_TCP_RANK": str(rank)}) for rank in range(2)])


def test_rank_0_reports_its_addresses_and_port_zero_is_one_port_for_all(caplog):
    caplog.set_level("INFO", "cobre.comm")
    seen = []
    config = TcpConfig("localhost", 0, 2, port=0, connect_timeout=0.2)
    with pytest.raises(InitializationFailed):
        TcpCommunicator.connect(config, on_listening=seen.append)
    expected = [f"{host}:{seen[0]}" for host in ("127.0.0.1", "[::1]" if socket.has_ipv6 else "")]
    assert all(address in caplog.text for address in expected if not address.startswith(":")), caplog.text


def test_a_port_taken_at_one_address_of_the_name_is_an_error_that_names_it():
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    port = free_port()
    with (
        socket.create_server(("::1", port), family=socket.AF_INET6),
        pytest.raises(
            InitializationFailed, match=rf"cannot listen at \[::1\]:{port}: Address already in use"
        ),
    ):
        TcpCommunicator.connect(TcpConfig("localhost", 0, 2, port=port))


def test_both_families_work_in_one_group():
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    port = free_port()
    hosts = ["localhost", "127.0.0.1", "::1"]
    comms = open_all([group_of(3, host, port=port, secret="s")[rank] for rank, host in enumerate(hosts)])
    assert all(isinstance(comm, TcpCommunicator) for comm in comms), comms
    barrier_on(comms)
    close_all(comms)

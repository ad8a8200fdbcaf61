from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from cobre.comm import InitializationFailed, MissingConfiguration, ShmConfig, TcpConfig
from cobre.comm.config import shm_config_from, tcp_config_from
from cobre.comm.hosts import is_loopback
from cobre.comm.limits import read_limits
from cobre.comm.selection import get_backend

SHM = {"COBRE_SHM_NAME": "/run", "COBRE_SHM_RANK": "1", "COBRE_SHM_SIZE": "4"}
TCP = {"COBRE_TCP_COORDINATOR": "127.0.0.1", "COBRE_TCP_RANK": "1", "COBRE_TCP_SIZE": "4"}


def test_defaults_are_the_contract_s():
    assert ShmConfig("/x", 0, 1) == ShmConfig(name="/x", rank=0, size=1, connect_timeout=30.0, timeout=60.0)
    config = TcpConfig("localhost", 0, 2)
    assert (config.port, config.bind_addr, config.secret) == (29500, None, None)
    assert (config.connect_timeout, config.timeout) == (30.0, 60.0)


def test_configs_are_frozen_and_pickle():
    config = ShmConfig("/x", 0, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.rank = 1
    assert pickle.loads(pickle.dumps(config)) == config


def test_the_secret_never_shows():
    assert "hush" not in repr(TcpConfig("node7", 1, 2, secret="hush"))
    assert TcpConfig("node7", 1, 2, secret="hush").secret == "hush"


def test_all_malformed_values_are_listed_at_once():
    with pytest.raises(InitializationFailed) as caught:
        ShmConfig("no-slash", 4, 4, connect_timeout=0, timeout=float("nan"))
    text = str(caught.value)
    for word in ("no-slash", "rank=4", "connect_timeout=0", "timeout=nan"):
        assert word in text
    assert caught.value.backend == "shm"
    assert isinstance(caught.value.source, ValueError)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("coordinator", "a:b:c"),
        ("coordinator", "127.0.0.1:5"),
        ("coordinator", ""),
        ("bind_addr", 5),
        ("secret", b"x"),
    ],
)
def test_tcp_fields_of_another_kind_are_refused(field, value):
    with pytest.raises(InitializationFailed, match=field):
        TcpConfig(**{"coordinator": "localhost", "rank": 0, "size": 2, field: value})


def test_a_port_in_the_coordinator_of_a_config_is_refused_with_its_place():
    with pytest.raises(InitializationFailed, match="port="):
        TcpConfig("127.0.0.1:5", 1, 2)


@pytest.mark.parametrize("name", ["/\ud800", "", "/", "x", "/a/b", "/..", "/a\0b", "/" + "x" * 256, 7])
def test_names_that_the_kernel_would_refuse_are_refused_here(name):
    with pytest.raises(InitializationFailed, match="name="):
        ShmConfig(name, 0, 1)


@pytest.mark.parametrize(
    ("rank", "size"), [(-1, 2), (2, 2), (0, 0), (0, -1), (0.5, 2), ("0", 2), (None, 2), ([0, 1], 2)]
)
def test_ranks_and_sizes_that_make_no_group_are_refused(rank, size):
    with pytest.raises(InitializationFailed, match="rank=|size="):
        ShmConfig("/x", rank, size)


@pytest.mark.parametrize("port", [-1, 65536, "29500", 1.5])
def test_ports_that_do_not_exist_are_refused(port):
    with pytest.raises(InitializationFailed, match="port="):
        TcpConfig("localhost", 0, 2, port=port)


def test_a_secret_is_needed_beyond_loopback_on_both_sides():
    for make in (
        lambda: TcpConfig("node7", 1, 2),
        lambda: TcpConfig("192.0.2.1", 1, 2),
        lambda: TcpConfig("192.0.2.1", 0, 2),
        lambda: TcpConfig("localhost", 0, 2, bind_addr="0.0.0.0"),
    ):
        with pytest.raises(MissingConfiguration) as caught:
            make()
        assert caught.value.missing_vars == ["COBRE_TCP_SECRET"]
    TcpConfig("node7", 0, 1, bind_addr="0.0.0.0")  # one rank opens no socket


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("node7", False),
     ("0.0.0.0", False), ("::", False), ("192.0.2.1", False)],
)  # fmt: skip
def test_loopback(host, expected):
    assert is_loopback(host) is expected


def test_shm_from_the_environment():
    extra = {"COBRE_SHM_CONNECT_TIMEOUT_MS": "1500", "COBRE_SHM_TIMEOUT_SECS": "2.5"}
    assert shm_config_from(SHM | extra) == ShmConfig("/run", 1, 4, connect_timeout=1.5, timeout=2.5)


def test_everything_missing_is_listed_at_once():
    with pytest.raises(MissingConfiguration) as caught:
        shm_config_from({"COBRE_SHM_RANK": ""})
    assert caught.value.missing_vars == ["COBRE_SHM_NAME", "COBRE_SHM_RANK", "COBRE_SHM_SIZE"]
    assert caught.value.kind == "IncompatibleSettings"


def test_everything_malformed_is_listed_at_once():
    wrong = {
        "COBRE_SHM_NAME": "x",
        "COBRE_SHM_RANK": "one",
        "COBRE_SHM_SIZE": "0",
        "COBRE_SHM_TIMEOUT_SECS": "-3",
    }
    with pytest.raises(InitializationFailed) as caught:
        shm_config_from(wrong)
    for word in ("'x'", "'one'", "size=0", "'-3'"):
        assert word in str(caught.value)


def test_rank_zero_needs_no_coordinator_and_listens_everywhere_once_there_is_a_secret():
    alone = tcp_config_from({"COBRE_TCP_RANK": "0", "COBRE_TCP_SIZE": "2"})
    assert (alone.coordinator, alone.bind_addr) == ("127.0.0.1", None)
    guarded = tcp_config_from({"COBRE_TCP_RANK": "0", "COBRE_TCP_SIZE": "2", "COBRE_TCP_SECRET": "s"})
    assert guarded.bind_addr == "0.0.0.0"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1", "127.0.0.1", 1234), ("127.0.0.1:77", "127.0.0.1", 77), ("[::1]:77", "::1", 77), ("::1", "::1", 1234),
     ("[::1]", "::1", 1234), ("localhost:77", "localhost", 77)],
)  # fmt: skip
def test_the_coordinator_may_carry_a_port_which_then_wins(text, host, port):
    config = tcp_config_from(TCP | {"COBRE_TCP_COORDINATOR": text, "COBRE_TCP_PORT": "1234"})
    assert (config.coordinator, config.port) == (host, port)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("COBRE_TCP_PORT", "0"), ("COBRE_TCP_PORT", "70000"), ("COBRE_TCP_PORT", "http"), ("COBRE_TCP_RANK", "4"),
     ("COBRE_TCP_COORDINATOR", "127.0.0.1:"), ("COBRE_TCP_COORDINATOR", ":77"), ("COBRE_TCP_TIMEOUT_SECS", "inf"),
     ("COBRE_TCP_CONNECT_TIMEOUT_MS", "soon"), ("COBRE_TCP_SIZE", "1_0"), ("COBRE_TCP_SIZE", "\u0668"),
     ("COBRE_TCP_TIMEOUT_SECS", "1_0"), ("COBRE_TCP_SIZE", "1000000000000"), ("COBRE_TCP_RANK", "9" * 5000),
     ("COBRE_TCP_COORDINATOR", "127.0.0.1:" + "9" * 5000), ("COBRE_TCP_TIMEOUT_SECS", "."),
     ("COBRE_TCP_TIMEOUT_SECS", "infinity")],
)  # fmt: skip
def test_malformed_tcp_variables_are_refused(variable, value):
    with pytest.raises(InitializationFailed) as caught:
        tcp_config_from(TCP | {variable: value})
    assert value.strip(":") in str(caught.value)


WHOLE_NUMBERS = {
    "COBRE_TCP_RANK": lambda text: tcp_config_from(TCP | {"COBRE_TCP_RANK": text}).rank,
    "COBRE_TCP_SIZE": lambda text: (
        tcp_config_from(TCP | {"COBRE_TCP_SIZE": text, "COBRE_TCP_RANK": "0"}).size
    ),
    "COBRE_TCP_PORT": lambda text: tcp_config_from(TCP | {"COBRE_TCP_PORT": text}).port,
    "COBRE_TCP_COORDINATOR": lambda text: (
        tcp_config_from(TCP | {"COBRE_TCP_COORDINATOR": f"[::1]:{text}"}).port
    ),
    "COBRE_SHM_RANK": lambda text: shm_config_from(SHM | {"COBRE_SHM_RANK": text}).rank,
    "COBRE_SHM_SIZE": lambda text: (
        shm_config_from(SHM | {"COBRE_SHM_SIZE": text, "COBRE_SHM_RANK": "0"}).size
    ),
    "COBRE_COMM_LIMITS": lambda text: read_limits("x", {"a": 9}, {"COBRE_COMM_LIMITS": f"a={text}"})["a"],
}


@pytest.mark.parametrize("variable", WHOLE_NUMBERS)
def test_leading_zeros_change_no_whole_number(variable):
    assert [WHOLE_NUMBERS[variable](text) for text in ("2", "02", "0002")] == [2, 2, 2]


@pytest.mark.parametrize("text", ["+2", "2_0", "2.0", "0x2", "2e0", "-2", "\u0662", "2 2"])
@pytest.mark.parametrize("variable", WHOLE_NUMBERS)
def test_integers_in_variables_must_be_plain_digits(variable, text):
    with pytest.raises(InitializationFailed):
        WHOLE_NUMBERS[variable](text)


@pytest.mark.parametrize("text", [" 2", "2 ", "2\n"], ids=repr)
@pytest.mark.parametrize(
    "variable", sorted(WHOLE_NUMBERS.keys() - {"COBRE_COMM_LIMITS"})
)  # a list, which may hold spaces
def test_integers_in_variables_have_no_spaces(variable, text):
    with pytest.raises(InitializationFailed):
        WHOLE_NUMBERS[variable](text)


@pytest.mark.parametrize("number", ["+3", " 3", "3 ", "1_0", "nan", "0x3", "-"])
@pytest.mark.parametrize("variable", ["COBRE_TCP_TIMEOUT_SECS", "COBRE_TCP_CONNECT_TIMEOUT_MS"])
def test_times_are_plain_decimals(variable, number):
    with pytest.raises(InitializationFailed, match=variable):
        tcp_config_from(TCP | {variable: number})


@pytest.mark.parametrize(
    ("text", "seconds"), [("2", 2), ("02.50", 2.5), (".5", 0.5), ("2.", 2), ("1e2", 100)]
)
def test_times_may_have_fractions(text, seconds):
    assert tcp_config_from(TCP | {"COBRE_TCP_TIMEOUT_SECS": text}).timeout == seconds


@pytest.mark.parametrize(
    ("rank", "fits"), [("0", True), ("00", True), ("+0", False), (" 0", False), ("1", False)]
)
def test_rank_zero_is_recognised_as_it_is_read(rank, fits):
    assert get_backend("tcp").detect({"COBRE_TCP_RANK": rank, "COBRE_TCP_SIZE": "2"}).fits is fits


def test_rank_zero_behind_a_name_and_a_secret_listens_at_both_families():
    environ = {"COBRE_TCP_COORDINATOR": "node7", "COBRE_TCP_RANK": "0", "COBRE_TCP_SIZE": "2"}
    assert tcp_config_from({**environ, "COBRE_TCP_SECRET": "s"}).bind_addr is None


def test_an_invalid_host_is_listed_with_all_other_problems():
    environ = {"COBRE_TCP_COORDINATOR": "a:b:c", "COBRE_TCP_BIND_ADDR": "1:2", "COBRE_TCP_PORT": "99999"}
    with pytest.raises(InitializationFailed) as caught:
        tcp_config_from(TCP | environ)
    assert all(word in str(caught.value) for word in ("a:b:c", "1:2", "99999"))


@pytest.mark.parametrize("seconds", [3, 2.5, np.float32(2.5), np.int64(3)], ids=repr)
def test_any_positive_number_is_a_timeout(seconds):
    assert ShmConfig("/x", 0, 1, timeout=seconds).timeout == seconds


@pytest.mark.parametrize(
    "seconds", [10**400, -1, 0, np.float32("inf"), "3", None, 1j], ids=lambda s: str(s)[:9]
)
def test_anything_else_is_no_timeout(seconds):
    with pytest.raises(InitializationFailed, match="timeout"):
        ShmConfig("/x", 0, 1, timeout=seconds)


def test_an_array_is_refused_as_a_rank():
    with pytest.raises(InitializationFailed, match="rank"):
        ShmConfig("/x", np.array([0, 1]), 2)


def test_a_remote_worker_without_a_secret_is_refused_before_it_connects():
    with pytest.raises(MissingConfiguration, match="secret"):
        tcp_config_from(TCP | {"COBRE_TCP_COORDINATOR": "node7"})


def test_limits_change_only_what_a_backend_has():
    defaults = {"chunk_bytes": 131072, "frame_bytes": 9}
    environ = {"COBRE_COMM_LIMITS": " chunk_bytes = 64, other_bytes=1,"}
    assert read_limits("x", defaults, environ) == {"chunk_bytes": 64, "frame_bytes": 9}
    assert read_limits("x", defaults, {}) == defaults


@pytest.mark.parametrize(
    "text", ["chunk_bytes", "chunk_bytes=0", "chunk_bytes=-4", "chunk_bytes=many", "chunk_bytes=" + "9" * 26]
)
def test_malformed_limits_are_refused(text):
    with pytest.raises(InitializationFailed, match="COBRE_COMM_LIMITS"):
        read_limits("x", {"chunk_bytes": 1}, {"COBRE_COMM_LIMITS": text})


def test_rank_zero_behind_a_v6_address_listens_where_the_others_look():
    environ = {"COBRE_TCP_COORDINATOR": "[::1]:77", "COBRE_TCP_RANK": "0", "COBRE_TCP_SIZE": "2"}
    assert tcp_config_from({**environ, "COBRE_TCP_SECRET": "s"}).bind_addr == "::"


@pytest.mark.parametrize("host", ["127.0.0.1\0elsewhere", "node\udcff", "node\n7"])
@pytest.mark.parametrize("field", ["coordinator", "bind_addr"])
def test_malformed_hosts_are_refused(field, host):
    with pytest.raises(InitializationFailed, match=f"{field}=.* is no host name"):
        TcpConfig(**{"coordinator": "localhost", "rank": 0, "size": 2, "secret": "s", field: host})


@pytest.mark.parametrize(
    "host", ["[::1", "::1]", "[[::1]]", "[127.0.0.1]", "[node7]", "no[de]7", "[]", "[::1]x"]
)
def test_brackets_must_contain_a_v6_address(host):
    for field in ("coordinator", "bind_addr"):
        with pytest.raises(InitializationFailed, match=f"{field}="):
            TcpConfig(**{"coordinator": "localhost", "rank": 0, "size": 2, "secret": "s", field: host})
    for text in (host, f"{host}:77"):
        with pytest.raises(InitializationFailed, match="(?i)coordinator="):
            tcp_config_from(TCP | {"COBRE_TCP_COORDINATOR": text, "COBRE_TCP_SECRET": "s"})


def test_only_rank_zero_may_leave_the_port_to_the_kernel():
    assert TcpConfig("localhost", 0, 2, port=0).port == 0
    with pytest.raises(InitializationFailed, match="port=0 is below 1"):
        TcpConfig("localhost", 1, 2, port=0)

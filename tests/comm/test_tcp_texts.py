"""What a rank is told: whole, readable and harmless, however many ranks there are and whoever said it."""

from __future__ import annotations

import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from cobre.comm import CollectiveFailed, InitializationFailed, TcpCommunicator, TcpConfig
from comm.tcp_ranks import LONG_S, Opening, close_all, group_of, open_all

REFUSAL = 0x0D
MANY = 45


def refusal_of(words):
    """The error of a worker that another program refuses at the address of rank 0."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse():
            connection, _ = listener.accept()
            with connection:
                connection.sendall(struct.pack("!IBB", len(words) + 2, REFUSAL, 1) + words)
                connection.recv(1)

        thread = threading.Thread(target=refuse)
        thread.start()
        config = TcpConfig("127.0.0.1", 1, 2, port=listener.getsockname()[1], connect_timeout=LONG_S)
        with pytest.raises(InitializationFailed, match="says no") as caught:
            TcpCommunicator.connect(config)
        thread.join(LONG_S)
    return caught.value.message.partition("says no: ")[2]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (b"no \xff\xfe, \xe2\x80", "no ??, ??"),
        (b"\xed\xa0\x80 \xf5\x80\x80\x80 \xc0\xaf", "??? ???? ??"),
        (b"\x1b[31mred\x07\x7f\nline", " [31mred   line"),
        ("\x9b31m \N{OHM SIGN}\N{GRINNING FACE}".encode(), " 31m \N{OHM SIGN}\N{GRINNING FACE}"),
        ("\N{HORIZONTAL ELLIPSIS}".encode() * 1300, "\N{HORIZONTAL ELLIPSIS}" * 666),
    ],
)
def test_text_from_another_program_is_made_printable(words, shown):
    assert refusal_of(words) == shown


@pytest.mark.waits
@pytest.mark.parametrize("present", [[1], [1, 20]])
def test_joined_ranks_get_the_full_list_of_missing_ones(present):
    configs = group_of(MANY)
    hub = Opening(replace(configs[0], connect_timeout=3.51234)).wait_until_listening()
    workers = [Opening(configs[rank]) for rank in present]
    absent = "ranks 2-44" if len(present) == 1 else "ranks 2-19, 21-44"
    for outcome in [opening.outcome() for opening in (hub, *workers)]:
        assert isinstance(outcome, InitializationFailed), outcome
        assert f"rank 0 waited 3.51234 s for {absent} in vain" in outcome.message
        assert outcome.suggestion.endswith("TcpConfig(connect_timeout=…)")


@pytest.fixture(scope="module")
def disagreements():
    """What each of many ranks reads when the last one calls something else than the others."""
    comms = open_all(group_of(MANY))
    counts = list(range(1, MANY + 1))

    displs = [sum(counts[:rank]) for rank in range(MANY)]

    def gather(comm):
        comm.allgatherv(bytearray(counts[comm.rank]), bytearray(sum(counts)), counts, displs)

    def call(comm):
        with pytest.raises(CollectiveFailed) as caught:
            comm.barrier() if comm.rank == MANY - 1 else gather(comm)
        return caught.value.message

    with ThreadPoolExecutor(MANY) as pool:
        texts = list(pool.map(call, comms))
    close_all(comms)
    return texts


def test_every_one_of_many_ranks_gets_the_full_list_of_calls(disagreements):
    said = f"the ranks disagree: ranks 0-43 called allgatherv(1035 x uint8); rank {MANY - 1} called barrier()"
    assert disagreements == [said] * MANY


def test_a_timeout_names_all_who_are_missing_on_every_rank():
    comms = open_all(group_of(MANY, timeout=2.0))

    def call(comm):
        with pytest.raises(CollectiveFailed) as caught:
            comm.barrier()
        return caught.value.message

    with ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(call, comms[:2]))
    close_all(comms)
    for text in texts:
        assert "for ranks 2-44 (has not called)" in text

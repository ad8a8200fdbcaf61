"""docs/guides/tcp-wire-protocol.md is enough to take part: a second implementation joins real ranks."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from cobre.comm import (
    AllocationFailed,
    CollectiveFailed,
    InitializationFailed,
    TcpCommunicator,
    TcpConfig,
)
from comm.tcp_ranks import LONG_S, free_port
from comm.tcp_second import NOBODY, Failed, Rank

SECRET = "between us"
RECORD = np.dtype([("hour", "<i4"), ("flow", ">f8", (2, 3)), ("unit", [("id", "u2"), ("on", "?")])])


def in_threads(*bodies):
    """What each returned; the first error of any is raised."""
    results, errors = [None] * len(bodies), []

    def run(place):
        try:
            results[place] = bodies[place]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
        assert not thread.is_alive()
    if errors:
        raise errors[0]
    return results


def groups(size, foreign, cut=1000):
    """The communicators of the real ranks by rank, and the second implementation as rank ``foreign``."""
    port = free_port()

    def ours(rank):
        settings = {"port": port, "secret": SECRET, "connect_timeout": LONG_S, "timeout": LONG_S}
        return TcpCommunicator.connect(TcpConfig("127.0.0.1", rank, size, **settings))

    def theirs():
        return Rank(foreign, size, port, secret=SECRET, cut=cut)

    ranks = range(size)
    met = in_threads(*(theirs if rank == foreign else (lambda rank=rank: ours(rank)) for rank in ranks))
    return {rank: met[rank] for rank in ranks if rank != foreign}, met[foreign]


def finish(real, second):
    second.close()
    for comm in real.values():
        comm.close()


@pytest.mark.parametrize("cut", [1, 7, 5000, 10**9])
@pytest.mark.parametrize(("size", "foreign"), [(2, 1), (2, 0), (3, 1), (3, 2), (4, 2)])
def test_a_second_implementation_takes_part_in_every_step(size, foreign, cut):
    real, second = groups(size, foreign, cut)
    count = 301 if cut < 10 else 140_021  # across the 1 MiB at which the first one cuts
    counts = [count + rank if rank != 2 else 0 for rank in range(size)]
    parts = [np.arange(n, dtype="f8") + 10 * rank for rank, n in enumerate(counts)]
    numbers = [np.linspace(0, 1, count) * (rank + 1) ** 3 for rank in range(size)]

    def as_first(comm):
        gathered, folded = np.empty(sum(counts)), {}
        displs = [sum(counts[:rank]) for rank in range(size)]
        comm.barrier()
        comm.allgatherv(parts[comm.rank], gathered, counts, displs)
        for op in ("sum", "min", "max"):
            folded[op] = np.empty(count)
            comm.allreduce(numbers[comm.rank], folded[op], op)
        words = []
        for root in range(size):
            words.append(np.full(count, root if comm.rank == root else -1, "i4"))
            comm.broadcast(words[-1], root)
        with comm.create_shared_region(5, "f4"):
            pass
        with pytest.raises(AllocationFailed, match=f"rank {foreign}"):
            comm.create_shared_region(7, RECORD)
        comm.split_local().close()
        return gathered, folded, words

    def as_second():
        second.barrier()
        gathered = second.allgatherv(parts[foreign], counts)
        folded = {op: second.allreduce(numbers[foreign], op) for op in ("sum", "min", "max")}
        words = [
            second.broadcast(np.full(count, root if foreign == root else -1, "i4"), root)
            for root in range(size)
        ]
        assert second.create_shared_region(5, "f4") == NOBODY
        assert second.create_shared_region(7, RECORD, can=False) == foreign
        second.split_local()
        return gathered, folded, words

    results = in_threads(*(lambda comm=comm: as_first(comm) for comm in real.values()), as_second)
    finish(real, second)
    sums = numbers[0]
    for other in numbers[1:]:
        sums = sums + other
    for gathered, folded, words in results:
        assert gathered.tobytes() == np.concatenate(parts).tobytes()
        assert folded["sum"].tobytes() == sums.tobytes()
        assert folded["min"].tobytes() == np.minimum.reduce(numbers).tobytes()
        assert folded["max"].tobytes() == np.maximum.reduce(numbers).tobytes()
        assert [set(word.tolist()) for word in words] == [{root} for root in range(size)]


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", ">i4", "u8", "f2", ">f4", "c16", RECORD], ids=str)
def test_both_implementations_have_the_same_dtype_codes(dtype):
    real, second = groups(2, 1)
    one = np.zeros(1, dtype)

    def first():
        out = one.copy()
        real[0].broadcast(out, 1)
        return out

    out, _ = in_threads(first, lambda: second.broadcast(one, 1))
    finish(real, second)
    assert out.tobytes() == one.tobytes()


def test_local_ranks_have_the_same_boot_id():
    real, second = groups(3, 1)
    assert second.neighbours == 1  # it calls its machine 4711; the other two share one
    finish(real, second)


def test_a_disagreement_reaches_the_second_implementation_as_text():
    real, second = groups(3, 1)

    def fails(comm):
        with pytest.raises(CollectiveFailed, match="rank 1 called broadcast") as caught:
            comm.barrier()
        return caught.value.message

    def second_fails():
        with pytest.raises(Failed, match="the ranks disagree") as caught:
            second.broadcast(np.zeros(4), 0)
        return str(caught.value)

    said = in_threads(lambda: fails(real[0]), lambda: fails(real[2]), second_fails)
    assert len(set(said)) == 1
    finish(real, second)


def test_its_message_reaches_all_others():
    real, second = groups(3, 1)
    second.fail("rank 1 has had enough", "ask it why")
    for comm in real.values():
        with pytest.raises(CollectiveFailed, match="rank 1 has had enough") as caught:
            comm.barrier()
        assert caught.value.suggestion == "ask it why"
        comm.close()


@pytest.mark.waits
@pytest.mark.parametrize("missing", [1, 0], ids=["torn", "whole"])
def test_a_torn_contribution_is_known_before_rank_0_comes_to_it(missing):
    """Rank 1 dies within, or right behind, its payload of 320 kB while rank 0 computes."""
    real, second = groups(3, 1)
    outcome = []

    def wait():
        try:
            real[2].allreduce(np.ones(8_000), np.empty(8_000), "sum")
        except CollectiveFailed as error:
            outcome.append(error.message)
        else:
            outcome.append("no failure")

    waiting = threading.Thread(target=wait)
    waiting.start()
    second.contribute_and_die(np.ones(8_000), missing)
    waiting.join(LONG_S if missing else 2)
    if missing:
        assert not waiting.is_alive(), "rank 2 was not told while rank 0 computed"
        assert "rank 1 (127.0.0.1:" in outcome[0]
        with pytest.raises(CollectiveFailed, match="rank 1"):
            real[0].allreduce(np.ones(8_000), np.empty(8_000), "sum")
    else:
        assert waiting.is_alive(), outcome  # the step can still complete
        real[0].allreduce(np.ones(8_000), total := np.empty(8_000), "sum")
        waiting.join(LONG_S)
        assert outcome == ["no failure"]
        assert set(total) == {3.0}
    for comm in real.values():
        comm.close()


@pytest.mark.waits
@pytest.mark.parametrize(
    ("rank", "size", "secret", "words"),
    [(1, 3, SECRET, "refused 2"), (2, 2, SECRET, "refused 2"), (1, 2, "guess", "refused 1")],
)
def test_a_refusal_gives_its_reason(rank, size, secret, words):
    port, listens = free_port(), threading.Event()
    config = TcpConfig("127.0.0.1", 0, 2, port=port, secret=SECRET, connect_timeout=3.0)

    def hub():
        with pytest.raises(InitializationFailed, match=r"rank 1 in vain; it refused 1 connection: 1 from"):
            TcpCommunicator.connect(config, on_listening=lambda _: listens.set())

    def refused():
        assert listens.wait(LONG_S)
        with pytest.raises(Failed, match=words):
            Rank(rank, size, port, secret=secret)

    in_threads(hub, refused)

"""Waiting ranks: cheap, interruptible, and never in the way of other threads."""

from __future__ import annotations

import pytest

from shm_ranks import NOTICED_S, Ranks, run
from system_calls import WHEN_WAITING, interrupted_barrier


def alone(program):
    """Rank 0 after its program; rank 1 has joined and calls nothing."""
    join = f"{WHEN_WAITING}\ncomm = ShmCommunicator.attach(config())"
    return run(2, f"{join}\nif rank == 1:\n    linger()\nelse:{program}")[0]


@pytest.mark.waits
def test_idle_ranks_use_next_to_no_cpu():
    ranks = run(
        8,
        """
comm = ShmCommunicator.attach(config())
comm.barrier()
if rank == 0:
    time.sleep(5.0)
before = time.process_time()
comm.barrier()
say(cpu_s=time.process_time() - before)
""",
    )
    assert sum(rank.said[0]["cpu_s"] for rank in ranks) < 0.5


def test_a_signal_handlers_exception_breaks_the_group_for_all():
    ranks = run(
        3,
        f"""
{WHEN_WAITING}
def handler(number, frame):
    raise ArithmeticError("from the handler")
signal.signal(signal.SIGUSR1, handler)
comm = ShmCommunicator.attach(config())
comm.barrier()
if rank == 0:
    when_waiting(os.kill, os.getpid(), signal.SIGUSR1)
    try:
        comm.barrier()
    except ArithmeticError as error:
        say(text=str(error))
    attempt(comm.barrier)
elif rank == 1:
    attempt(comm.barrier)
    attempt(comm.barrier)
else:
    linger()  # until the others have ended
    attempt(comm.barrier)
""",
    )
    assert ranks[0].said[0]["text"] == "from the handler", ranks[0].output
    for said in (ranks[0].said[1], *ranks[1].said, ranks[2].said[0]):
        assert said["error"] == "CollectiveFailed"
        assert "rank 0 was interrupted" in said["text"]


def test_ctrl_c_is_answered_while_waiting():
    waiting = alone("""
    when_waiting(os.kill, os.getpid(), signal.SIGINT)
    before = time.monotonic()
    try:
        comm.barrier()
    except KeyboardInterrupt:
        say(seconds=time.monotonic() - before)
""")
    assert waiting.said[0]["seconds"] < NOTICED_S, waiting.output


def test_a_handler_that_returns_does_not_end_the_call():
    handler = """
seen = []
def handler(number, frame):
    seen.append(number)
    if len(seen) == 5:
        say(seen=5)
    elif len(seen) < 5:
        when_waiting(os.kill, os.getpid(), signal.SIGALRM)
"""
    with Ranks(2, interrupted_barrier(handler)) as ranks:
        interrupted, other = ranks.ranks
        assert interrupted.hear() == {"seen": 5}
        other.go_on()
        ranks.finish()
    for rank in ranks.ranks:
        assert rank.said[-1]["error"] is None, rank.output


def test_other_threads_run_while_a_collective_waits():
    body = f"""
{WHEN_WAITING}
comm = ShmCommunicator.attach(config())
def tick():
    for _ in range(1000):
        time.sleep(0.0001)
    say(ticked=True)

if rank == 0:
    when_waiting(tick)
else:
    linger()
attempt(comm.barrier)
"""
    with Ranks(2, body) as ranks:
        waiting, other = ranks.ranks
        assert waiting.hear() == {"ticked": True}  # before the other rank comes
        other.go_on()
        assert [rank.said[-1]["error"] for rank in ranks.finish()] == [None, None]


def test_a_forked_child_is_refused_and_does_not_affect_the_group():
    ranks = run(
        2,
        """
comm = ShmCommunicator.attach(config())
region = comm.create_shared_region(10)
child = os.fork()
if child == 0:
    try:
        comm.barrier()
    except InvalidCommunicator:
        pass
    else:
        os._exit(1)
    comm.close()
    del comm, region
    os._exit(0)
_, status = os.waitpid(child, 0)
say(status=status)
for _ in range(100):
    comm.barrier()
say(done=True)
""",
    )
    for rank in ranks:
        assert rank.said == [{"status": 0}, {"done": True}], rank.output


def test_a_dead_rank_with_a_running_child_is_reported_dead():
    ranks = run(
        2,
        """
comm = ShmCommunicator.attach(config())
comm.barrier()
if rank == 1:
    if os.fork() == 0:
        os.close(1), os.close(2)
        linger()
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
attempt(comm.barrier)
""",
    )
    assert ranks[0].said[0]["error"] == "CollectiveFailed"
    assert ranks[0].said[0]["seconds"] < NOTICED_S


def test_closing_from_another_thread_ends_a_wait():
    waiting = alone("""
    when_waiting(comm.close)
    attempt(comm.barrier)
""")
    [told] = waiting.said
    assert told["error"] == "CollectiveFailed", waiting.output
    assert "rank 0 closed its communicator in barrier()" in told["text"], waiting.output
    assert told["seconds"] < NOTICED_S

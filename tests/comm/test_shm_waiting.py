"""Waiting ranks: cheap, interruptible, and never in the way of other threads."""

from __future__ import annotations

import pytest

from shm_ranks import run


@pytest.mark.waits
def test_idle_ranks_use_next_to_no_cpu():
    ranks = run(
        8,
        """
comm = ShmCommunicator.attach(config(connect_timeout=20, timeout=30))
comm.barrier()
if rank == 0:
    time.sleep(5.0)
before = time.process_time()
comm.barrier()
say(cpu_s=time.process_time() - before)
""",
    )
    assert sum(rank.said[0]["cpu_s"] for rank in ranks) < 0.5


@pytest.mark.waits
def test_a_signal_handlers_exception_breaks_the_group_for_all():
    ranks = run(
        3,
        """
def handler(number, frame):
    raise ArithmeticError("from the handler")
signal.signal(signal.SIGUSR1, handler)
comm = ShmCommunicator.attach(config(timeout=20))
comm.barrier()
if rank == 0:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    try:
        comm.barrier()
    except ArithmeticError as error:
        say(text=str(error), seconds=time.monotonic() - begin)
    attempt(comm.barrier)
elif rank == 1:
    attempt(comm.barrier)
    attempt(comm.barrier)
else:
    time.sleep(2.0)
    attempt(comm.barrier)
""",
    )
    assert ranks[0].said[0]["text"] == "from the handler", ranks[0].output
    for said in (ranks[0].said[1], *ranks[1].said, ranks[2].said[0]):
        assert said["error"] == "CollectiveFailed"
        assert "rank 0 was interrupted" in said["text"]


def test_ctrl_c_is_answered_while_waiting():
    ranks = run(
        2,
        """
comm = ShmCommunicator.attach(config(timeout=20))
if rank == 0:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    before = time.monotonic()
    try:
        comm.barrier()
    except KeyboardInterrupt:
        say(seconds=time.monotonic() - before)
else:
    linger()
""",
    )
    assert 0.2 < ranks[0].said[0]["seconds"] < 1.0, ranks[0].output


@pytest.mark.waits
def test_a_handler_that_returns_disturbs_nothing():
    ranks = run(
        2,
        """
seen = []
signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
comm = ShmCommunicator.attach(config(timeout=20))
if rank == 1:
    time.sleep(0.5)
    time.sleep(0.5)
attempt(comm.barrier)
signal.setitimer(signal.ITIMER_REAL, 0)
say(seen=len(seen))
""",
    )
    for rank in ranks:
        assert rank.said[0]["error"] is None, rank.output
    assert ranks[0].said[1]["seen"] >= 5


@pytest.mark.waits
def test_other_threads_run_while_a_collective_waits():
    ranks = run(
        2,
        """
comm = ShmCommunicator.attach(config(timeout=20))
if rank == 0:
    ticks = 0
    stop = False
    def tick():
        global ticks
        while not stop:
            ticks += 1
            time.sleep(0.001)
    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    comm.barrier()
    say(ticks=ticks - before)
    stop = True
    thread.join()
else:
    time.sleep(1.0)
    comm.barrier()
""",
    )
    assert ranks[0].said[0]["ticks"] > 50, ranks[0].output


def test_a_forked_child_is_refused_and_cannot_harm_the_group():
    ranks = run(
        2,
        """
comm = ShmCommunicator.attach(config(timeout=10))
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


def test_a_dead_rank_whose_forked_child_lives_is_dead():
    ranks = run(
        2,
        """
comm = ShmCommunicator.attach(config(timeout=10))
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
    assert ranks[0].said[0]["seconds"] < 1.0


def test_closing_from_another_thread_ends_a_wait():
    ranks = run(
        2,
        """
comm = ShmCommunicator.attach(config(timeout=20))
if rank == 0:
    threading.Timer(0.3, comm.close).start()
    attempt(comm.barrier)
else:
    linger()
""",
    )
    assert ranks[0].said[0]["error"] in ("CollectiveFailed", "InvalidCommunicator"), ranks[0].output
    assert ranks[0].said[0]["seconds"] < 1.0

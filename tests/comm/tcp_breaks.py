"""What ranks do while something takes rank 1 from the others, and what must come of it."""

from __future__ import annotations

READY = """
comm.barrier()
say("ready")
wait_for_word()
"""
TRANSFERS = """
huge = np.ones(2_000_000)
for step in range(100_000):
    try:
        comm.allgatherv(huge, np.ones(size * huge.size), [huge.size] * size, [huge.size * r for r in range(size)])
    except CollectiveFailed as error:
        say("ended: " + error.message)
        break
    say("step")
"""
CLOSING = """
started = time.monotonic()
comm.close()
assert time.monotonic() - started < 30  # the timeout is 60 s
say("closed")
"""


def cut_once_ready(cut, group):
    """``cut`` takes rank 1 from the others between the end of ``READY`` and what they do next."""
    group.start().wait_for_all("ready")
    cut()
    group.give_word()


def assert_ended_by(cut, group):
    """``cut`` takes rank 1 from the others in the middle of ``TRANSFERS``; each must say who was lost to it."""
    group.start().wait_for(1, "step")
    cut()
    said = group.wait()
    for rank, words in enumerate(said):
        last = words.splitlines()[-1]
        assert last.startswith("ended: "), said
        assert ("rank 0" if rank == 1 else "rank 1") in last, said


def assert_closed(said):
    """That all ranks of ``CLOSING`` got to its end."""
    assert all("closed" in words and "Traceback" not in words for words in said), said

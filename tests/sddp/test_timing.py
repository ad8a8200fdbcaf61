"""Where the time of a training goes: parts of the whole that are counted once."""

from __future__ import annotations

import time

from cobre.comm import run
from cobre.sddp.training import train
from sddp.studies import study
from sddp.trained import settings

LATE_S = 0.5


def trained_after_a_late_rank(comm):
    """The timings of a training before which rank 0 waits in a collective for rank 1."""
    if comm.rank == 1:
        time.sleep(LATE_S)
    comm.barrier()
    return train(comm, study(training=settings(2, 2))).timings


def test_waiting_before_the_training_is_no_part_of_it():
    first, _ = run(trained_after_a_late_rank, num_workers=2, backend="shm")
    parts = ("solver_run_ms", "solver_basis_ms", "solver_patch_ms", "solver_extract_ms", "solver_cuts_ms")
    named = (
        first["phase_setup_ms"]
        + first["communication_ms"]
        + first["waiting_ms"]
        + sum(first[p] for p in parts)
    )
    assert first["python_ms"] >= 0.0
    assert abs(named + first["python_ms"] - first["wall_ms"]) < 1e-6 * first["wall_ms"]

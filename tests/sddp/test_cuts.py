from __future__ import annotations

import contextlib

import numpy as np
import pytest

import cobre.sddp.cuts
from cobre.comm import LocalCommunicator, contiguous_block, run
from cobre.core.config import CutSelection
from cobre.errors import InvalidCommunicator
from cobre.sddp.cuts import CutPool, synchronize_cuts
from cobre.sddp.selection import StateArchive, cut_values, dominated, select_cuts
from cobre.sddp.training import train
from sddp.studies import split_cases


@pytest.fixture
def comm():
    with LocalCommunicator() as comm:
        yield comm


def filled(comm, rows, n_passes=1):
    pool = CutPool(len(rows[0]) - 1)
    for iteration, first in enumerate(range(0, len(rows), n_passes), start=1):
        synchronize_cuts(comm, pool, np.array(rows[first : first + n_passes], float), n_passes, iteration)
    return pool


def dropped_by(*arguments):
    """Slots that the method or the cap took out."""
    return np.sort(np.concatenate(select_cuts(*arguments))).tolist()


def test_slots_follow_iterations_and_passes(comm):
    pool = filled(comm, [[10, 1], [11, 1], [20, 2], [21, 2]], n_passes=2)
    assert pool.intercepts.tolist() == [10, 11, 20, 21]
    assert pool.coefficients.tolist() == [[1], [1], [2], [2]]
    assert pool.made_in(2).tolist() == [False, False, True, True]
    assert pool.last_active.tolist() == [1, 1, 2, 2]


def test_growing_keeps_every_cut(comm):
    pool = filled(comm, [[k, -k] for k in range(1000)])
    assert pool.intercepts.tolist() == list(range(1000))
    assert pool.active.all()


def test_cuts_of_a_state_without_components(comm):
    pool = filled(comm, [[5.0]])
    assert pool.rows.shape == (1, 1)
    assert pool.coefficients.shape == (1, 0)


def _rows_on_every_rank(comm, n_cuts, is_shared=False):
    pool = CutPool(2, comm if is_shared else None)
    if is_shared:
        cobre.sddp.cuts.SHARED_FROM_BYTES = 1  # of this process
    for iteration in (1, 2):
        start, count = contiguous_block(n_cuts, comm.rank, comm.size)
        mine = np.array([[100 * iteration + k, k, -k] for k in range(start, start + count)], float).reshape(
            -1, 3
        )
        synchronize_cuts(comm, pool, mine, n_cuts, iteration)
    return pool.rows.tobytes()


@pytest.mark.parametrize("n_cuts", [1, 5])
def test_every_rank_inserts_the_same_cuts_in_the_same_slots(n_cuts):
    alone = run(_rows_on_every_rank, num_workers=1, args=(n_cuts,))
    assert set(run(_rows_on_every_rank, num_workers=3, args=(n_cuts,))) == set(alone)


@pytest.mark.parametrize(("backend", "n_ranks"), [("shm", 3), ("tcp", 2)])
def test_pools_in_shared_memory_hold_the_same_cuts(backend, n_ranks):
    alone = run(_rows_on_every_rank, num_workers=1, args=(100,))
    found = run(_rows_on_every_rank, num_workers=n_ranks, backend=backend, args=(100, True))
    assert set(found) == set(alone)


def _number_written_by_rank_0(comm):
    pool = CutPool(600, comm)
    for iteration in range(1, 11):  # more than SHARED_FROM_BYTES, and a few times more room
        _, count = contiguous_block(40, comm.rank, comm.size)
        synchronize_cuts(comm, pool, np.full((count, 601), float(iteration)), 40, iteration)
        pool.close_outgrown()
    before = pool.rows.copy()
    comm.barrier()
    if comm.rank == 0:
        pool.rows[5, 7] = -1.0
    comm.barrier()
    return float(before[5, 7]), float(pool.rows[5, 7]), float(pool.rows[399, 600])


def test_ranks_of_a_machine_have_one_copy_of_many_cuts():
    assert run(_number_written_by_rank_0, num_workers=2, backend="shm") == [(1.0, -1.0, 10.0)] * 2
    assert run(_number_written_by_rank_0, num_workers=2, backend="tcp") == [
        (1.0, -1.0, 10.0),
        (1.0, 1.0, 10.0),
    ]


class WithoutRoom:
    """A group on a machine whose shared memory is too small."""

    def __init__(self, comm):
        self._comm = comm
        self.asked = 0
        self.made = []

    def create_shared_region(self, count):
        self.asked += 1
        region = self._comm.create_shared_region(10**17 if self.asked == 2 else count)
        self.made.append(region)
        return region

    def __getattr__(self, name):
        return getattr(self._comm, name)


def _rows_where_memory_ends(comm):
    cobre.sddp.cuts.SHARED_FROM_BYTES = 2048
    comm = WithoutRoom(comm)
    pool = CutPool(2, comm)
    for iteration in range(1, 60):
        _, count = contiguous_block(10, comm.rank, comm.size)
        synchronize_cuts(comm, pool, np.full((count, 3), float(iteration)), 10, iteration)
        pool.close_outgrown()
    with pytest.raises(InvalidCommunicator, match="region is closed"):
        comm.made[0].as_slice()
    return comm.asked, pool.rows.tobytes()


def test_where_shared_memory_ends_each_rank_goes_on_with_its_own():
    expected = np.repeat(np.arange(1.0, 60.0), 30).tobytes()
    assert run(_rows_where_memory_ends, num_workers=2, backend="shm") == [(2, expected)] * 2


class Noting:
    """A group that remembers the regions it made."""

    def __init__(self, comm):
        self._comm = comm
        self.made = []

    def create_shared_region(self, *what):
        self.made.append(self._comm.create_shared_region(*what))
        return self.made[-1]

    def __getattr__(self, name):
        return getattr(self._comm, name)


def _regions_left_by_training(comm, study="level1"):
    cobre.sddp.cuts.SHARED_FROM_BYTES = 1
    noting = Noting(comm)
    train(noting, split_cases()[study])
    left = 0
    for region in noting.made:
        with contextlib.suppress(InvalidCommunicator):
            region.as_slice()
            left += 1
    return left, len(noting.made)


@pytest.mark.parametrize(("backend", "of_cuts"), [("shm", 3), ("tcp", 0)])
def test_training_frees_the_memory_of_cuts_that_ranks_share(backend, of_cuts):
    """With tcp they share none, and a region would take more memory than each rank's own array."""
    of_openings = 2
    expected = (of_openings, of_openings + of_cuts)
    assert run(_regions_left_by_training, num_workers=2, backend=backend) == [expected] * 2


def test_training_frees_what_ranks_share_to_claim_trial_points():
    of_openings = 2
    of_points = 5  # claims, states, cuts, and bases, which are outgrown once
    expected = (of_openings, of_openings + of_points)
    found = run(_regions_left_by_training, num_workers=2, backend="shm", args=("linked",))
    assert found == [expected] * 2


def test_level1_drops_what_was_never_binding_but_no_new_cut(comm):
    pool = filled(comm, [[1, 0], [2, 0], [3, 0]])
    pool.record_activity(np.array([0, 4, 0]), 3)
    dropped, _ = select_cuts(comm, pool, None, 3, CutSelection("level1", check_frequency=1))
    assert dropped.tolist() == [0]
    assert pool.active.tolist() == [False, True, True]


def test_level1_threshold_counts_solves(comm):
    pool = filled(comm, [[1, 0], [2, 0], [3, 0]])
    pool.record_activity(np.array([2, 3, 0]), 3)
    settings = CutSelection("level1", check_frequency=1, threshold=2)
    assert dropped_by(comm, pool, None, 3, settings) == [0]


def test_lml1_drops_cuts_that_were_not_binding_in_its_window(comm):
    pool = filled(comm, [[k, 0] for k in range(6)])
    pool.record_activity(np.array([1, 0, 0, 0, 0, 0]), 6)
    settings = CutSelection("lml1", check_frequency=1, memory_window=2)
    assert dropped_by(comm, pool, None, 6, settings) == [1, 2]  # last active in 2 and 3


def test_selection_runs_at_its_frequency_only(comm):
    pool = filled(comm, [[k, 0] for k in range(4)])
    settings = CutSelection("lml1", check_frequency=3)
    assert dropped_by(comm, pool, None, 4, settings) == []
    assert dropped_by(comm, pool, None, 6, settings) == [0, 1, 2, 3]


def test_activity_of_dropped_cuts_is_not_mixed_up(comm):
    pool = filled(comm, [[k, 0] for k in range(3)])
    pool.drop(np.array([1]))
    pool.record_activity(np.array([7, 9]), 3)
    assert pool.active_count.tolist() == [7, 0, 9]


def test_domination_keeps_what_is_best_somewhere(comm):
    pool = filled(comm, [[0, 1], [0, -1], [-5, 0], [-0.5, 0], [100, 0]])
    pool.drop(np.array([4]))
    states = np.array([[-1.0], [2.0]])
    assert dominated(comm, pool, states, 0.0).tolist() == [False, False, True, True, False]
    assert dominated(comm, pool, states, 1.6).tolist() == [False, False, True, False, False]


def test_domination_spares_this_iteration(comm):
    pool = filled(comm, [[0.0, 1.0], [-9.0, 0.0]])
    archive = StateArchive(1)
    archive.extend(np.array([[3.0], [4.0]]))
    settings = CutSelection("domination", check_frequency=1)
    assert dropped_by(comm, pool, archive, 2, settings) == []
    assert dropped_by(comm, pool, archive, 3, settings) == [1]


def states_of(*values):
    archive = StateArchive(1)
    archive.extend(np.array(values, dtype=float)[:, np.newaxis])
    return archive


def test_a_cut_that_was_dropped_returns_when_a_state_needs_it(comm):
    pool = filled(comm, [[0, 1], [0, -1], [0, 0]])
    settings = CutSelection("value_level1", check_frequency=1)
    assert dropped_by(comm, pool, states_of(3), 4, settings) == [1, 2]
    assert dropped_by(comm, pool, states_of(3, -2), 5, settings) == []
    assert pool.active.tolist() == [True, True, False]


def test_of_equal_cuts_level1_keeps_all_and_lml1_the_oldest(comm):
    rows = [[0, 1], [3, 0], [0, 1], [3, 0], [2.5, 0]]
    for method, expected in (("value_level1", [4]), ("value_lml1", [1, 2, 3, 4])):
        settings = CutSelection(method, check_frequency=1)
        assert dropped_by(comm, filled(comm, rows), states_of(3, 4), 6, settings) == expected


def test_values_within_the_tolerance_count_as_equal(comm):
    settings = CutSelection("value_level1", check_frequency=1, domination_epsilon=0.5)
    assert dropped_by(comm, filled(comm, [[3, 0], [2.5, 0], [2.4, 0]]), states_of(0), 4, settings) == [2]


def test_cuts_of_an_earlier_run_and_of_this_iteration_stay(comm):
    pool = filled(comm, [[0, 1], [9, 0], [0, 0]])
    pool.iterations[0] = 0
    settings = CutSelection("value_lml1", check_frequency=1)
    assert dropped_by(comm, pool, states_of(1), 3, settings) == []
    assert dropped_by(comm, pool, states_of(1), 4, settings) == [2]


def _dominated_on(comm, rows, states):
    pool = CutPool(rows.shape[1] - 1)
    start, count = contiguous_block(len(rows), comm.rank, comm.size)
    synchronize_cuts(comm, pool, rows[start : start + count], len(rows), 1)
    return dominated(comm, pool, states, 0.01).tobytes()


def test_domination_is_the_same_however_states_are_split():
    rng = np.random.default_rng(3)
    rows, states = rng.normal(size=(40, 4)), rng.normal(size=(7, 3))
    alone = run(_dominated_on, num_workers=1, args=(rows, states))
    assert set(run(_dominated_on, num_workers=3, args=(rows, states))) == set(alone)
    assert b"\x01" in alone[0]
    assert b"\x00" in alone[0]


def test_the_cap_evicts_what_was_binding_longest_ago_then_least_often(comm):
    pool = filled(comm, [[k, 0] for k in range(5)])
    pool.record_activity(np.array([1, 2, 0, 1, 0]), 4)
    settings = CutSelection(max_active_per_stage=2)
    assert dropped_by(comm, pool, None, 5, settings) == [0, 2, 3]
    assert pool.active_slots.tolist() == [1, 4]


def test_the_cap_never_takes_this_iterations_cuts(comm):
    pool = filled(comm, [[k, 0] for k in range(6)], n_passes=3)
    assert dropped_by(comm, pool, None, 2, CutSelection(max_active_per_stage=1)) == [0, 1, 2]
    assert pool.active_slots.tolist() == [3, 4, 5]


def test_values_of_cuts_at_states():
    rows, states = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]), np.array([[1.0, 1.0], [2.0, 0.0]])
    assert cut_values(rows, states).tolist() == [[6.0, 5.0], [1.0, 2.0]]

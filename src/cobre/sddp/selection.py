"""Cut selection: which cuts stay in the stage problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats, Ints
from cobre.comm import Communicator, contiguous_block
from cobre.core.config import CutSelection
from cobre.sddp.cuts import CutPool

Slots = Ints

VALUES_AT_ONCE = 1 << 20
"""Values of cuts at states that domination holds in memory at a time."""


VALUE_METHODS = ("value_level1", "value_lml1")
"""Methods that compare the values of all cuts of a pool, dropped ones included."""


class StateArchive:
    """Visited states of one stage, in the order of iterations and passes."""

    def __init__(self, state_dimension: int) -> None:
        self.size = 0
        self._states = np.empty((64, state_dimension))

    @property
    def states(self) -> Floats:
        return self._states[: self.size]

    def extend(self, states: Floats) -> None:
        """Append the states of an iteration."""
        needed = self.size + len(states)
        if needed > len(self._states):
            grown = np.empty((max(needed, 2 * len(self._states)), self._states.shape[1]))
            grown[: self.size] = self.states
            self._states = grown
        self._states[self.size : needed] = states
        self.size = needed


class StateKeeper:
    """Keeps states that training visits, by number of the pool or node that they belong to."""

    def __init__(self, numbers: Iterable[int], state_dimension: int) -> None:
        self._archives = {number: StateArchive(state_dimension) for number in numbers}

    @property
    def archives(self) -> dict[int, Floats]:
        """The states, by pool or node."""
        return {number: archive.states for number, archive in self._archives.items()}

    def restore(self, archives: Mapping[int, Floats]) -> None:
        """Take back the states of a checkpoint."""
        for number, states in archives.items():
            self._archives[number].extend(states)


def select_cuts(
    comm: Communicator, pool: CutPool, archive: StateArchive | None, iteration: int, settings: CutSelection
) -> tuple[Slots, Slots]:
    """Collective: drop from ``pool`` what the settings say after ``iteration``.

    Returns the slots dropped by the method and those dropped by the cap on active cuts, each ascending.

    Cuts of this iteration always stay. All ranks hold equal pools and drop the same cuts. A method that judges values
    also puts back the cuts that it chooses.
    """
    by_method = by_cap = np.empty(0, dtype=np.int64)
    if settings.method is not None and iteration % settings.check_frequency == 0:
        if settings.method in VALUE_METHODS:
            is_kept = _kept_by_value(comm, pool, archive, settings)
            pool.put_back(np.flatnonzero(is_kept & ~pool.active))
            dropped = ~is_kept & (pool.iterations > 0)
        else:
            dropped = _chosen_by_method(comm, pool, archive, iteration, settings)
        by_method = np.flatnonzero(dropped & pool.active & ~pool.made_in(iteration))
        pool.drop(by_method)
    if settings.max_active_per_stage is not None:
        by_cap = _over_the_cap(pool, iteration, settings.max_active_per_stage)
        pool.drop(by_cap)
    return by_method, by_cap


def _chosen_by_method(
    comm: Communicator, pool: CutPool, archive: StateArchive | None, iteration: int, settings: CutSelection
) -> NDArray[np.bool_]:
    if settings.method is not None and not isinstance(settings.method, str):
        chosen: NDArray[np.bool_] = settings.method.cuts_to_drop(pool, iteration)
        return chosen
    match settings.method:
        case "level1":
            return pool.active_count <= settings.threshold
        case "lml1":
            return iteration - pool.last_active > settings.memory_window
        case _:
            states = archive.states if archive is not None else np.empty((0, pool.state_dimension))
            return dominated(comm, pool, states, settings.domination_epsilon)


def _kept_by_value(
    comm: Communicator, pool: CutPool, archive: StateArchive | None, settings: CutSelection
) -> NDArray[np.bool_]:
    """Collective: cuts of the whole pool that are the highest at some visited state; all before any state is known."""
    if archive is None or not archive.size:
        return pool.active.copy()
    only_oldest = settings.method == "value_lml1"
    return _near_the_best(comm, pool.rows, archive.states, settings.domination_epsilon, only_oldest)


def _over_the_cap(pool: CutPool, iteration: int, cap: int) -> Slots:
    """Active cuts beyond the cap: those binding longest ago go first, then the least often, then the oldest."""
    excess = int(np.count_nonzero(pool.active)) - cap
    if excess <= 0:
        return np.empty(0, dtype=np.int64)
    candidates = np.flatnonzero(pool.active & ~pool.made_in(iteration))
    order = np.lexsort((candidates, pool.active_count[candidates], pool.last_active[candidates]))
    return np.sort(candidates[order[:excess]])


def dominated(comm: Communicator, pool: CutPool, states: Floats, epsilon: float) -> NDArray[np.bool_]:
    """Collective: active cuts that lie more than ``epsilon`` below the best one at every visited state."""
    result = np.zeros(pool.size, dtype=np.bool_)
    slots = pool.active_slots
    if not len(slots) or not len(states):
        return result
    result[slots] = ~_near_the_best(comm, pool.rows[slots], states, epsilon)
    return result


def _near_the_best(
    comm: Communicator, rows: Floats, states: Floats, epsilon: float, only_oldest: bool = False
) -> NDArray[np.bool_]:
    """Collective: cuts within ``epsilon`` of the highest at some state, or only the first of them at each state."""
    start, count = contiguous_block(len(states), comm.rank, comm.size)
    mine = _near_the_best_here(rows, states[start : start + count], epsilon, only_oldest)
    is_near = np.empty_like(mine)
    comm.allreduce(mine, is_near, "max")
    return is_near


def _near_the_best_here(rows: Floats, states: Floats, epsilon: float, only_oldest: bool) -> NDArray[np.bool_]:
    is_near = np.zeros(len(rows), dtype=np.bool_)
    step = max(1, VALUES_AT_ONCE // len(rows))
    for first in range(0, len(states), step):
        values = cut_values(rows, states[first : first + step])
        found = values >= np.max(values, axis=0) - epsilon
        if only_oldest:
            is_near[np.argmax(found, axis=0)] = True
        else:
            is_near |= np.any(found, axis=1)
    return is_near


def cut_values(rows: Floats, states: Floats) -> Floats:
    """``[cut, state]``: each cut's value at each state, terms added in the order of the state's components."""
    values = np.repeat(rows[:, :1], len(states), axis=1)
    for j in range(states.shape[1]):
        values += rows[:, 1 + j : 2 + j] * states[np.newaxis, :, j]
    return values

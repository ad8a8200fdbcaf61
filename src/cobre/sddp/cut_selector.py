"""Cut selection over the stages of a training run."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from cobre.comm import GroupMember
from cobre.core.config import CutSelection
from cobre.core.graph import PolicyGraph
from cobre.sddp.forward import Trajectories
from cobre.sddp.journal import Journal, SelectionRecord
from cobre.sddp.selection import VALUE_METHODS, StateKeeper, select_cuts
from cobre.sddp.stage import StageModel
from cobre.sddp.statistics import gather_counted


class CutSelector(StateKeeper):
    """Takes cuts out of the stage problems, as the settings say; selection methods compare values at the states."""

    def __init__(
        self,
        comm: GroupMember,
        settings: CutSelection,
        models: Sequence[StageModel],
        journal: Journal,
        state_dimension: int,
        graph: PolicyGraph,
    ) -> None:
        self._comm = comm
        self._settings = settings
        self._models = models
        self._journal = journal
        self._graph = graph
        # The root keeps all its cuts for the bound, leaves have none.
        self._stages = [k for k in range(1, len(models)) if models[k].node.children]
        wants_states = settings.method in ("domination", *VALUE_METHODS)
        super().__init__(self._stages if wants_states else (), state_dimension)

    @property
    def activity_tolerance(self) -> float | None:
        """Slack up to which a cut counts as binding; None if no method uses it."""
        settings = self._settings
        looks_at_values = settings.method is None or settings.method in ("domination", *VALUE_METHODS)
        is_counted = not looks_at_values or settings.max_active_per_stage is not None
        return settings.activity_tolerance if is_counted else None

    def archive(self, trajectories: Trajectories) -> None:
        """Collective: keep the states of an iteration, if they are needed."""
        for step, states in zip(trajectories.steps, trajectories.states, strict=True):
            pools = {self._graph.pools[position]: position for position in step.visited}
            wanted = [pool for pool in pools if pool in self._archives]
            if not wanted:
                continue
            everyone = states if trajectories.is_tree else gather_counted(self._comm, states, step.counts)
            for pool in wanted:
                self._archives[pool].extend(everyone[step.nodes == pools[pool]])

    def select(self, iteration: int) -> int:
        """Collective: take cuts out of the stage problems; how many."""
        settings, n_removed = self._settings, 0
        if settings.method is None and settings.max_active_per_stage is None:
            return n_removed
        for index in self._stages:
            model, began = self._models[index], time.perf_counter()
            was_active = model.pool.active.copy()
            before = int(np.count_nonzero(was_active))
            by_method, by_cap = select_cuts(
                self._comm, model.pool, self._archives.get(index), iteration, settings
            )
            if not np.array_equal(was_active, model.pool.active):
                model.keep_active_cuts()
            n_removed += len(by_method) + len(by_cap)
            after = int(np.count_nonzero(model.pool.active))
            seconds = time.perf_counter() - began
            self._journal.selections.append(
                SelectionRecord(
                    iteration, model.index, model.pool.size, before, after + len(by_cap), after, seconds
                )
            )
        return n_removed

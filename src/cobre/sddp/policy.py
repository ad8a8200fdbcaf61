"""The trained policy: the cuts of every stage, and the file that keeps them bit by bit."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobre.arrays import Floats
from cobre.core.horizon import Stage
from cobre.files import write_atomically
from cobre.sddp.cuts import CutPool
from cobre.sddp.policy_file import FILE_NAME, policy_bytes, read_policy
from cobre.sddp.stage_cuts import StageCuts, as_numbers, cut_values

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class Policy:
    """What training learned. Stages are counted from 0; the last one has no future and no cuts.

    Of a policy graph every node with a future is a stage of its own here, in the order of `node_ids`; all leaves are
    the last one. The state is the storage of every hydro in hm3, then the lagged inflows in m3/s, nearest lag first,
    then water under way in hm3 and commitments of thermals in MW.
    """

    stages: tuple[StageCuts, ...]
    state_dimension: int
    state_names: tuple[str, ...] = ()
    calendar: tuple[tuple[int, str], ...] = ()
    """Id and end date of each stage; empty in policies of versions 1 and 2."""
    identity: Mapping[str, str] = field(default_factory=dict)
    """What it was trained on: see `cobre.sddp.identity`; empty in policies of versions 1 and 2."""
    plants: Mapping[int, str] = field(default_factory=dict)
    """Names of the plants by id; empty in policies of versions 1 to 3 and of the public Cobre."""
    node_ids: tuple[int, ...] = ()
    """Of a policy graph: the node of each of ``stages``; of the leaves the first. Empty if the stages are a chain."""
    slots: tuple[Mapping[str, tuple[str, str]], ...] = ()
    """By stage, for each component of the state that belongs to an interval of time: its first and last moment."""

    @classmethod
    def from_pools(
        cls,
        pools: Sequence[CutPool],
        state_names: Sequence[str],
        floors: Sequence[float],
        bases: Sequence[NDArray[np.uint8]],
        stages_of: Sequence[Stage] = (),
        identity: Mapping[str, str] | None = None,
        plants: Mapping[int, str] | None = None,
        node_ids: Sequence[int] | None = None,
        slots: Sequence[Mapping[str, tuple[str, str]]] = (),
    ) -> Self:
        """A policy of its own memory from the pools of a training run."""
        stages = tuple(
            StageCuts(
                pool.intercepts.copy(), pool.coefficients.copy(), pool.active.copy(), floor, basis.copy()
            )
            for pool, floor, basis in zip(pools, floors, bases, strict=True)
        )
        calendar = tuple((stage.id, stage.end_date.isoformat()) for stage in stages_of)
        labels = dict(identity or {}), dict(plants or {})
        nodes = tuple(node_ids or ())
        dated = tuple(slots) if any(slots) else ()
        return cls(stages, len(state_names), tuple(state_names), calendar, *labels, nodes, dated)

    def __repr__(self) -> str:
        counts = self.summary()
        return f"<Policy of {counts['stages']} stages, {counts['total_cuts']} cuts>"

    def _repr_html_(self) -> str:
        from cobre.sddp.pictures import policy_html

        return policy_html(self)

    @property
    def n_stages(self) -> int:
        return len(self.stages)

    def summary(self) -> dict[str, Any]:
        """Counts, as plain data."""
        per_stage = [len(cuts.intercepts) for cuts in self.stages]
        return {
            "stages": self.n_stages,
            "state_dimension": self.state_dimension,
            "total_cuts": sum(per_stage),
            "cuts_per_stage": per_stage,
            "active_cuts": int(sum(np.count_nonzero(cuts.active) for cuts in self.stages)),
            **({"node_ids": list(self.node_ids)} if self.node_ids else {}),
        }

    def stage_of_node(self, node_id: int) -> int:
        """Where the cuts of a node of the policy graph are, for methods that ask for a stage."""
        if node_id not in self.node_ids:
            known = ", ".join(map(str, self.node_ids)) or "none: its stages are a chain"
            raise KeyError(f"this policy has no cuts of node {node_id}; nodes with cuts: {known}")
        return self.node_ids.index(node_id)

    @overload
    def cuts(self, stage: int, *, names: bool = False) -> dict[str, NDArray[Any]]: ...
    @overload
    def cuts(self, stage: None = None, *, names: bool = False) -> pa.Table: ...
    def cuts(self, stage: int | None = None, *, names: bool = False) -> dict[str, NDArray[Any]] | pa.Table:
        """Arrays ``intercepts``, ``coefficients`` and ``active`` of a stage, in slot order.

        Without a stage an Arrow table of all cuts: stage, slot, active, intercept, and one column per component of the
        state. With ``names`` columns have the name of the plant in place of its id.
        """
        if stage is None:
            from cobre.sddp.policy_tools import cut_table

            return cut_table(self, names=names)
        found = self._stage(stage)
        return {
            "intercepts": found.intercepts.copy(),
            "coefficients": found.coefficients.copy(),
            "active": found.active.copy(),
        }

    @property
    def component_names(self) -> tuple[str, ...]:
        """Of the state; a policy of the public Cobre 0.5 does not name its components, and they are numbered."""
        return self.state_names or tuple(f"component:{j}" for j in range(self.state_dimension))

    def water_values(self, stage: int, state: ArrayLike) -> dict[int, float]:
        """By hydro id: what one more hm3 at the end of ``stage`` saves later, in $/hm3, when it ends in ``state``.

        That is the slope of the highest cut there, in money of the stage that follows; 0 where no cut lies above the
        floor.
        """
        cuts, point = self._stage(stage), self._point(state)
        if self.state_dimension and not self.state_names:
            raise ValueError(
                "this policy does not say which component of its state is the storage of which plant\n  "
                "fix: take the slopes from cuts(stage), or a policy that a newer program wrote"
            )
        best = self._highest(cuts, point)
        slopes = np.zeros(self.state_dimension) if best is None else cuts.coefficients[best]
        return {
            int(name.partition(":")[2]): -float(slope) + 0.0
            for name, slope in zip(self.state_names, slopes, strict=True)
            if name.startswith("storage:")
        }

    def compare(self, other: Policy, states: ArrayLike | None = None) -> pa.Table:
        """One row per stage: how many active cuts are in both, only here and only there; equal ones count once.

        With ``states`` (``[n, dimension]``) also the least and the greatest difference of the future cost at these
        states, this policy's minus the other's.
        """
        from cobre.sddp.policy_tools import compare_policies

        return compare_policies(self, other, states)

    def merge(self, other: Policy, *, allow_changes: bool = False) -> Self:
        """A policy with the cuts of both. It bounds the cost from below because both are about the same study.

        Policies of studies that differ in what future costs depend on are refused. With ``allow_changes`` they are
        joined, and cuts of the one may lie above the future costs of the other; runs that use the result say so.
        """
        from cobre.sddp.policy_tools import merged, merged_identity

        identity = merged_identity(self, other, allow_changes=allow_changes)
        return replace(self, stages=merged(self, other), identity=identity)

    def prune(self, states: ArrayLike | None = None) -> Self:
        """A policy without inactive cuts, and without cuts that lie below another one everywhere.

        With ``states`` (``[n, dimension]``, at least one) only cuts that are highest at one of these states stay.
        """
        from cobre.sddp.policy_tools import pruned

        return replace(self, stages=pruned(self, states))

    def evaluate(self, stage: int, state: ArrayLike) -> float:
        """Expected cost of all stages after ``stage`` when it ends in ``state``, as the policy believes.

        The largest of the active cuts, in money of the stage that follows; at least 0 unless something earns money.
        """
        cuts, point = self._stage(stage), self._point(state)
        best = self._highest(cuts, point)
        return cuts.floor if best is None else float(cut_values(cuts, point[np.newaxis, :])[best, 0])

    def _highest(self, cuts: StageCuts, point: Floats) -> int | None:
        """Slot of the highest active cut at ``point``; None if the floor is higher."""
        slots = np.flatnonzero(cuts.active)
        if not len(slots):
            return None
        values = cut_values(cuts, point[np.newaxis, :])[slots, 0]
        best = int(np.argmax(values))
        return int(slots[best]) if values[best] >= cuts.floor else None

    def _point(self, state: ArrayLike) -> Floats:
        point = as_numbers(state)
        if point.shape != (self.state_dimension,):
            raise ValueError(
                f"the state has shape {point.shape}; this policy needs ({self.state_dimension},)\n  "
                f"fix: pass the storages in hm3, then the lagged inflows in m3/s"
            )
        if not np.isfinite(point).all():
            at = int(np.flatnonzero(~np.isfinite(point))[0])
            raise ValueError(f"state[{at}] is {point[at]}\n  fix: give a finite number for every component")
        return point

    def with_state_order(self, state_names: Sequence[str]) -> Self:
        """The same policy with the components of its state in another order, which has the same names."""
        place = {name: j for j, name in enumerate(self.state_names)}
        order = [place[name] for name in state_names]
        stages = tuple(replace(cuts, coefficients=cuts.coefficients[:, order]) for cuts in self.stages)
        return replace(self, stages=stages, state_names=tuple(state_names))

    def save(self, path: str | Path) -> None:
        """Write the policy into the folder ``path``. Atomic: a reader finds the old file or the new one."""
        write_atomically(Path(path) / FILE_NAME, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The file's contents: equal policies give equal bytes."""
        facts = {
            "state_dimension": self.state_dimension,
            "state_names": list(self.state_names),
            "calendar": [list(entry) for entry in self.calendar],
            "identity": dict(self.identity),
            "plants": [list(entry) for entry in self.plants.items()],
            "node_ids": list(self.node_ids),
            "slots": [
                {name: list(interval) for name, interval in of_stage.items()} for of_stage in self.slots
            ],
        }
        return policy_bytes(self.stages, facts)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The policy saved in the folder ``path`` (or in that very file), to the bit.

        Folders that the public Cobre 0.5 or 0.18 wrote are read as well.
        """
        if (Path(path) / FILE_NAME).exists():
            return cls(*read_policy(Path(path)))
        from cobre.sddp.public_policy import find_public_policy, read_public_policy

        public = find_public_policy(Path(path))
        if public is None:
            return cls(*read_policy(Path(path)))
        found = read_public_policy(public)
        return cls(found.stages, found.state_dimension, found.state_names, found.calendar, slots=found.slots)

    def _stage(self, stage: int) -> StageCuts:
        last = self.n_stages - 1
        try:
            place = operator.index(stage)
        except TypeError as error:
            raise TypeError(
                f"stage {stage!r:.40} is not a whole number\n  fix: count stages from 0; the last one is {last}"
            ) from error
        if not 0 <= place <= last:
            raise IndexError(f"stage {place} is not one of 0..{last}")
        return self.stages[place]

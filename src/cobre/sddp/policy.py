"""The trained policy: the cuts of every stage, and the file that keeps them bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobre.core.files import write_atomically
from cobre.errors import IOError, ValidationError
from cobre.sddp.container import decode, encode
from cobre.sddp.cuts import CutPool

FILE_NAME = "policy.cobre"
MAGIC = b"COBREPOL"
VERSION = 2
READABLE_VERSIONS = range(1, VERSION + 1)
"""Version 1 had no start bases."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StageCuts:
    """The cuts of one stage in slot order: ``future cost >= intercept + coefficients . state``."""

    intercepts: Floats
    coefficients: Floats
    active: NDArray[np.bool_]
    floor: float = 0.0
    """The future costs no less, with or without cuts; below 0 only where something can earn money."""
    basis: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, dtype=np.uint8))
    """What a simulation starts the solves of this stage from: the last basis of the first trajectory; may be empty."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StageCuts)
            and self.floor == other.floor
            and all(
                a.shape == b.shape and a.tobytes() == b.tobytes()
                for a, b in (
                    (self.intercepts, other.intercepts),
                    (self.coefficients, other.coefficients),
                    (self.active, other.active),
                    (self.basis, other.basis),
                )
            )
        )


@dataclass(frozen=True, repr=False)
class Policy:
    """What training learned. Stages are counted from 0; the last one has no future and no cuts.

    The state is the storage of every hydro in hm3, then the lagged inflows in m3/s, nearest lag first.
    """

    stages: tuple[StageCuts, ...]
    state_dimension: int
    state_names: tuple[str, ...] = ()

    @classmethod
    def from_pools(
        cls,
        pools: Sequence[CutPool],
        state_names: Sequence[str],
        floors: Sequence[float],
        bases: Sequence[NDArray[np.uint8]],
    ) -> Self:
        """A policy of its own memory from the pools of a training run."""
        stages = tuple(
            StageCuts(
                pool.intercepts.copy(), pool.coefficients.copy(), pool.active.copy(), floor, basis.copy()
            )
            for pool, floor, basis in zip(pools, floors, bases, strict=True)
        )
        return cls(stages, len(state_names), tuple(state_names))

    def __repr__(self) -> str:
        counts = self.summary()
        return f"<Policy of {counts['stages']} stages, {counts['total_cuts']} cuts>"

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
        }

    def cuts(self, stage: int) -> dict[str, NDArray[Any]]:
        """Arrays ``intercepts``, ``coefficients`` and ``active`` of a stage, in slot order."""
        found = self._stage(stage)
        return {
            "intercepts": found.intercepts.copy(),
            "coefficients": found.coefficients.copy(),
            "active": found.active.copy(),
        }

    def evaluate(self, stage: int, state: ArrayLike) -> float:
        """Expected cost of all stages after ``stage`` when it ends in ``state``, as the policy believes.

        The largest of the active cuts, in money of the stage that follows; at least 0 unless something earns money.
        """
        cuts = self._stage(stage)
        point = np.asarray(state, dtype=np.float64)
        if point.shape != (self.state_dimension,):
            raise ValueError(
                f"the state has shape {point.shape}; this policy needs ({self.state_dimension},)\n  "
                f"fix: pass the storages in hm3, then the lagged inflows in m3/s"
            )
        if not np.isfinite(point).all():
            at = int(np.flatnonzero(~np.isfinite(point))[0])
            raise ValueError(f"state[{at}] is {point[at]}\n  fix: give a finite number for every component")
        values = cuts.intercepts[cuts.active].copy()
        for j, value in enumerate(point):
            values += cuts.coefficients[cuts.active, j] * value
        return max(cuts.floor, float(values.max())) if len(values) else cuts.floor

    def save(self, path: str | Path) -> None:
        """Write the policy into the folder ``path``. Atomic: a reader finds the old file or the new one."""
        write_atomically(Path(path) / FILE_NAME, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The file's contents: equal policies give equal bytes."""
        arrays: dict[str, NDArray[Any]] = {}
        for stage, cuts in enumerate(self.stages):
            arrays[f"{stage}/intercepts"] = cuts.intercepts
            arrays[f"{stage}/coefficients"] = cuts.coefficients
            arrays[f"{stage}/active"] = cuts.active.astype(np.uint8)
            arrays[f"{stage}/basis"] = cuts.basis
        facts = {
            "content": "policy",
            "stages": self.n_stages,
            "state_dimension": self.state_dimension,
            "state_names": list(self.state_names),
        }
        arrays["floors"] = np.array([cuts.floor for cuts in self.stages])
        return encode(MAGIC, VERSION, facts, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The policy saved in the folder ``path`` (or in that very file), to the bit."""
        file = _file_in(Path(path))
        try:
            data = file.read_bytes()
        except OSError as error:
            raise IOError(str(file), f"cannot read {file}: {error.strerror or error}") from error
        facts, arrays = decode(data, MAGIC, READABLE_VERSIONS, file)
        stages = tuple(
            StageCuts(
                arrays[f"{stage}/intercepts"],
                arrays[f"{stage}/coefficients"],
                arrays[f"{stage}/active"].astype(np.bool_),
                float(arrays["floors"][stage]),
                arrays.get(f"{stage}/basis", np.empty(0, dtype=np.uint8)),
            )
            for stage in range(facts["stages"])
        )
        return cls(stages, facts["state_dimension"], tuple(facts["state_names"]))

    def _stage(self, stage: int) -> StageCuts:
        if not 0 <= stage < self.n_stages:
            raise IndexError(f"stage {stage} is not one of 0..{self.n_stages - 1}")
        return self.stages[stage]


def _file_in(path: Path) -> Path:
    if not path.exists():
        raise IOError(
            str(path),
            f"{path} does not exist",
            suggestion="train one first (cobre run), or name the folder of a trained policy",
        )
    if not path.is_dir():
        return path
    file = path / FILE_NAME
    if file.exists():
        return file
    foreign = sorted(found.name for found in path.rglob("*.bin"))
    if foreign:
        raise ValidationError(
            f"{path} holds {foreign[0]} and no {FILE_NAME}: it looks like a FlatBuffers policy of the public Cobre, "
            "which this program cannot read",
            kind="ParseError",
            context={"path": str(path), "found": foreign[:10]},
            suggestion="train the case with this program; cases are shared between the two, policies are not",
        )
    raise ValidationError(
        f"{path} holds no {FILE_NAME}",
        kind="MissingFile",
        context={"path": str(path)},
        suggestion="name the policy folder that cobre.train or cobre run wrote",
    )

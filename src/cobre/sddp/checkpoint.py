"""Everything that the next iteration of training reads, in a file: a run continues from it to the bit."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.core.versions import version
from cobre.files import read_whole, write_atomically
from cobre.sddp.container import checked, checked_bases, checked_cuts, decode, pieces, understanding
from cobre.sddp.journal import SelectionRecord, TrainingLog
from cobre.sddp.result import IterationRecord
from cobre.sddp.statistics import CostStatistics

MAGIC = b"COBRECHK"
VERSION = 3
READABLE_VERSIONS = range(1, VERSION + 1)
"""Version 1 had neither its writer nor the distance of the last simulations, version 2 knew no nodes."""

Bases = NDArray[np.uint8]
Record = TypeVar("Record", IterationRecord, SelectionRecord)

LARGEST_NUMBER = 2**31
"""Of the whole numbers in a record, and of the ids of stages."""
LARGEST_FIGURE = 1e100
"""Of the other numbers in a record: squares of them can be added up."""


def this_program() -> dict[str, str]:
    """What the last bits of a number may depend on beside the study."""
    return {"cobre": version("pycobre"), "architecture": platform.machine()}


@dataclass(frozen=True, eq=False)
class PoolState:
    """The cuts of one stage or node with all that selection knows about them, in slot order."""

    rows: Floats
    active: NDArray[np.bool_]
    last_active: NDArray[np.int64]
    active_count: NDArray[np.int64]
    made_in: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrainingState:
    """Where training stands after whole iterations. Equal on every rank, whatever the number of ranks."""

    identity: dict[str, str]
    """Digests of what must not change: see `cobre.sddp.identity`."""
    records: list[IterationRecord]
    elapsed_s: float
    pools: list[PoolState]
    forward_bases: list[Bases]
    """By node: ``[trajectory, basis]`` of all trajectories; a single one where paths are enumerated."""
    bound_bases: Bases
    """``[opening, basis]`` of the first stage."""
    archives: dict[int, Floats] = field(default_factory=dict)
    """Visited states by pool, where selection needs them."""
    vertices: dict[int, Floats] = field(default_factory=dict)
    """Visited states by node, where the inner bound needs them."""
    simulated_by_stage: Floats | None = None
    """Costs by stage of the last simulation of the stopping rule."""
    simulated_cost: CostStatistics | None = None
    simulated_distance: float | None = None
    """Between its last two simulations, if the last iteration had one."""
    logs: list[TrainingLog] = field(default_factory=list)
    """Of each part of the run, from one start to its end."""
    writer: dict[str, str] = field(default_factory=this_program)
    """What wrote it; empty in version 1."""

    @property
    def iteration(self) -> int:
        """The last one that is finished."""
        return self.records[-1].iteration if self.records else 0

    def save(self, path: Path, *, is_compressed: bool = False) -> None:
        """Write the file: whole or not at all, on the disk when this returns."""
        facts, arrays = self._content()
        write_atomically(path, pieces(MAGIC, VERSION, facts, arrays, is_compressed=is_compressed))

    def _content(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays: dict[str, NDArray[Any]] = {"bound_bases": self.bound_bases}
        for stage, pool in enumerate(self.pools):
            arrays[f"{stage}/rows"] = pool.rows
            arrays[f"{stage}/active"] = pool.active.astype(np.uint8)
            arrays[f"{stage}/last_active"] = pool.last_active
            arrays[f"{stage}/active_count"] = pool.active_count
            arrays[f"{stage}/made_in"] = pool.made_in
        for node, bases in enumerate(self.forward_bases):
            arrays[f"{node}/forward_bases"] = bases
        for stage, states in self.archives.items():
            arrays[f"{stage}/visited"] = states
        for node, states in self.vertices.items():
            arrays[f"{node}/vertices"] = states
        if self.simulated_by_stage is not None:
            arrays["simulated_by_stage"] = self.simulated_by_stage
        for part, log in enumerate(self.logs):
            for name in ("counters", "rows", "times", "setups"):
                arrays[f"log{part}/{name}"] = getattr(log, name)
        facts = {
            "content": "checkpoint",
            "identity": self.identity,
            "iteration": self.iteration,
            "records": [asdict(record) for record in self.records],
            "elapsed_s": self.elapsed_s,
            "stages": len(self.pools),
            "nodes": len(self.forward_bases),
            "archived": sorted(self.archives),
            "vertices": sorted(self.vertices),
            "simulated_cost": None if self.simulated_cost is None else asdict(self.simulated_cost),
            "simulated_distance": self.simulated_distance,
            "writer": self.writer,
            "logs": [
                {
                    "stage_ids": log.stage_ids,
                    "most_rows": log.most_rows,
                    "selections": [asdict(each) for each in log.selections],
                }
                for log in self.logs
            ],
        }
        return facts, arrays

    @classmethod
    def load(cls, path: Path) -> Self:
        """What `save` wrote; `ValidationError` for anything else."""
        facts, arrays = decode(read_whole(path), MAGIC, READABLE_VERSIONS, path, content="checkpoint")
        with understanding(path, "checkpoint"):
            return cls._from_content(facts, arrays)

    @classmethod
    def _from_content(cls, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        cost = facts["simulated_cost"]
        n_stages, n_nodes = facts["stages"], facts.get("nodes", facts["stages"])
        _check_count(arrays, "made_in", n_stages)
        _check_count(arrays, "forward_bases", n_nodes)
        width = min(
            arrays[f"{stage}/rows"].shape[-1] for stage in range(n_stages)
        )  # cuts of outcomes are wider
        return cls(
            identity={str(part): str(value) for part, value in facts["identity"].items()},
            records=_records(facts["records"]),
            elapsed_s=float(facts["elapsed_s"]),
            pools=[_pool(arrays, stage) for stage in range(n_stages)],
            forward_bases=[
                checked_bases(arrays, f"{node}/forward_bases", None, None) for node in range(n_nodes)
            ],
            bound_bases=checked_bases(arrays, "bound_bases", None, None),
            archives=_states(arrays, "visited", facts["archived"], width - 1),
            vertices=_states(arrays, "vertices", facts.get("vertices", ()), width - 1),
            simulated_by_stage=arrays.get("simulated_by_stage"),
            simulated_cost=None if cost is None else CostStatistics(**cost),
            simulated_distance=facts.get("simulated_distance"),
            logs=[_log(arrays, part, entry) for part, entry in enumerate(facts["logs"])],
            writer={str(part): str(value) for part, value in facts.get("writer", {}).items()},
        )


def _check_count(arrays: Mapping[str, NDArray[Any]], name: str, n: int) -> None:
    found = sum(each.endswith(f"/{name}") for each in arrays)
    if found != n:
        raise ValueError(f"it should have {n} arrays {name} and has {found}")


def _records(entries: Sequence[Mapping[str, Any]]) -> list[IterationRecord]:
    records = [_typed(IterationRecord(**entry)) for entry in entries]
    if [record.iteration for record in records] != list(range(1, len(records) + 1)):
        raise ValueError("its iterations are not 1, 2, 3, …")
    return records


def _typed(record: Record) -> Record:
    """``record`` if its numbers are of the types that it declares; JSON may hold anything."""
    for field_ in fields(record):
        value, kind = getattr(record, field_.name), str(field_.type)
        if value is None and kind == "float | None":
            continue
        is_number = (isinstance(value, float) and abs(value) < LARGEST_FIGURE) or (
            isinstance(value, int) and abs(value) < LARGEST_NUMBER
        )
        is_right = type(value) is int if kind == "int" else isinstance(value, bool) == (kind == "bool")
        if not (is_number and is_right):
            raise ValueError(
                f"{field_.name} of iteration {record.iteration} is {value!r:.40}: {kind} is needed"
            )
    return record


def _states(
    arrays: Mapping[str, NDArray[Any]], name: str, places: Sequence[int], dimension: int
) -> dict[int, Floats]:
    return {int(place): checked(arrays, f"{place}/{name}", "float64", None, dimension) for place in places}


def _pool(arrays: Mapping[str, NDArray[Any]], stage: int) -> PoolState:
    rows = checked_cuts(arrays, f"{stage}/rows", None, None)
    n = len(rows)
    return PoolState(
        rows=rows,
        active=checked(arrays, f"{stage}/active", "uint8", n).astype(np.bool_),
        last_active=checked(arrays, f"{stage}/last_active", "int64", n),
        active_count=checked(arrays, f"{stage}/active_count", "int64", n),
        made_in=checked(arrays, f"{stage}/made_in", "int64", n),
    )


def _log(arrays: Mapping[str, NDArray[Any]], part: int, entry: Mapping[str, Any]) -> TrainingLog:
    stage_ids = [int(np.int32(number)) for number in entry["stage_ids"]]
    n, n_phases = arrays[f"log{part}/rows"].shape
    n_ranks = len(arrays[f"log{part}/times"])
    shapes: dict[str, tuple[int | None, ...]] = {
        "counters": (n, n_phases, len(stage_ids), None),
        "rows": (n, n_phases),
        "times": (n_ranks, n, n_phases, None),
        "setups": (n_ranks, n, n_phases),
    }
    return TrainingLog(
        stage_ids=stage_ids,
        most_rows=int(entry["most_rows"]),
        selections=[_typed(SelectionRecord(**each)) for each in entry["selections"]],
        **{name: checked(arrays, f"log{part}/{name}", "float64", *shape) for name, shape in shapes.items()},
    )

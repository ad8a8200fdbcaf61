"""Policies that the public Cobre 0.5 and 0.18 wrote, as `Policy`.

Both keep one FlatBuffers file per stage in the folder ``cuts``. Version 0.5 has a ``metadata.json`` beside it, costs in
thousands of dollars, and neither names nor dates. Version 0.18 has a ``manifest.bin``, costs in dollars, and tells for
every component of the state which plant it belongs to and for every stage the day on which it ends.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cobre.arrays import Floats
from cobre.files import read_whole
from cobre.sddp.container import unusable
from cobre.sddp.flatbuffer import Table, identifier
from cobre.sddp.stage_cuts import StageCuts

MANIFEST, METADATA, CUTS = "manifest.bin", "metadata.json", "cuts"
IDENTIFIER = b"CBVF"
FORMAT_VERSION = 3
OLD_VERSION = "0.5."
OLD_COST_UNIT = 1000.0
"""Dollars in the unit of version 0.5."""
NO_DATE = -(2**31)
FAMILIES = {0: "storage", 1: "inflow_lag", 2: "commitment", 3: "in_transit"}


@dataclass(frozen=True)
class CutFields:
    """Field ids of a cut."""

    intercept: int
    coefficients: int
    is_active: int


OLD_FIELDS, NEW_FIELDS = CutFields(5, 6, 8), CutFields(4, 5, 6)


@dataclass(frozen=True)
class PublicPolicy:
    """What such a folder holds: the arguments of a `Policy`."""

    stages: tuple[StageCuts, ...]
    state_dimension: int
    state_names: tuple[str, ...]
    """Empty for version 0.5."""
    calendar: tuple[tuple[int, str], ...]
    """Empty for version 0.5."""
    slots: tuple[dict[str, tuple[str, str]], ...] = ()
    """Empty for version 0.5."""


def beside(folder: Path) -> tuple[Path, Path]:
    """Where an interrupted write of the policy in ``folder`` may have left it."""
    return Path(f"{folder}.staging"), Path(f"{folder}.previous")


def find_public_policy(folder: Path) -> Path | None:
    """The folder that holds the policy: ``folder``, or one that an interrupted write has left beside it."""
    for place in (folder, *beside(folder)):
        if (place / MANIFEST).exists():
            return place
    is_old = (folder / METADATA).exists() and (folder / CUTS).is_dir()
    return folder if is_old else None


def read_public_policy(folder: Path) -> PublicPolicy:
    """The policy in ``folder``; `ValidationError` names what this program does not understand."""
    return _read_new(folder) if (folder / MANIFEST).exists() else _read_old(folder)


def _read_old(folder: Path) -> PublicPolicy:
    try:
        metadata = json.loads(read_whole(folder / METADATA))
        version = str(metadata["cobre_version"])
        dimension, n_stages = int(metadata["state_dimension"]), int(metadata["num_stages"])
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        _refuse(folder / METADATA, f"it is not the metadata of a policy of the public Cobre 0.5 ({error})")
    if not version.startswith(OLD_VERSION):
        _refuse(folder / METADATA, f"it was written by Cobre {version}; policies of 0.5 and 0.18 are read")
    by_stage: dict[int, StageCuts] = {}
    for path in sorted((folder / CUTS).glob("*.bin")):
        table = Table.root(read_whole(path), path)
        stage = int(table.number(0, "I", 0))
        if stage in by_stage or stage >= n_stages:
            _refuse(path, f"it is about stage {stage}, and the policy has {n_stages} stages, each once")
        by_stage[stage] = _cuts(table, path, OLD_FIELDS, dimension, OLD_COST_UNIT)
    if not by_stage:
        _refuse(folder / CUTS, "it has no file with cuts")
    missing = next(stage for stage in count() if stage not in by_stage)
    if missing < n_stages - 1:  # the last stage has no cuts and may have no file
        _refuse(folder / CUTS, f"it has no file of stage {missing}, and the policy has {n_stages} stages")
    stages = tuple(by_stage.get(stage, _no_cuts(dimension)) for stage in range(n_stages))
    return PublicPolicy(stages, dimension, (), ())


def _read_new(folder: Path) -> PublicPolicy:
    path = folder / MANIFEST
    manifest = _root(path)
    version = int(manifest.number(0, "I", 0))
    if version != FORMAT_VERSION:
        writer = f"{manifest.text(20) or 'Cobre'} {manifest.text(1) or ''}".strip()
        _refuse(path, f"it has format {version} (written by {writer}); format {FORMAT_VERSION} is read")
    pools = _chain(manifest, path)
    tables = {pool: _root(folder / CUTS / f"{pool:03d}.bin") for pool in sorted(set(pools))}
    first = tables[pools[0]]
    dimension = int(first.number(1, "I", 0))
    names = _names(first, folder / CUTS / f"{pools[0]:03d}.bin")
    stages, calendar = [], []
    for place, pool in enumerate(pools):
        file = folder / CUTS / f"{pool:03d}.bin"
        if _names(tables[pool], file) != names:
            _refuse(file, "its components of the state are not those of the first stage")
        stages.append(_cuts(tables[pool], file, NEW_FIELDS, dimension, 1.0))
        calendar.append((place, _date(int(tables[pool].number(11, "i", NO_DATE)), file)))
    slots = tuple(_slots(tables[pool], folder / CUTS / f"{pool:03d}.bin") for pool in pools)
    return PublicPolicy(tuple(stages), dimension, names, tuple(calendar), slots if any(slots) else ())


def _chain(manifest: Table, path: Path) -> list[int]:
    """The pool of each stage in order; only policies in which every stage has one node are understood."""
    nodes = [(int(node.number(1, "i", 0)), int(node.number(2, "I", 0))) for node in manifest.tables(5)]
    n_stages = int(manifest.number(3, "I", 0))
    if (
        len(nodes) != n_stages
        or [stage for stage, _ in sorted(nodes)] != list(range(len(nodes)))
        or not nodes
    ):
        _refuse(
            path,
            f"its policy graph has {len(nodes)} nodes in {n_stages} stages; only chains of stages are read",
        )
    return [pool for _, pool in sorted(nodes)]


def _names(table: Table, path: Path) -> tuple[str, ...]:
    return tuple(_name(slot, path) for slot in table.tables(7))


def _name(slot: Table, path: Path) -> str:
    code, plant, subindex = (
        int(slot.number(field, kind, 0)) for field, kind in ((0, "b"), (1, "i"), (2, "I"))
    )
    if code not in FAMILIES:
        _refuse(path, f"a component of the state is of the unknown kind {code}")
    match FAMILIES[code]:
        case "storage":
            return f"storage:{plant}"
        case "inflow_lag":
            return f"inflow_lag{subindex}:{plant}"
        case family:
            return f"{family}{subindex}:{plant}"


def _slots(table: Table, path: Path) -> dict[str, tuple[str, str]]:
    """The intervals of the components that have one."""
    found = {}
    for slot in table.tables(7):
        first, last = (_date(int(slot.number(field, "i", NO_DATE)), path) for field in (7, 8))
        if first and last:
            found[_name(slot, path)] = (first, last)
    return found


def _cuts(table: Table, path: Path, fields: CutFields, dimension: int, unit: float) -> StageCuts:
    """Cuts in slot order, in dollars; slots that were never filled are left out."""
    if (found := int(table.number(1, "I", 0))) != dimension:
        _refuse(path, f"its state has {found} components, that of the policy {dimension}")
    intercepts, active, rows = [], [], []
    for cut in table.tables(4):
        is_active = bool(cut.number(fields.is_active, "?", False))
        coefficients = cut.array(fields.coefficients, "float64")
        if not is_active and not len(coefficients):
            continue
        if len(coefficients) != dimension:
            _refuse(
                path, f"a cut has {len(coefficients)} coefficients for {dimension} components of the state"
            )
        intercepts.append(float(cut.number(fields.intercept, "d", 0.0)))
        active.append(is_active)
        rows.append(coefficients)
    values = np.array(intercepts, dtype=np.float64), _stacked(rows, dimension)
    if not all(np.isfinite(part).all() for part in values):
        _refuse(path, "a cut has numbers that are not finite")
    return StageCuts(unit * values[0], unit * values[1], np.array(active, dtype=np.bool_))


def _stacked(rows: Sequence[NDArray[Any]], dimension: int) -> Floats:
    return np.stack(rows) if rows else np.empty((0, dimension))


def _no_cuts(dimension: int) -> StageCuts:
    return StageCuts(np.empty(0), np.empty((0, dimension)), np.empty(0, dtype=np.bool_))


def _date(number: int, path: Path) -> str:
    """As in ISO 8601; empty if there is none."""
    if number == NO_DATE:
        return ""
    try:
        return dt.date(number // 10000, number // 100 % 100, number % 100).isoformat()
    except ValueError:
        _refuse(path, f"its priced_state_date is {number}, which is not a day")


def _root(path: Path) -> Table:
    data = read_whole(path)
    if identifier(data) != IDENTIFIER:
        _refuse(
            path,
            f"it does not have the identifier {IDENTIFIER.decode()} of policies of the public Cobre 0.18",
        )
    return Table.root(data, path)


def _refuse(path: Path, reason: str) -> NoReturn:
    remedy = "name a policy that the public Cobre 0.5 or 0.18 wrote for a chain of stages, or one of ours"
    raise unusable(path, f"cannot be used: {reason}", remedy)

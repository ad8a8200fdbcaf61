"""The file of a policy: what it holds, and in which versions it is read."""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre.errors import IOError, ValidationError
from cobre.files import read_whole
from cobre.sddp.container import (
    LARGEST_IN_CUT,
    checked,
    checked_bases,
    checked_cuts,
    decode,
    encode,
    understanding,
)
from cobre.sddp.stage_cuts import StageCuts

FILE_NAME = "policy.cobre"
MAGIC = b"COBREPOL"
VERSION = 5
READABLE_VERSIONS = range(1, VERSION + 1)
"""Version 1 had no start bases, 2 no calendar, identity and units, 3 no names of plants, 4 no nodes of a graph and no
intervals of water under way and of commitments."""
COMPONENT = re.compile(r"[a-z][a-z_]*\d*:-?\d+")
"""Name of a component of the state: a quantity and the id of its plant."""
UNITS = {"cost": "$", "inflow": "m3/s", "storage": "hm3"}


class PolicyContent(NamedTuple):
    """The fields of a `Policy`, in order."""

    stages: tuple[StageCuts, ...]
    state_dimension: int
    state_names: tuple[str, ...]
    calendar: tuple[tuple[int, str], ...]
    identity: Mapping[str, str]
    plants: Mapping[int, str]
    node_ids: tuple[int, ...]
    slots: tuple[Mapping[str, tuple[str, str]], ...]


def policy_bytes(stages: Sequence[StageCuts], facts: Mapping[str, Any]) -> bytes:
    """The bytes of a file with these cuts; ``facts`` are the other fields as plain data."""
    arrays: dict[str, NDArray[Any]] = {}
    for stage, cuts in enumerate(stages):
        arrays[f"{stage}/intercepts"] = cuts.intercepts
        arrays[f"{stage}/coefficients"] = cuts.coefficients
        arrays[f"{stage}/active"] = cuts.active.astype(np.uint8)
        arrays[f"{stage}/basis"] = cuts.basis
    arrays["floors"] = np.array([cuts.floor for cuts in stages])
    header = {"content": "policy", "stages": len(stages), **facts, "units": UNITS}
    return encode(MAGIC, VERSION, header, arrays)


def read_policy(path: Path) -> PolicyContent:
    """What the file in the folder ``path``, or that very file, holds; `ValidationError` for anything else."""
    file = _file_in(path)
    facts, arrays = decode(read_whole(file), MAGIC, READABLE_VERSIONS, file, content="policy")
    with understanding(file, "policy"):
        return _content(facts, arrays)


def _content(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> PolicyContent:
    if (units := facts.get("units", UNITS)) != UNITS:
        raise ValueError(f"its units are {units}, those of this program {UNITS}")
    n_stages = facts["stages"]
    return PolicyContent(
        tuple(_stage(arrays, stage, facts["state_dimension"]) for stage in range(n_stages)),
        facts["state_dimension"],
        _names(facts),
        tuple((_id(number), _date(date)) for number, date in _by_stage(facts, "calendar", n_stages)),
        {str(part): str(value) for part, value in facts.get("identity", {}).items()},
        {_id(number): str(name) for number, name in facts.get("plants", ())},
        tuple(map(_id, _by_stage(facts, "node_ids", n_stages))),
        tuple(
            {str(name): (_moment(first), _moment(last)) for name, (first, last) in of_stage.items()}
            for of_stage in _by_stage(facts, "slots", n_stages)
        ),
    )


def _by_stage(facts: Mapping[str, Any], name: str, n_stages: int) -> Sequence[Any]:
    """One entry per stage; none in a file without it."""
    found: Sequence[Any] = facts.get(name, ())
    if len(found) not in (0, n_stages):
        raise ValueError(f"it has {len(found)} entries of {name} for {n_stages} stages")
    return found


def _id(number: Any) -> int:
    return int(np.int32(operator.index(number)))


def _date(text: str) -> str:
    """Of a day; empty where the public Cobre had none."""
    return dt.date.fromisoformat(text).isoformat() if text else ""


def _moment(text: str) -> str:
    dt.datetime.fromisoformat(text)
    return text


def _names(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Of the components of the state; none in a policy that does not name them."""
    names = tuple(str(name) for name in facts["state_names"])
    if names and len(names) != facts["state_dimension"]:
        raise ValueError(f"it names {len(names)} of {facts['state_dimension']} components of the state")
    if unknown := [name for name in names if not COMPONENT.fullmatch(name)]:
        raise ValueError(f"{unknown[0]!r:.40} names no component of the state")
    return names


def _stage(arrays: Mapping[str, NDArray[Any]], stage: int, dimension: int) -> StageCuts:
    intercepts = checked_cuts(arrays, f"{stage}/intercepts", None)
    n = len(intercepts)
    basis = f"{stage}/basis"
    floor = float(checked(arrays, "floors", "float64", None)[stage])
    if not floor < LARGEST_IN_CUT:
        raise ValueError(f"the future after stage {stage} costs at least {floor}")
    return StageCuts(
        intercepts,
        checked_cuts(arrays, f"{stage}/coefficients", n, dimension),
        checked(arrays, f"{stage}/active", "uint8", n).astype(np.bool_),
        floor,
        checked_bases(arrays, basis, None) if basis in arrays else np.empty(0, dtype=np.uint8),
    )


def _file_in(path: Path) -> Path:
    if not path.exists():
        raise IOError(
            str(path),
            f"{path} does not exist",
            suggestion="train one first (cobre run), or name the folder of a trained policy",
        )
    if not path.is_dir():
        return path
    for file in (path / FILE_NAME, path / "policy" / FILE_NAME):  # also the output folder of a run
        if file.exists():
            return file
    foreign = sorted(found.name for found in path.rglob("*.bin"))
    if foreign:
        from cobre.sddp.public_policy import MANIFEST, METADATA

        raise ValidationError(
            f"{path} holds {foreign[0]} and neither {MANIFEST} nor {METADATA}: a policy of the public Cobre that is "
            "not complete",
            kind="ParseError",
            context={"path": str(path), "found": foreign[:10]},
            suggestion="copy the whole policy folder",
        )
    raise ValidationError(
        f"{path} holds no {FILE_NAME}",
        kind="MissingFile",
        context={"path": str(path)},
        suggestion="name the policy folder that cobre.train or cobre run wrote",
    )

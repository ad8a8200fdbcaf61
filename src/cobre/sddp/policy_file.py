"""The file of a policy: what it holds, and in which versions it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cobre.errors import IOError, ValidationError
from cobre.sddp.container import checked, decode, encode, understanding
from cobre.sddp.public_policy import MANIFEST, METADATA
from cobre.sddp.stage_cuts import StageCuts

FILE_NAME = "policy.cobre"
MAGIC = b"COBREPOL"
VERSION = 5
READABLE_VERSIONS = range(1, VERSION + 1)
"""Version 1 had no start bases, 2 no calendar, identity and units, 3 no names of plants, 4 no nodes of a graph and no
intervals of water under way and of commitments."""
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
    try:
        data = file.read_bytes()
    except OSError as error:
        raise IOError(str(file), f"cannot read {file}: {error.strerror or error}") from error
    facts, arrays = decode(data, MAGIC, READABLE_VERSIONS, file, content="policy")
    with understanding(file, "policy"):
        return _content(facts, arrays)


def _content(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> PolicyContent:
    if (units := facts.get("units", UNITS)) != UNITS:
        raise ValueError(f"its units are {units}, those of this program {UNITS}")
    return PolicyContent(
        tuple(_stage(arrays, stage, facts["state_dimension"]) for stage in range(facts["stages"])),
        facts["state_dimension"],
        _names(facts),
        tuple((int(number), str(date)) for number, date in facts.get("calendar", ())),
        {str(part): str(value) for part, value in facts.get("identity", {}).items()},
        {int(number): str(name) for number, name in facts.get("plants", ())},
        tuple(int(number) for number in facts.get("node_ids", ())),
        tuple(
            {str(name): (str(first), str(last)) for name, (first, last) in of_stage.items()}
            for of_stage in facts.get("slots", ())
        ),
    )


def _names(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Of the components of the state; none in a policy that does not name them."""
    names = tuple(str(name) for name in facts["state_names"])
    if names and len(names) != facts["state_dimension"]:
        raise ValueError(f"it names {len(names)} of {facts['state_dimension']} components of the state")
    return names


def _stage(arrays: Mapping[str, NDArray[Any]], stage: int, dimension: int) -> StageCuts:
    intercepts = checked(arrays, f"{stage}/intercepts", "float64", None)
    n = len(intercepts)
    basis = f"{stage}/basis"
    return StageCuts(
        intercepts,
        checked(arrays, f"{stage}/coefficients", "float64", n, dimension),
        checked(arrays, f"{stage}/active", "uint8", n).astype(np.bool_),
        float(checked(arrays, "floors", "float64", None)[stage]),
        checked(arrays, basis, "uint8", None) if basis in arrays else np.empty(0, dtype=np.uint8),
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

"""The parts of a training run that its numbers depend on: a checkpoint with other parts is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from cobre.core.case import Case, Conventions
from cobre.core.digest import digest
from cobre.core.versions import version
from cobre.errors import ValidationError

WORDS = {
    "system": "the plants, buses, lines or constraints (system/, constraints/generic_constraints.json)",
    "horizon": "the stages, blocks, discounts or risk measures (stages.json)",
    "tables": "limits, costs or loads (system/, constraints/, penalties.json)",
    "scenarios": "inflow models, correlation or given scenarios (scenarios/)",
    "initial": "the initial conditions (initial_conditions.json)",
    "inflow_non_negativity": "modeling.inflow_non_negativity",
    "forward_passes": "the number of forward passes (training.selection)",
    "tree_seed": "training.tree_seed",
    "scenario_source": "training.scenario_source",
    "cut_selection": "training.cut_selection",
    "upper_bound": "upper_bound_evaluation",
    "cut_formulation": "training.cut_formulation",
    "generation": "the generation of the case format, which gives limits another meaning,",
    "solver": "the version of the LP solver",
    "boundary": "the cuts of policy.boundary",
}
"""The name of each part for users."""
READABLE = (
    "inflow_non_negativity",
    "forward_passes",
    "tree_seed",
    "upper_bound",
    "cut_formulation",
    "generation",
    "solver",
)
"""Parts that are short enough to be shown; of the others only a digest is kept."""
DETAILED = ("system", "horizon", "tables", "scenarios", "initial")
"""Parts of which digests of their fields are kept as well."""
DETAIL_LETTERS = 16
MOST_DETAILS = 5
"""In a message, before it is cut short."""

NOTHING = "none"
"""In place of the digest of something that a study does not have."""
OLDER, NEWER = "0.5.1", "0.18"
BEFORE = {"boundary": NOTHING, "upper_bound": NOTHING, "cut_formulation": "single", "generation": OLDER}
"""What parts were in runs of programs that did not name them."""
PRICED = (
    "system",
    "horizon",
    "tables",
    "scenarios",
    "inflow_non_negativity",
    "tree_seed",
    "scenario_source",
    "generation",
    "boundary",
)
"""Parts of a study that its future costs depend on."""


def identity_of(case: Case, boundary: str | None = None) -> dict[str, str]:
    """Values or digests of everything that the numbers of training depend on; not limits, rules or workers.

    ``training.solver`` is a limit as well: retries are made in a fixed order, and fewer of them only end a run earlier.
    ``boundary`` is the digest of the cuts that follow the last stage. Keys with a dot (``tables.thermal.cost_per_mwh``,
    ``horizon.stages[3]``) are details of a part: they tell what in it differs.
    """
    training = case.config.training
    return {
        **_details(case),
        "system": digest(case.system),
        "horizon": digest(case.horizon),
        "tables": digest((case.tables, case.energy)),
        "scenarios": digest(case.scenarios),
        "initial": digest(case.initial),
        "inflow_non_negativity": case.config.inflow_non_negativity,
        "forward_passes": "enumerated" if training.is_enumerated else str(training.forward_passes),
        "tree_seed": str(training.tree_seed),
        "scenario_source": digest(training.scenario_source),
        "cut_selection": digest(training.cut_selection),
        "upper_bound": _values(training.upper_bound),
        "cut_formulation": "multi" if training.is_multi_cut else "single",
        "generation": OLDER if case.conventions == Conventions() else NEWER,
        "solver": f"highspy {version('highspy')}",
        "boundary": NOTHING if boundary is None else boundary,
    }


def _details(case: Case) -> dict[str, str]:
    """Of parts with many values: digests by field; of things with an id also by id."""
    found: dict[str, str] = {}
    for part in DETAILED:
        for name, value in _fields(getattr(case, part)):
            found |= {f"{part}.{key}": digest(each)[:DETAIL_LETTERS] for key, each in _parts_of(name, value)}
    return found


def _parts_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple) and value and all(hasattr(each, "id") for each in value):
        yield from ((f"{name}[{each.id}]", each) for each in value)
        for field, _ in _fields(value[0]):
            yield f"{name}.{field}", tuple(getattr(each, field, None) for each in value)
    elif inside := _fields(value):
        yield from ((f"{name}.{field}", each) for field, each in inside)
    else:
        yield name, value


def _fields(value: Any) -> list[tuple[str, Any]]:
    """Names and values of the fields of a dataclass; nothing for any other value."""
    if not is_dataclass(value) or isinstance(value, type):
        return []
    return [(field.name, getattr(value, field.name)) for field in fields(value) if field.compare]


def _inside(saved: Mapping[str, str], now: Mapping[str, str], part: str) -> list[str]:
    """Which details of a part differ, cut short; none that only one of the two programs knew."""
    known = [key for key in now if key.startswith(f"{part}.")]
    gone = sorted((key for key in saved if key.startswith(f"{part}.") and key not in now), key=_by_number)
    differ = [key for key in known if saved.get(key, now[key]) != now[key]]
    differ.sort(key=lambda key: "[" in key)  # fields are few
    families = {key.partition("[")[0] for key in known if "[" in key and key in saved}
    others = [
        key
        for key in (*known, *gone)
        if (key in now) != (key in saved) and "[" in key and key.partition("[")[0] in families
    ]
    unequal = {key.partition("[")[0] for key in others}  # there every field differs
    named = [key for key in (*others, *differ) if key in others or key.rpartition(".")[0] not in unequal]
    named = [key.removeprefix(f"{part}.") for key in named]
    return [
        *named[:MOST_DETAILS],
        *([f"{len(named) - MOST_DETAILS} more"] if len(named) > MOST_DETAILS else []),
    ]


def _by_number(key: str) -> tuple[str, int]:
    """To sort ``stages[10]`` behind ``stages[6]``: files keep their keys in the order of letters."""
    name, _, number = key.rstrip("]").partition("[")
    return name, int(number) if number.isdecimal() else -1


def _values(settings: Any) -> str:
    """Names and values of settings that are one line long."""
    return ", ".join(f"{name} {value}" for name, value in _fields(settings)) or NOTHING


def differences(
    saved: Mapping[str, str], now: Mapping[str, str], parts: Iterable[str], *, is_change: bool = True
) -> list[str]:
    """One text for each of ``parts`` that differs: its words, and what is different in it.

    Without ``is_change`` neither of the two is older than the other.
    """
    found = []
    values, differs = ("was {}, now {}", "changed") if is_change else ("{} and {}", "differ")
    for part in parts:
        before = saved.get(part, BEFORE.get(part))
        if before == now[part]:
            continue
        if part in READABLE:
            found.append(f"{WORDS[part]} {values.format(before, now[part])}")
            continue
        named = _inside(saved, now, part)
        found.append(f"{WORDS[part]} {differs}" + (f": {', '.join(named)}" if named else ""))
    return found


def check_identity(saved: Mapping[str, str], case: Case, boundary: str | None, path: Path) -> None:
    """Raise one error that names every difference between the run of a checkpoint and ``case``."""
    found = differences(saved, identity_of(case, boundary), WORDS)
    if found:
        raise ValidationError(
            f"{path} belongs to another study: " + "; ".join(found),
            kind="IncompatibleSettings",
            context={"path": str(path), "differences": found},
            suggestion="undo the change, or start from the policy instead: policy.mode warm_start (a run that was "
            "killed has one after it was continued to its end or to a Ctrl-C)",
        )

"""Tools about trained policies: their cuts, and what water is worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from cobre.errors import CobreError
from cobre.mcp.service import Service
from cobre.mcp.texts import clean, fitting, name
from cobre.mcp.tools.base import Answer, Arguments, Definition

if TYPE_CHECKING:
    from cobre.sddp.policy import Policy

__all__ = ["POLICY_TOOLS", "check_policy", "load_policy", "policy_facts"]

N_SAMPLE = 10
MOST_INTERCEPTS = 200
COEFFICIENT_BYTES = 50
POLICY_DIR = Field(
    description="Folder of a policy, of results, or of a case that was run.", min_length=1, max_length=4096
)


class InspectArguments(Arguments):
    """Which policy, and which of its stages."""

    policy_dir: str = POLICY_DIR
    stage: int | None = Field(default=None, ge=0, description="Counted from 0; the last one has no cuts.")


class Cut(Answer):
    """One cut: future cost >= intercept + coefficients · state."""

    slot: int
    active: bool
    intercept: float
    coefficients: dict[str, float] = Field(
        description="Those that are not 0; the largest, if there are many."
    )


class StageCutsFacts(Answer):
    """The cuts of a stage."""

    stage: int
    stage_id: int | None
    cuts: int
    active_cuts: int
    intercept_min: float | None
    intercept_max: float | None
    intercepts: list[float] = Field(
        description=f"Of the newest cuts, the newest first, at most {MOST_INTERCEPTS}."
    )
    floor: float
    coefficients_sample: list[Cut] = Field(description=f"The newest, at most {N_SAMPLE}.")
    coefficients_truncated: bool = Field(description="Whether cuts or coefficients were left out.")


class PolicyFacts(Answer):
    """The size of a policy."""

    stages: int
    state_dimension: int
    state_names: list[str]
    state_names_truncated: bool
    plants: dict[str, str] = Field(description="Names by id.")
    total_cuts: int
    active_cuts: int
    cuts_per_stage: list[int]
    stage: StageCutsFacts | None = None


def check_policy(service: Service, path: Path, what: str) -> None:
    """Raise if a policy that is read from ``path`` would come from outside; ``what`` is the field that names it."""
    from cobre.sddp.policy_file import FILE_NAME
    from cobre.sddp.public_policy import MANIFEST, beside

    service.roots.check_readable(path, what)
    if not any((path / name).is_file() for name in (FILE_NAME, MANIFEST)):
        for place in beside(path):
            service.roots.check_readable(place, what)


def load_policy(service: Service, text: str) -> tuple[Path, Policy]:
    """The folder that is meant, and its policy."""
    from cobre.sddp.policy import Policy
    from cobre.sddp.policy_file import FILE_NAME

    folder = service.roots.folder(text)
    places = (folder, folder / "policy", folder / "output" / "policy")
    found = next((place for place in places if (place / FILE_NAME).is_file()), folder)
    check_policy(service, found, "policy_dir")
    return found, Policy.load(found)


def _check_stage(policy: Policy, stage: int) -> None:
    if not 0 <= stage < policy.n_stages:
        raise CobreError(
            f"there is no stage {stage}",
            kind="OutOfRange",
            context={"stage": stage, "stages": policy.n_stages},
            suggestion=f"stages are counted from 0 to {policy.n_stages - 1}",
        )


def policy_facts(service: Service, text: str, stage: int | None = None) -> PolicyFacts:
    """What a policy is made of."""
    _, policy = load_policy(service, text)
    counts, max_bytes = policy.summary(), service.settings.max_bytes
    names = fitting(list(policy.component_names), max_bytes // 8)
    plants = [(str(each), name(plant)) for each, plant in policy.plants.items()]
    return PolicyFacts(
        stages=counts["stages"],
        state_dimension=counts["state_dimension"],
        state_names=names,
        state_names_truncated=len(names) < policy.state_dimension,
        plants=dict(fitting(plants, max_bytes // 8)),
        total_cuts=counts["total_cuts"],
        active_cuts=counts["active_cuts"],
        cuts_per_stage=counts["cuts_per_stage"],
        stage=None if stage is None else _stage_facts(service, policy, stage),
    )


def _stage_facts(service: Service, policy: Policy, stage: int) -> StageCutsFacts:
    _check_stage(policy, stage)
    cuts = policy.stages[stage]
    n = len(cuts.intercepts)
    room = max(1, service.settings.max_bytes // (3 * COEFFICIENT_BYTES))
    of_each = max(1, min(room, policy.state_dimension))
    shown = range(n - 1, max(-1, n - 1 - min(N_SAMPLE, room // of_each)), -1)
    sample = [
        Cut(
            slot=slot,
            active=bool(cuts.active[slot]),
            intercept=float(cuts.intercepts[slot]),
            coefficients=_largest(policy.component_names, cuts.coefficients[slot].tolist(), of_each),
        )
        for slot in shown
    ]
    return StageCutsFacts(
        stage=stage,
        stage_id=policy.calendar[stage][0] if policy.calendar else None,
        cuts=n,
        active_cuts=int(cuts.active.sum()),
        intercept_min=float(cuts.intercepts.min()) if n else None,
        intercept_max=float(cuts.intercepts.max()) if n else None,
        floor=cuts.floor,
        intercepts=cuts.intercepts[::-1][: min(MOST_INTERCEPTS, room // 2)].tolist(),
        coefficients_sample=sample,
        coefficients_truncated=n > len(sample) or of_each < policy.state_dimension,
    )


def _largest(names: Sequence[str], values: list[float], most: int) -> dict[str, float]:
    """At most so many coefficients that are not 0, in the order of the state."""
    places = [place for place, value in enumerate(values) if value]
    kept = sorted(sorted(places, key=lambda place: -abs(values[place]))[:most])
    return {names[place]: values[place] for place in kept}


def inspect_policy(service: Service, arguments: InspectArguments) -> PolicyFacts:
    """What a policy is made of."""
    return policy_facts(service, arguments.policy_dir, arguments.stage)


class State(Arguments):
    """Where a stage ends. A hydro that is not given counts with 0, so give all of them."""

    storage_hm3: dict[str, float] = Field(
        default_factory=dict,
        description="By hydro id (cobre_inspect_policy has them): its storage.",
        max_length=10_000,
    )
    inflow_m3s: dict[str, float] = Field(
        default_factory=dict,
        description="By hydro id one number: its inflow, which counts for every past period that the policy knows.",
        max_length=10_000,
    )


class EvaluateArguments(Arguments):
    """Which policy, stage and states."""

    policy_dir: str = POLICY_DIR
    stage: int = Field(ge=0, description="Counted from 0: the stage that ends in the state.")
    states: list[State] = Field(
        min_length=1,
        max_length=50,
        description="Storages and inflows; the answer has a value for each state.",
    )


class Value(Answer):
    """The future at one state."""

    future_cost: float = Field(description="Expected cost of all later stages, in money of the next stage.")
    water_values: dict[str, float] = Field(description="By hydro id: what one more hm3 saves, $/hm3.")


class Values(Answer):
    """The future at the states, in their order."""

    stage: int
    stage_id: int | None
    values: list[Value]


def evaluate_policy(service: Service, arguments: EvaluateArguments) -> Values:
    """Future cost and water values."""
    from cobre.study.queries.value_functions import state_of

    _, policy = load_policy(service, arguments.policy_dir)
    _check_stage(policy, arguments.stage)
    if policy.state_dimension and not policy.state_names:
        raise CobreError(
            "this policy does not say which part of its state belongs to which plant",
            suggestion="evaluate a policy that this program trained",
        )
    known = {each.partition(":")[2] for each in policy.state_names}
    found = []
    for state in arguments.states:
        unknown = [each for each in (*state.storage_hm3, *state.inflow_m3s) if each not in known]
        if unknown:
            raise CobreError(
                f"the policy knows no hydro {name(unknown[0])}",
                kind="MissingReference",
                suggestion=f"its hydros are {', '.join(sorted(known, key=_number)[:50]) or 'none'}",
            )
        point = state_of(policy, _by_id(state.storage_hm3), _by_id(state.inflow_m3s))
        worth = policy.water_values(arguments.stage, point)
        found.append(
            Value(
                future_cost=policy.evaluate(arguments.stage, point),
                water_values={str(each): value for each, value in worth.items()},
            )
        )
    stage_id = policy.calendar[arguments.stage][0] if policy.calendar else None
    return Values(stage=arguments.stage, stage_id=stage_id, values=found)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else -1


def _by_id(given: dict[str, float]) -> dict[int, float]:
    from math import isfinite

    if not all(isfinite(value) for value in given.values()):
        raise CobreError("a state has finite numbers only", kind="OutOfRange", suggestion="correct the state")
    return {int(key): value for key, value in given.items()}


class ComparePoliciesArguments(Arguments):
    """Which policies."""

    policy_dirs: list[str] = Field(
        min_length=2, max_length=10, description="The first is what others are compared to."
    )
    metrics: list[str] | None = Field(
        default=None, max_length=4, description="Of lb, ub, pct and cut_count; default: all."
    )


class PolicyRow(Answer):
    """One of the policies."""

    policy: str
    stages: int
    state_dimension: int
    total_cuts: int
    active_cuts: int
    final_lower_bound: float | None
    final_upper_bound: float | None
    compatible_with_first: bool
    cuts_shared_with_first: int | None = Field(
        description="Different cuts that both have; total_cuts counts a cut that was found twice as two."
    )
    same_study_as_first: bool


class PolicyDelta(Answer):
    """What a policy has more than the first."""

    policy: str
    lb: float | None = None
    ub: float | None = None
    pct: float | None = Field(default=None, description="Of the lower bound.")
    cut_count: int | None = None


class PolicyComparison(Answer):
    """Policies side by side."""

    policies: list[PolicyRow]
    compatible: bool
    deltas: list[PolicyDelta]


METRICS = ("lb", "ub", "pct", "cut_count")


def compare(service: Service, arguments: ComparePoliciesArguments) -> PolicyComparison:
    """Policies side by side."""
    from cobre.study.queries.comparison import compare_policies, difference

    wanted = METRICS if arguments.metrics is None else tuple(arguments.metrics)
    unknown = [each for each in wanted if each not in METRICS]
    if unknown:
        raise CobreError(
            f"there is no metric {name(unknown[0])}",
            kind="InvalidEnum",
            suggestion=f"use {', '.join(METRICS)}",
        )
    loaded = [load_policy(service, each) for each in arguments.policy_dirs]
    found = compare_policies([(service.roots.shown(folder), policy) for folder, policy in loaded])
    bounds = [_bounds(folder) for folder, _ in loaded]
    rows = [
        PolicyRow(**row, **clean(bound, service.roots))
        for row, bound in zip(found["policies"], bounds, strict=True)
    ]
    deltas = []
    for row in rows[1:]:
        lower = difference(rows[0].final_lower_bound, row.final_lower_bound)
        values: dict[str, Any] = {
            "lb": lower["delta"],
            "ub": difference(rows[0].final_upper_bound, row.final_upper_bound)["delta"],
            "pct": lower["delta_pct"],
            "cut_count": row.total_cuts - rows[0].total_cuts,
        }
        deltas.append(PolicyDelta(policy=row.policy, **{each: values[each] for each in wanted}))
    return PolicyComparison(policies=rows, compatible=found["compatible"], deltas=deltas)


def _bounds(folder: Path) -> dict[str, Any]:
    """Of the training that wrote the policy, if it is beside it."""
    from cobre.study.results import read_results

    try:
        metadata = read_results(folder.parent).metadata
    except CobreError:
        metadata = {}
    return {key: metadata.get(key) for key in ("final_lower_bound", "final_upper_bound")}


POLICY_TOOLS = (
    Definition(
        "cobre_inspect_policy",
        "Look into a policy",
        "Stages, state and number of cuts of a policy; with `stage` also a sample of its cuts.",
        InspectArguments,
        PolicyFacts,
        inspect_policy,
    ),
    Definition(
        "cobre_evaluate_policy",
        "What the policy believes",
        "Expected future cost and water values of a policy when a stage ends with given storages and inflows.",
        EvaluateArguments,
        Values,
        evaluate_policy,
    ),
    Definition(
        "cobre_compare_policies",
        "Compare policies",
        "Sizes, bounds and shared cuts of two or more policies.",
        ComparePoliciesArguments,
        PolicyComparison,
        compare,
    ),
)

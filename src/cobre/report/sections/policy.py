"""What the policy believes the future costs, along one reservoir at a time."""

from __future__ import annotations

import numpy as np

from cobre import draw
from cobre.arrays import Floats
from cobre.draw.charts import OTHER, lines_figure
from cobre.sddp.policy import Policy
from cobre.study.queries.runs import RunData
from cobre.study.queries.value_functions import slice_along, state_of

MOST_RESERVOIRS = 3


def slices(run: RunData, other: RunData | None) -> str:
    """Slices of the value function and the water values along them."""
    found = run.policy
    if found is None or not found.state_names or not run.bounds:
        return ""
    parts = []
    for stage in _stages(found.n_stages):
        state, where = _state(run, found, stage)
        for component in _components(run, found, stage):
            parts.append(_slice(run, other, found, stage, component, state, where))
    return "".join(parts)


def _stages(n: int) -> list[int]:
    """The first, one in the middle and the last with a future."""
    return sorted({0, (n - 1) // 2, max(0, n - 2)}) if n > 1 else []


def _components(run: RunData, policy: Policy, stage: int) -> list[int]:
    """Of the widest reservoirs."""
    spans = []
    for component, name in enumerate(policy.state_names):
        low, high = _range(run, name, stage)
        if high > low:
            spans.append((low - high, component))
    return [component for _, component in sorted(spans)[:MOST_RESERVOIRS]]


def _range(run: RunData, name: str, stage: int) -> tuple[float, float]:
    """Lowest and highest storage at the end of a stage; nothing for other components."""
    part, _, entity = name.partition(":")
    if part != "storage":
        return 0.0, 0.0
    ends = [run.bounds.get(("hydro", int(entity), limit)) for limit in ("storage_min", "storage_max")]
    return (
        float(ends[0][stage]) if ends[0] is not None else 0.0,
        float(ends[1][stage]) if ends[1] is not None else 0.0,
    )


def _state(run: RunData, policy: Policy, stage: int) -> tuple[Floats, str]:
    """The state in which everything else is fixed, and what it is."""
    hydros = run.entities.get("hydro")
    if hydros is not None and stage < len(hydros.fans["storage_final_hm3"].mean):
        storage = dict(
            zip(hydros.entities, hydros.fans["storage_final_hm3"].mean[stage].tolist(), strict=True)
        )
        inflow = dict(
            zip(hydros.entities, hydros.fans["incremental_inflow_m3s"].mean[stage].tolist(), strict=True)
        )
        return state_of(policy, storage, inflow), "all else at its simulated mean at the end of the stage"
    middle = {
        int(name.partition(":")[2]): sum(_range(run, name, stage)) / 2
        for name in policy.state_names
        if name.startswith("storage:")
    }
    return state_of(policy, middle, {}), "all other reservoirs half full, past inflows 0"


def _slice(
    run: RunData,
    other: RunData | None,
    policy: Policy,
    stage: int,
    component: int,
    state: Floats,
    where: str,
) -> str:
    name = policy.state_names[component]
    low, high = _range(run, name, stage)
    found = slice_along(policy, stage, state, component, low, high)
    plant = policy.plants.get(int(name.partition(":")[2]), name)
    shown = draw.visible(plant, 60)
    label = run.stage_labels[stage] if stage < len(run.stage_labels) else str(stage)
    lines = [draw.Line("future cost", found.future_cost.tolist(), 0)]
    values_of_water = [draw.Line("water value", found.water_value.tolist(), 2)]
    theirs = None if other is None else other.policy
    if theirs is not None and theirs.state_names == policy.state_names and stage < theirs.n_stages:
        beside = slice_along(theirs, stage, state, component, low, high)
        lines.append(draw.Line(f"{OTHER}: future cost", beside.future_cost.tolist(), 1))
        values_of_water.append(draw.Line(f"{OTHER}: water value", beside.water_value.tolist(), 1))
    floor = float(found.future_cost.min()) - 0.25 * float(np.ptp(found.future_cost))
    for number, cut in enumerate(found.cuts):
        shown_part = np.where(cut >= floor, cut, np.nan)
        lines.append(
            draw.Line(
                "cuts that it touches" if number == 0 else f"cut {number + 1}",
                shown_part.tolist(),
                6,
                is_thin=True,
                in_legend=number == 0,
            )
        )
    places = draw.Places.numbers(found.points.tolist(), f"storage of {draw.visible(plant, 30)} in hm3")
    sentence = (
        f"Future cost after stage {label} by the storage of {shown}, {where}; thin lines are cuts that it touches. "
        f"Water is worth {draw.number(float(found.water_value[0]))} $/hm3 at the lowest storage and "
        f"{draw.number(float(found.water_value[-1]))} at the highest."
    )
    future = lines_figure(
        f"Future cost after {label} along {shown}", sentence, places, found.points.tolist(), lines, "$"
    )
    values = lines_figure(
        f"Water value after {label} along {shown}",
        "Slope of the future cost: what one more hm3 saves later.",
        places,
        found.points.tolist(),
        values_of_water,
        "$/hm3",
        includes_zero=True,
    )
    return future + values

"""A map of a study: rivers with their plants, buses with their lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cobre import draw
from cobre.core.representation import counted

if TYPE_CHECKING:
    from cobre.core.case import Case
    from cobre.core.entities import System


def case_html(case: Case) -> str:
    """Size, horizon and map of a study, for a notebook."""
    stages = case.horizon.stages
    cards = [
        ("Stages", f"{len(stages)}: {stages[0].start_date} to {stages[-1].end_date}"),
        ("System", case.system.described()),
    ]
    heading = f"<h3>{draw.name(case.name, 120)}</h3>"
    return draw.fragment(f"{heading}{draw.card_row(cards)}{system_map(case.system)}")


def system_map(system: System) -> str:
    """Cascades and network, each with its table."""
    return (_rivers(system) if system.hydros else "") + _network(system)


def _rivers(system: System) -> str:
    hydros, buses = system.hydros, system.buses
    names = [hydro.name for hydro in hydros]
    below = ["the sea" if hydro.downstream is None else names[hydro.downstream] for hydro in hydros]
    at = [buses[hydro.bus].name for hydro in hydros]
    notes = [
        f"{draw.visible(name, 60)}: flows to {draw.visible(target, 60)}, feeds {draw.visible(bus, 60)}"
        for name, target, bus in zip(names, below, at, strict=True)
    ]
    ends = sum(hydro.downstream is None for hydro in hydros)
    sentence = f"{counted(len(hydros), 'hydro')} in {counted(ends, 'cascade')}; water flows to the right."
    picture = draw.tree_map(
        names, [hydro.downstream for hydro in hydros], title="Cascades", description=sentence, notes=notes
    )
    table = draw.Table(
        ["hydro", "id", "flows to", "feeds bus"], [names, [hydro.id for hydro in hydros], below, at]
    )
    return draw.figure("Cascades", sentence, picture, [], table)


def _network(system: System) -> str:
    buses = system.buses
    kinds: dict[str, Sequence[Any]] = {
        "hydro": system.hydros,
        "thermal": system.thermals,
        "non-controllable source": system.non_controllables,
        "contract": system.contracts,
    }
    counts = {kind: [0] * len(buses) for kind in kinds}
    for kind, entities in kinds.items():
        for entity in entities:
            counts[kind][entity.bus] += 1
    short = {"non-controllable source": "source"}  # in the drawing; the table has the whole word
    notes = [
        ", ".join(counted(found[k], short.get(kind, kind)) for kind, found in counts.items() if found[k])
        or "no plant"
        for k in range(len(buses))
    ]
    lines = [(line.source_bus, line.target_bus, line.name) for line in system.lines]
    sentence = f"{counted(len(buses), 'bus')} and {counted(len(lines), 'line')}."
    picture = draw.ring_map(
        [bus.name for bus in buses], lines, title="Network", description=sentence, notes=notes
    )
    connected = [
        ", ".join(
            draw.visible(line.name, 60) for line in system.lines if k in (line.source_bus, line.target_bus)
        )
        for k in range(len(buses))
    ]
    table = draw.Table(
        ["bus", "id", *(f"{kind}s" for kind in kinds), "lines"],
        [[bus.name for bus in buses], [bus.id for bus in buses], *counts.values(), connected],
    )
    return draw.figure("Network", sentence, picture, [], table)

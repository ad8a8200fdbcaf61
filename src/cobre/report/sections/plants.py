"""One page for each plant and line, unpacked when a reader opens it."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass

import numpy as np

from cobre import draw
from cobre.draw.charts import FEW_SHARES, fan_figure
from cobre.report.sections.water import hydro_figure
from cobre.study.queries.runs import EntityFans, RunData

TITLES = {
    column: (title, unit)
    for column, unit, title in (
        line.split(maxsplit=2)
        for line in """\
storage_final_hm3       hm3   Storage at the end of the stage
incremental_inflow_m3s  m3/s  Natural inflow
turbined_m3s            m3/s  Turbined flow
spillage_m3s            m3/s  Spilled flow
generation_mw           MW    Generation
water_value_per_hm3     $/hm3 Value of water
generation_cost         $     Cost of generation
curtailment_mw          MW    Curtailment
net_flow_mw             MW    Net flow
power_mw                MW    Power
total_cost              $     Cost
pumped_flow_m3s         m3/s  Pumped flow
power_consumption_mw    MW    Power taken
""".splitlines()
    )
}
"""Title and unit of the chart of a column."""
KINDS = {
    "hydro": "Hydro plants",
    "thermal": "Thermal plants",
    "non_controllable": "Non-controllable sources",
    "line": "Lines",
    "contract": "Contracts",
    "pumping_station": "Pumping stations",
}
MOST_BYTES = 2_250_000
"""Of all packed pages; beyond, the smallest plants are left out."""


@dataclass(frozen=True)
class PlantPage:
    """The charts of one plant: HTML, packed and written in letters."""

    kind: str
    entity: int
    name: str
    packed: str


def plants(run: RunData, other: RunData | None) -> str:
    """A picker, and the packed pages of all plants."""
    if not run.entities:
        return ""
    pages: list[PlantPage] = []
    left_out = 0
    size = 0
    for kind, place in _by_importance(run):
        if size >= MOST_BYTES:
            left_out += 1
            continue
        page = _page(run, other, kind, place)
        size += len(page.packed)
        pages.append(page)
    note = (
        f"<p>{left_out} of the smallest plants are left out of this page to keep it small; the tables of the "
        f"simulation have them.</p>"
        if left_out
        else ""
    )
    return f"{_picker(pages)}{note}{''.join(_template(page) for page in pages)}"


def _by_importance(run: RunData) -> list[tuple[str, int]]:
    """The plants of every kind by their mean, the largest first; all kinds have the same share of the first ones."""
    found = []
    for number, kind in enumerate(KINDS):
        entities = run.entities.get(kind)
        n = 0 if entities is None else len(entities.entities)
        sizes = [0.0 if entities is None else _size(kind, entities, place) for place in range(n)]
        order = sorted(range(n), key=lambda place: (-sizes[place], place))
        found += [(rank / n, number, kind, place) for rank, place in enumerate(order)]
    return [(kind, place) for *_, kind, place in sorted(found)]


def _size(kind: str, entities: EntityFans, place: int) -> float:
    column = "generation_mw" if kind == "hydro" else next(iter(entities.fans))
    mean = np.abs(entities.fans[column].mean[:, place])
    return float(np.nan_to_num(mean).mean())


def _page(run: RunData, other: RunData | None, kind: str, place: int) -> PlantPage:
    entities = run.entities[kind]
    entity = entities.entities[place]
    beside = None if other is None else other.entities.get(kind)
    parts = []
    for column, fans in entities.fans.items():
        title, unit = TITLES[column]
        if column == "storage_final_hm3":
            parts.append(
                hydro_figure(run, other, place, column, "Storage of", unit, shares=FEW_SHARES, is_late=True)
            )
            continue
        fan = fans.of(place)
        if not np.isfinite(fan.mean).any():
            continue
        theirs = None
        if beside is not None and entity in beside.entities:
            theirs = beside.fans[column].of(beside.entities.index(entity))
        parts.append(fan_figure(title, unit, run.stage_labels, fan, theirs, shares=FEW_SHARES, is_late=True))
    name = entities.names[place]
    heading = f'<h3 class="plant">{draw.name(name, 120)}</h3>'
    packed = base64.b64encode(zlib.compress(f"{heading}{''.join(parts)}".encode(), 9)).decode()
    return PlantPage(kind, entity, name, packed)


def _picker(pages: list[PlantPage]) -> str:
    options = []
    for kind, title in KINDS.items():
        chosen = [page for page in pages if page.kind == kind]
        entries = "".join(
            f'<option value="{page.kind}-{page.entity}">{draw.escape(draw.visible(page.name, 60))}</option>'
            for page in sorted(chosen, key=lambda page: (page.name.casefold(), page.entity))
        )
        if entries:
            options.append(f'<optgroup label="{title}">{entries}</optgroup>')
    return (
        "<noscript><p>The pages of plants need scripts; the tables of the simulation have their numbers.</p></noscript>"
        '<p class="picker"><label for="plant-search">Search</label> <input id="plant-search" type="search" '
        'autocomplete="off"> <label for="plant">Plant</label> '
        f'<select id="plant"><option value="">choose one</option>{"".join(options)}</select></p>'
        '<div id="plant-view" role="region" aria-label="Chosen plant" aria-live="polite"></div>'
    )


def _template(page: PlantPage) -> str:
    return f'<script type="text/plain" class="packed" data-plant="{page.kind}-{page.entity}">{page.packed}</script>'

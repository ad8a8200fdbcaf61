"""Pictures of numbers as SVG and HTML text, for pages, notebooks and documents. Independent of power systems.

Nothing here depends on a random number, a clock or another package: equal numbers give equal text.
"""

from __future__ import annotations

from cobre.draw.bars import Layer, bar_chart
from cobre.draw.figure import Legend, card_row, figure, folded_table, plain_table
from cobre.draw.figures import number, short_number
from cobre.draw.heat import heat_map
from cobre.draw.lines import Band, Line, line_chart
from cobre.draw.maps import ring_map, tree_map
from cobre.draw.places import Places
from cobre.draw.style import STYLE, fragment
from cobre.draw.table import Cell, Table
from cobre.draw.text import cut, escape, name, visible

__all__ = [
    "STYLE",
    "Band",
    "Cell",
    "Layer",
    "Legend",
    "Line",
    "Places",
    "Table",
    "bar_chart",
    "card_row",
    "cut",
    "escape",
    "figure",
    "folded_table",
    "fragment",
    "heat_map",
    "line_chart",
    "name",
    "number",
    "plain_table",
    "ring_map",
    "short_number",
    "tree_map",
    "visible",
]

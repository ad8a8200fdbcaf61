"""Diagrams of connections: trees, and points on a ring."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cobre.draw.figures import pixels
from cobre.draw.svg import Area, document, empty_document, text
from cobre.draw.text import escape, fitted, visible

ROW = 26.0
LABEL = 22.0
"""Widths of a small letter that a name has room for beside a node."""
BOX = 26.0
"""The same in a box on a ring."""
NOTE = 38
"""Characters below a name on a ring: what its box has room for."""
BOX_WIDTH = 190.0
WIDE_STEP, STEP, MOST_WIDE_ROWS = 66.0, 44.0, 6
"""Pixels between two rows of boxes on a ring, and up to how many rows they are wide."""


def tree_map(
    names: Sequence[str], parents: Sequence[int | None], *, title: str, description: str, notes: Sequence[str]
) -> str:
    """An SVG of trees that grow to the left: every node left of its parent; ``notes`` appear with the pointer."""
    if not names:
        return empty_document(Area(height=60.0), title)
    depths, rows = _places(parents)
    deepest, n_rows = max(depths), max(rows) + 1
    area = Area(width=max(640.0, 150.0 * (deepest + 1)), height=ROW * n_rows + 20.0)
    step = (area.width - 170.0) / max(1, deepest)
    x = [area.width - 160.0 - step * depth for depth in depths]
    y = [ROW * row + 22.0 for row in rows]
    parts = []
    for k, parent in enumerate(parents):
        if parent is not None:
            middle = pixels((x[k] + x[parent]) / 2)
            start, end = f"{pixels(x[k])} {pixels(y[k])}", f"{pixels(x[parent])} {pixels(y[parent])}"
            curve = f"M{start}C{middle} {pixels(y[k])} {middle} {pixels(y[parent])} {end}"
            parts.append(f'<path class="link" d="{curve}"/>')
    for k, name in enumerate(names):
        shape = f"M{pixels(x[k] - 6)} {pixels(y[k] + 5)}h12l-6 -11Z"
        label = text(x[k] + 9, y[k] - 3, fitted(name, LABEL))
        parts.append(
            f'<g><title>{escape(visible(notes[k]))}</title><path class="node f0" d="{shape}"/>{label}</g>'
        )
    return document(area, title, description, parts)


def _places(parents: Sequence[int | None]) -> tuple[list[int], list[float]]:
    """Steps to the root of every node, and its row: a leaf has one of its own, others lie amid their children."""
    children: list[list[int]] = [[] for _ in parents]
    for k, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(k)
    depths, rows, next_row = [0] * len(parents), [0.0] * len(parents), 0.0
    for root in (k for k, parent in enumerate(parents) if parent is None):
        order = [root]
        for k in order:  # grows meanwhile
            for child in children[k]:
                depths[child] = depths[k] + 1
            order += children[k]
        stack, finished = [root], set()
        while stack:
            k = stack[-1]
            if children[k] and k not in finished:
                finished.add(k)
                stack += reversed(children[k])
                continue
            stack.pop()
            if children[k]:
                rows[k] = (rows[children[k][0]] + rows[children[k][-1]]) / 2
            else:
                rows[k], next_row = next_row, next_row + 1.0
    return depths, rows


def ring_map(
    names: Sequence[str],
    links: Sequence[tuple[int, int, str]],
    *,
    title: str,
    description: str,
    notes: Sequence[str],
) -> str:
    """An SVG of points on a ring with straight links between them; ``notes`` stand below the names."""
    n = len(names)
    last = (
        n // 2
    )  # row at the bottom; the first point is alone in row 0, each other row has two of them at most
    step = WIDE_STEP if last <= MOST_WIDE_ROWS else STEP
    area = Area(height=max(140.0, 88.0 + step * last))
    if not n:
        return empty_document(area, title)
    x, y = [], []
    for k in range(n):
        row, side = min(k, n - k), (0 < k < n - k) - (k > n - k)
        share = 2.0 * row / last - 1.0 if last else 0.0
        bulge = (area.width / 2 - BOX_WIDTH / 2 - 2.0) * math.sqrt(1.0 - share * share)
        x.append(area.width / 2 + side * max(BOX_WIDTH / 2 + 15.0, bulge))
        y.append(area.height / 2 + share * step * last / 2)
    parts = []
    for source, target, name in links:
        path = f"M{pixels(x[source])} {pixels(y[source])}L{pixels(x[target])} {pixels(y[target])}"
        parts.append(f'<g><title>{escape(visible(name))}</title><path class="link strong" d="{path}"/></g>')
    for k, name in enumerate(names):
        box = f"M{pixels(x[k] - BOX_WIDTH / 2)} {pixels(y[k] - 17)}h{pixels(BOX_WIDTH)}v34h-{pixels(BOX_WIDTH)}Z"
        label = text(x[k], y[k] - 2, fitted(name, BOX), "middle")
        note = text(x[k], y[k] + 12, visible(notes[k], NOTE), "middle", ' class="note"')
        parts.append(
            f'<g><title>{escape(visible(name))}</title><path class="box" d="{box}"/>{label}{note}</g>'
        )
    return document(area, title, description, parts)

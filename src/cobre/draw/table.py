"""Tables of numbers as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cobre.draw.figures import number
from cobre.draw.text import escape, visible

Cell = float | int | str | None
LONGEST_HEADING = 80


@dataclass(frozen=True)
class Table:
    """Columns with their headings. The first column names the rows."""

    headings: Sequence[str]
    columns: Sequence[Sequence[Cell]]

    @property
    def n_rows(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def to_html(self, caption: str) -> str:
        """A table element; numbers have six digits, text is escaped."""
        head = "".join(
            f'<th scope="col"{_kind(column)}>{escape(visible(heading, LONGEST_HEADING))}</th>'
            for heading, column in zip(self.headings, self.columns, strict=True)
        )
        rows = "".join(_row(cells) for cells in zip(*self.columns, strict=True))
        return (
            f"<table><caption>{escape(visible(caption))}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )


def _kind(column: Sequence[Cell]) -> str:
    """Headings of words are aligned with them."""
    return ' class="words"' if len(column) and isinstance(column[0], str) else ""


def _row(cells: Sequence[Cell]) -> str:
    first, *rest = cells
    return f'<tr><th scope="row">{_text(first)}</th>{"".join(_cell(cell) for cell in rest)}</tr>'


def _cell(cell: Cell) -> str:
    return f'<td class="words">{_text(cell)}' if isinstance(cell, str) else f"<td>{number(cell)}"


def _text(cell: Cell) -> str:
    return f"<bdi>{escape(visible(cell))}</bdi>" if isinstance(cell, str) else number(cell)

"""A drawing with what belongs to it: caption, sentence, legend and the table behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cobre.draw.svg import LONGEST_SENTENCE
from cobre.draw.table import Table
from cobre.draw.text import escape, name, visible


@dataclass(frozen=True)
class Legend:
    """One entry: ``kind`` is line, line beside, band, band strong or bar."""

    name: str
    style: int
    kind: str = "line"


def figure(title: str, sentence: str, drawing: str, legend: Sequence[Legend], table: Table) -> str:
    """The whole, as HTML. Scripts read values from the table; without scripts it opens by itself."""
    entries = "".join(
        f'<li data-shape="{_shape(entry)}">{_swatch(entry)}{name(entry.name, 60)}</li>' for entry in legend
    )
    keys = f'<ul class="legend">{entries}</ul>' if entries else ""
    return (
        f"<figure><figcaption><h3>{name(title, 120)}</h3>"
        f"<p>{escape(visible(sentence, LONGEST_SENTENCE))}</p></figcaption>"
        f'<div class="plot">{drawing}</div>{keys}{_details(title, table)}</figure>'
    )


def _details(title: str, table: Table) -> str:
    return f"<details><summary>Table: {name(title, 120)}</summary>{plain_table(title, table)}</details>"


def folded_table(title: str, table: Table, *, is_prose: bool = False) -> str:
    """A table that opens on demand."""
    content = plain_table(title, table, is_prose=is_prose)
    return f"<details><summary>{name(title, 120)}</summary>{content}</details>"


def plain_table(title: str, table: Table, *, is_prose: bool = False) -> str:
    """A table that is open; the cells of prose are aligned to the left."""
    prose = " prose" if is_prose else ""
    return f'<div class="scroll{prose}" tabindex="0" role="group" aria-label="Table">{table.to_html(title)}</div>'


def card_row(cards: Sequence[tuple[str, str]]) -> str:
    """Names with one short text each, side by side."""
    entries = "".join(f"<div><dt>{escape(label)}</dt><dd>{name(value)}</dd></div>" for label, value in cards)
    return f'<dl class="cards">{entries}</dl>'


def _shape(entry: Legend) -> str:
    """Classes of what the entry stands for."""
    return f"{entry.kind} {'s' if entry.kind.startswith('line') else 'f'}{entry.style}"


SWATCHES = {
    "line": "M1 7H27",
    "line beside": "M2 7H27",
    "band": "M1 2H27V12H1Z",
    "band strong": "M1 2H27V12H1Z",
    "bar": "M7 1H21V13H7Z",
}


def _swatch(entry: Legend) -> str:
    path = f'<path class="{_shape(entry)}" d="{SWATCHES[entry.kind]}"/>'
    return f'<svg class="swatch" viewBox="0 0 28 14" aria-hidden="true">{path}</svg>'

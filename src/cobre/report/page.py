"""The page as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path

from cobre import draw
from cobre.draw.style import DARK_VARIABLES, LIGHT_VARIABLES
from cobre.files import write_atomically
from cobre.report.sections.costs import costs
from cobre.report.sections.energy import energy
from cobre.report.sections.plants import plants
from cobre.report.sections.policy import slices
from cobre.report.sections.prices import prices
from cobre.report.sections.provenance import provenance
from cobre.report.sections.risk import risk
from cobre.report.sections.summary import names, summary
from cobre.report.sections.training import training
from cobre.report.sections.water import water
from cobre.study.queries.runs import RunData, check_comparable
from cobre.study.results import Results, load_results

__all__ = ["SECTIONS", "html_report", "write_report"]

Section = Callable[[RunData, RunData | None], str]

SECTIONS: dict[str, tuple[str, Section]] = {
    **{
        make.__name__: (make.__name__.capitalize(), make)
        for make in (summary, training, costs, energy, prices, risk, water)
    },
    "plants": ("Plants and lines", plants),
    "policy": ("Policy", slices),
    "provenance": ("Provenance", provenance),
}
"""Anchor, heading and content of each, in the order of the page."""
SECURITY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'"
"""The browser itself refuses every request of the page."""


def write_report(
    folder: str | PathLike[str],
    file: str | PathLike[str],
    compare: str | PathLike[str] | None = None,
    sections: Mapping[str, tuple[str, Section]] = SECTIONS,
) -> Path:
    """Write the report of the run in ``folder``, beside that in ``compare``; the path of the page."""
    other = None if compare is None else load_results(compare)
    page = html_report(load_results(folder), other, sections)
    write_atomically(Path(file), page.encode("utf-8"))
    return Path(file)


def html_report(
    results: Results, other: Results | None = None, sections: Mapping[str, tuple[str, Section]] = SECTIONS
) -> str:
    """The report as one HTML document; ``sections`` has the anchor, heading and content of each part."""
    run = RunData(results)
    beside = None if other is None else RunData(other)
    if beside is not None:
        check_comparable(run, beside)
    contents = {anchor: make(run, beside) for anchor, (_, make) in sections.items()}
    shown = [anchor for anchor, content in contents.items() if content]
    links = "".join(f'<li><a href="#{anchor}">{sections[anchor][0]}</a></li>' for anchor in shown)
    body = "".join(
        f'<section id="{anchor}" aria-labelledby="{anchor}-title"><h2 id="{anchor}-title">{sections[anchor][0]}</h2>'
        f"{contents[anchor]}</section>"
        for anchor in shown
    )
    title = _title(run, beside)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{draw.escape(SECURITY)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{draw.escape(title)}</title><style>{_style()}</style></head>"
        f'<body class="cobre"><a class="skip" href="#content">Skip to the content</a>'
        f"<header><h1>{draw.name(title)}</h1></header>"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav><main id="content">{body}</main>'
        f"<script>{_asset('page.js')}</script></body></html>\n"
    )


def _title(run: RunData, other: RunData | None) -> str:
    return f"Report: {' beside '.join(names(run, other))}"


def _style() -> str:
    themes = f':root[data-theme="dark"] .cobre{{{DARK_VARIABLES}}}:root[data-theme="light"] .cobre{{{LIGHT_VARIABLES}}}'
    return f"{draw.STYLE}@media screen{{{themes}}}{_asset('page.css')}"


@cache
def _asset(name: str) -> str:
    return files("cobre.report").joinpath("assets", name).read_text(encoding="utf-8")

"""Latency and bandwidth over message size, as a picture or as a page that needs no network."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cobre.comm.bench import Report
from cobre.comm.bench.plan import Row, human_size
from cobre.errors import CobreError

__all__ = ["check", "plot"]

MARKERS = "osD^vPX*"
NO_SIZES, MEASURE = (
    "a plot needs sizes, and nothing with a size is measured",
    "measure allreduce, allgatherv or broadcast",
)
NAME_IT = "end the name in .png, .svg, .pdf or .html"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font-family: sans-serif; margin: 2em; max-width: 75em }}
svg {{ width: 100%; height: auto }}
table {{ border-collapse: collapse }}
td, th {{ padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }}
td:nth-child(-n+2) {{ text-align: left }}
</style></head>
<body><h1>{title}</h1>
{figure}
<table><tr><th>operation</th><th>backend</th><th>bytes</th>
<th>p50 µs</th><th>p99 µs</th><th>GB/s</th><th>of limit</th></tr>
{rows}
</table></body></html>
"""


def check(path: Path, operations: Sequence[str]) -> None:
    """Refuse what `plot` could not write, before the time is spent that measuring takes."""
    if not path.parent.is_dir():
        raise CobreError(
            f"there is no folder {path.parent}", suggestion="make it, or write the plot elsewhere"
        )
    if set(operations) <= {"barrier"}:
        raise CobreError(NO_SIZES, suggestion=MEASURE)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("html", "htm", *_new_figure().canvas.get_supported_filetypes()):
        raise CobreError(f"{path.name} is no picture that can be written", suggestion=NAME_IT)


def plot(report: Report, path: Path) -> None:
    """Write ``path``: ``.html`` is a page with the figure and the numbers, anything else a format of matplotlib."""
    figure = _figure(report)
    if path.suffix.lower() not in (".html", ".htm"):
        figure.suptitle(_title(report))  # a page has it as its heading
        try:
            figure.savefig(path, dpi=150)
        except ValueError as error:
            raise CobreError(str(error), suggestion=NAME_IT) from error
        return
    picture = io.StringIO()
    figure.savefig(picture, format="svg")
    svg = picture.getvalue()
    order = list(dict.fromkeys(row.operation for row in report.rows))
    ordered = sorted(report.rows, key=lambda row: (order.index(row.operation), row.bytes))
    rows = "\n".join(_html_row(row) for row in ordered)
    page = PAGE.format(title=html.escape(_title(report)), figure=svg[svg.index("<svg") :], rows=rows)
    path.write_text(page, encoding="utf-8")


def _new_figure(**options: Any) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CobreError(
            "plots need matplotlib, which is not installed", suggestion="pip install matplotlib"
        ) from error
    return Figure(**options)


def _figure(report: Report) -> Any:
    operations = list(dict.fromkeys(row.operation for row in report.rows if row.bytes))
    if not operations:
        raise CobreError(NO_SIZES, suggestion=MEASURE)
    figure = _new_figure(figsize=(4.2 * len(operations) + 0.8, 6.4), layout="constrained")
    axes = figure.subplots(2, len(operations), squeeze=False, sharex=True, sharey="row")
    for column, operation in enumerate(operations):
        rows = [row for row in report.rows if row.operation == operation]
        _latency(axes[0][column], rows)
        _bandwidth(axes[1][column], rows)
        axes[0][column].set_title(operation)
    axes[0][0].set_ylabel("µs per call (median; shade: to p99)")
    axes[1][0].set_ylabel("bandwidth, GB/s")
    sizes = sorted({row.bytes for row in report.rows if row.bytes})
    for below in axes[1]:  # the only ones that show their labels
        below.set_xticks(
            sizes, [human_size(size) for size in sizes], rotation=40, ha="right", rotation_mode="anchor"
        )
        below.minorticks_off()
    axes[1][-1].legend(loc="lower right")
    return figure


def _latency(axes: Any, rows: Sequence[Row]) -> None:
    for number, (backend, mine) in enumerate(_by_backend(rows)):
        sizes = [row.bytes for row in mine]
        axes.plot(sizes, [row.p50_us for row in mine], marker=MARKERS[number % len(MARKERS)], label=backend)
        axes.fill_between(sizes, [row.p50_us for row in mine], [row.p99_us for row in mine], alpha=0.15)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(alpha=0.3)


def _bandwidth(axes: Any, rows: Sequence[Row]) -> None:
    for number, (backend, mine) in enumerate(_by_backend(rows)):
        sizes, speeds = [row.bytes for row in mine], [row.gb_per_s for row in mine]
        axes.plot(sizes, speeds, marker=MARKERS[number % len(MARKERS)], label=backend)
    limits = {(row.limit, row.bytes): row.limit_gb_per_s for row in rows if row.limit_gb_per_s}
    for kind, style in (("memcpy", "k--"), ("loopback", "k:")):
        points = sorted((size, speed) for (name, size), speed in limits.items() if name == kind)
        if points:
            axes.plot([size for size, _ in points], [speed for _, speed in points], style, label=kind)
    axes.set_xlabel("bytes on each rank")
    axes.set_yscale("log")
    axes.grid(alpha=0.3)


def _by_backend(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    names = dict.fromkeys(row.backend for row in rows)
    return [(name, sorted((r for r in rows if r.backend == name), key=lambda r: r.bytes)) for name in names]


def _title(report: Report) -> str:
    return f"Cobre collectives on {report.ranks} ranks"


def _html_row(row: Row) -> str:
    speed = "" if row.gb_per_s is None else f"{row.gb_per_s:.3g}"
    percent = "" if row.percent is None else f"{row.percent:.0f} % of {row.limit}"
    cells = (
        row.operation,
        row.backend,
        f"{row.bytes:,}",
        f"{row.p50_us:.1f}",
        f"{row.p99_us:.1f}",
        speed,
        percent,
    )
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"

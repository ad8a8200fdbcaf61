"""``cobre bench``: the collectives' latency and bandwidth on this machine."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from cobre._machine import usable_cpus
from cobre.cli import import_or_end
from cobre.cli.parser import Parser, positive_float, positive_int
from cobre.cli.table import open_console, show
from cobre.comm.backend import Backend
from cobre.comm.bench import Peer, Plan, Report, Row, choose, measure
from cobre.comm.bench.plan import DEFAULT_SIZES, OPERATIONS, UNITS, human_size
from cobre.errors import CobreError

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["main", "parse_size"]

DESCRIPTION = """\
Measure the collectives of every backend that runs here. Each size is verified before and after it is timed, so this
is also the smoke test on a new machine.

  cobre bench                                       all backends, a few sizes
  cobre bench -n 4 --backend shm,tcp --sizes 8,64K,16M
  cobre bench --peers --plot bench.png              beside mpi4py and Gloo, if they are installed
"""

EPILOG = """\
columns
  size      bytes that each rank holds afterwards
  p50, p99  microseconds of one call, as the slowest rank saw it
  GB/s      size divided by p50
  of limit  of what one process here copies with memcpy (shm, mpi) or one connection through 127.0.0.1 sustains
            (tcp), measured in the same run; from 64 KiB on. A rank's own part does not travel and both directions
            work at once, so few ranks may show more than 100 %
"""


def main(arguments: Sequence[str]) -> int:
    """Parse, measure, show; 1 if something that was asked for failed."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    import_or_end("cobre._native")  # here, and not by a backend while Ctrl-C would be a traceback
    plan = Plan(options.ranks, tuple(options.op), tuple(options.sizes), options.seconds)
    names = options.backend.split(",") if options.backend else None
    records, unavailable = choose(names, options.ranks, peers=options.peers)
    if not records:
        raise CobreError(
            f"nothing to measure: {'; '.join(f'{name}: {why}' for name, why in unavailable.items())}",
            suggestion="see cobre doctor",
        )
    if options.plot is not None:
        from cobre.comm.bench.plot import check, plot

        check(options.plot, plan.operations)
    report = _measure(records, plan, options)
    failed = dict(report.skipped)
    report.skipped = {**unavailable, **failed}
    if options.json:
        sys.stdout.write(json.dumps(_document(report), indent=2) + "\n")
    else:
        _show(report)
    if options.plot is not None:
        plot(report, options.plot)
        sys.stderr.write(f"wrote {options.plot}\n")
    return int(bool(failed) or any(name in unavailable for name in names or ()))


def parse_size(text: str) -> int:
    """``8``, ``64K``, ``16M``: bytes, a multiple of eight.

    >>> parse_size("64K")
    65536
    """
    factor = UNITS.get(text[-1:].upper(), 1)
    digits = text[:-1] if factor > 1 else text
    if not digits.isdecimal() or int(digits) < 1 or int(digits) * factor % 8:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size like 8, 64K or 16M, in whole eights of bytes"
        )
    return int(digits) * factor


def _measure(records: Sequence[Backend | Peer], plan: Plan, options: argparse.Namespace) -> Report:
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("starting …") as status:

        def tell(row: Row) -> None:
            size = f" of {human_size(row.bytes)}" if row.bytes else ""
            status.update(f"measured {row.backend}: {row.operation}{size}")

        return measure(records, plan, timeout=options.timeout, on_row=tell)


def _document(report: Report) -> dict[str, object]:
    rows = [{**asdict(row), "percent": row.percent} for row in report.rows]
    return {"ranks": report.ranks, "rows": rows, "skipped": report.skipped}


def _show(report: Report) -> None:
    from rich.text import Text

    console = open_console()
    for operation in dict.fromkeys(row.operation for row in report.rows):
        rows = [row for row in report.rows if row.operation == operation]
        title = f"{operation}, {report.ranks} rank{'s' * (report.ranks != 1)}"
        show(console, _table(title, sorted(rows, key=lambda row: row.bytes)))
        console.print()
    for name, why in report.skipped.items():
        console.print(Text(f"not measured: {name}: {why}", style="yellow"))


def _table(title: str, rows: Sequence[Row]) -> Table:
    """A line per size and backend; an operation without a payload has no columns for one."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    has_sizes = any(row.bytes for row in rows)
    if has_sizes:
        table.add_column("size", justify="right", no_wrap=True)
    table.add_column("backend", no_wrap=True)
    for name in ("p50 µs", "p99 µs", *(("GB/s", "of limit") if has_sizes else ())):
        table.add_column(name, justify="right", no_wrap=True)
    size = None
    for row in rows:
        times = (row.backend, f"{row.p50_us:,.1f}", f"{row.p99_us:,.1f}")
        if has_sizes:
            speed = "" if row.gb_per_s is None else f"{row.gb_per_s:.3f}"
            percent = "" if row.percent is None else f"{row.percent:.0f} %"
            table.add_row(human_size(row.bytes) if row.bytes != size else "", *times, speed, percent)
        else:
            table.add_row(*times)
        size = row.bytes
    return table


def build_parser() -> Parser:
    """Describe the options of ``cobre bench``."""
    parser = Parser("cobre bench", DESCRIPTION, EPILOG)
    add = parser.add_argument
    ranks = min(max(usable_cpus(), 2), 4)
    add(
        "-n",
        type=positive_int,
        default=ranks,
        metavar="N",
        dest="ranks",
        help=f"ranks (default {ranks}: the CPUs, 2 to 4)",
    )
    add("--backend", metavar="NAME[,NAME]", help="these instead of all that run here")
    add(
        "--op",
        type=_operations,
        default=OPERATIONS,
        metavar="OP[,OP]",
        help=f"of {', '.join(OPERATIONS)} (default: all)",
    )
    add(
        "--sizes",
        type=_sizes,
        default=DEFAULT_SIZES,
        metavar="S[,S]",
        help="message sizes (default 8,1K,64K,1M,16M)",
    )
    add(
        "--seconds",
        type=positive_float,
        default=0.2,
        metavar="S",
        help="spend about S on each measurement (default 0.2)",
    )
    add(
        "--timeout",
        type=positive_float,
        default=300.0,
        metavar="S",
        help="give up on a backend after S (default 300)",
    )
    add("--peers", action="store_true", help="also measure mpi4py and Gloo (PyTorch), if installed")
    add("--json", action="store_true", help="everything as JSON on stdout")
    add(
        "--plot", type=Path, metavar="FILE", help="latency and bandwidth over size: .png, .svg, .pdf or .html"
    )
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(parse_size(part) for part in text.split(","))


def _operations(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name in names:
        if name not in OPERATIONS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(OPERATIONS)}")
    return names

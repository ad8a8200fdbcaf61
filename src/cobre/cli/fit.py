"""``cobre fit``: an inflow model from observed inflows, with the reasons to trust it or not."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from cobre import study
from cobre.cli.parser import Parser
from cobre.cli.response import Response, add_output_format, answer
from cobre.cli.table import open_console, show
from cobre.io.fitted import DEFAULT_SERIES, FitResult
from cobre.io.write.fitted import fit_document
from cobre.stochastic.fitting.diagnostics import FEWEST_SERIES

__all__ = ["main"]

LINE_INTERVAL_S = 5.0
DESCRIPTION = """\
Fit the inflow model of a case to scenarios/inflow_history.parquet, compare it with the history through synthetic
series, and say for every plant whether it can be trusted. Settings are those of "estimation" in config.json. Training
does the same fit by itself; this command shows it and writes it down:

  inflow_seasonal_stats.parquet, inflow_ar_coefficients.parquet, inflow_annual_component.parquet, correlation.json
                            the fitted model, as scenarios/ of a case takes it
  fitting_report.json       orders, coefficients, what was lowered and why, verdicts
  diagnostics/*.parquet     observed against synthetic: seasons, autocorrelation, years (droughts), pairs, residuals
  plots/*.png               the same as pictures, with --plots
"""


def build_parser() -> Parser:
    """Describe the options of ``cobre fit``."""
    parser = Parser("cobre fit", DESCRIPTION)
    parser.add_argument("case", metavar="CASE", help="folder of the case")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="where to write (default: output/stochastic in the case's folder)",
    )
    parser.add_argument(
        "--series",
        type=_series,
        default=DEFAULT_SERIES,
        metavar="N",
        help=f"synthetic series to compare with: 100 or more, or 0 for none (default: {DEFAULT_SERIES})",
    )
    parser.add_argument("--plots", action="store_true", help="draw a picture per plant (needs matplotlib)")
    add_output_format(parser)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Fit, write and show."""
    options = build_parser().parse_args(arguments)
    folder = options.output or Path(options.case) / "output" / "stochastic"

    def work() -> Response:
        result = study.fit(
            options.case,
            output=folder,
            n_series=options.series,
            plots=options.plots,
            on_picture=Pictures(sys.stderr).drawn if options.output_format == "human" else None,
        )
        return Response(
            data={"case": options.case, "output_directory": str(folder), **fit_document(result)},
            summary=result.summary,
            warnings=[problem.to_dict() for problem in result.report.warnings],
            result=result,
        )

    def display(response: Response) -> None:
        result: FitResult = response.result
        sys.stderr.writelines(f"warning: {problem}\n" for problem in result.report.warnings)
        _show_plants(result)
        sys.stdout.write(f"{response.summary}\nwritten to {folder}\n")

    return answer("fit", options.output_format, work, display)


class Pictures:
    """A line now and then while pictures are drawn: those of a hundred plants take a minute."""

    def __init__(self, stream: TextIO, interval_s: float = LINE_INTERVAL_S) -> None:
        self._stream = stream
        self._interval_s = interval_s
        self._last_line_at = time.monotonic()

    def drawn(self, count: int, total: int) -> None:
        """Say how far it is, unless that was said just now."""
        now = time.monotonic()
        if now - self._last_line_at >= self._interval_s and count < total:
            self._stream.write(f"{count} of {total} pictures drawn\n")
            self._stream.flush()
            self._last_line_at = now


def _series(text: str) -> int:
    if not text.isdecimal() or 0 < int(text) < FEWEST_SERIES:
        raise argparse.ArgumentTypeError(f"{text!r} is neither 0 nor a number of {FEWEST_SERIES} or more")
    return int(text)


def _show_plants(result: FitResult) -> None:
    from rich.table import Table

    console = open_console()
    table = Table(box=None, pad_edge=False)
    for name in ("hydro", "years", "lags by season", "verdict"):
        table.add_column(name, overflow="fold")
    counts = result.fit.levels[0].statistics.count
    for h, hydro in enumerate(result.hydros):
        verdict = str(result.verdicts[h]) if result.verdicts else ""
        orders = " | ".join(" ".join(map(str, level.orders[h].tolist())) for level in result.fit.levels)
        table.add_row(f"{hydro.id} {hydro.name}", str(int(counts[h].max())), orders, verdict)
    show(console, table)

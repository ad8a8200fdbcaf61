"""``cobre report``: everything a run recorded, as JSON or as a page with pictures."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from cobre.cli import import_or_end
from cobre.cli.parser import Parser

__all__ = ["main"]

DESCRIPTION = """\
Print what a run recorded as one JSON document: metadata, timings, the policy's size, and the convergence history, one
list per column. With --html write a page with pictures instead: convergence, costs, generation, prices, risk, storage,
water values, every plant, and where the numbers come from. It is one file, needs no network, opens in any browser and
prints. Give the folder of the results or that of the case.

  cobre report CASE | python -m json.tool
  cobre report CASE --html report.html
  cobre report CASE --html report.html --compare OTHER_CASE
"""


def build_parser() -> Parser:
    """Describe the options of ``cobre report``."""
    parser = Parser("cobre report", DESCRIPTION)
    parser.add_argument("folder", metavar="RUN", help="folder of results, or of a case that was run")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a page for a browser into FILE")
    parser.add_argument(
        "--compare",
        metavar="OTHER",
        help="compare with another run of a study with the same stages",
    )
    return parser


def main(arguments: Sequence[str]) -> int:
    """Read, then print or write the page."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.html is not None:
        return _write_page(Path(options.folder), options.html, options.compare)
    if options.compare is not None:
        parser.error("--compare needs --html FILE")
    record = import_or_end("cobre.study.results").read_results(Path(options.folder))
    document = {
        "output_directory": str(record.folder),
        "complete": record.is_complete,
        "training": record.metadata,
        "timings": record.timings,
        "convergence": record.convergence.to_pydict(),
    }
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
    return 0


def _write_page(folder: Path, file: Path, other: str | None) -> int:
    path = import_or_end("cobre.report").write_report(folder, file, other)  # only pages need it
    sys.stdout.write(f"{path}: {path.stat().st_size / 1e6:.1f} MB, opens in any browser\n")
    return 0

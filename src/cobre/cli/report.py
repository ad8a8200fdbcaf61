"""``cobre report``: everything a run recorded, as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from cobre import study
from cobre.cli.parser import Parser

__all__ = ["main"]

DESCRIPTION = """\
Print what a run recorded as one JSON document: metadata, timings, the policy's size, and the convergence history, one
list per column. Give the folder of the results or that of the case.

  cobre report CASE | python -m json.tool
"""


def main(arguments: Sequence[str]) -> int:
    """Read and print."""
    parser = Parser("cobre report", DESCRIPTION)
    parser.add_argument("folder", metavar="DIR", help="folder of results, or of a case that was run")
    options = parser.parse_args(arguments)
    record = study.read_results(Path(options.folder))
    document = {
        "output_directory": str(record.folder),
        "complete": record.is_complete,
        "training": record.metadata,
        "timings": record.timings,
        "convergence": record.convergence.to_pydict(),
    }
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
    return 0

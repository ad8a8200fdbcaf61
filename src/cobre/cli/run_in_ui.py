"""``cobre run --tui``: a run of its own, and the terminal UI on it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence

from cobre import study
from cobre.cli.tui import open_ui

__all__ = ["run_in_ui"]


def run_in_ui(options: Namespace, arguments: Sequence[str]) -> int:
    """Start ``cobre run`` with ``arguments`` in a session of its own and watch it; its status if it has ended.

    The run goes on when the UI is left.
    """
    ui = open_ui(no_color=options.no_color)
    ui.require_terminal()
    output = options.output or f"{options.case}/output"
    run = study.start_run(options.case, output=output, arguments=[*arguments, "--no-progress"])
    ui.watch(run, is_ascii=options.ascii)
    status = run.process.poll()
    if status is None:
        return 0
    sys.stdout.write(run.console)
    return status if status >= 0 else 128 - status

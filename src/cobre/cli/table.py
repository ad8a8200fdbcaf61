"""Tables on a terminal and in a pipe: in the one they fit its width, in the other nothing is wrapped or padded."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["open_console", "show"]

PIPE_COLUMNS = 1000


def open_console() -> Console:
    """For stdout. COLUMNS is heard either way."""
    from rich.console import Console

    is_free = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, width=PIPE_COLUMNS if is_free else None)


def show(console: Console, table: Table) -> None:
    """Print it without the blanks that fill up its last column."""
    with console.capture() as captured:
        console.print(table)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))

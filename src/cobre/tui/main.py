"""Opens the terminal UI on a folder, a pipe or a recording."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from cobre.errors import CobreError
from cobre.study import AttachedRun, attach
from cobre.tui.app import RunApp
from cobre.tui.source import FolderSource, PipeSource, ReplaySource, Source

CONVERGENCE = "training/convergence.parquet"

__all__ = ["require_terminal", "show", "watch"]


def show(target: str | None, *, replay: str | None, against: str | None, is_ascii: bool) -> int:
    """The UI on what the command line names; the exit status."""
    source: Source
    if replay is not None:
        source = ReplaySource(Path(replay))
    elif target == "-":
        source = PipeSource(_take_pipe())
    else:
        source = _folder(str(target))
    return _run(source, against, is_ascii)


def _folder(target: str) -> Source:
    """The run of a folder; of one that told no events the table of its convergence."""
    try:
        return FolderSource(attach(target))
    except CobreError:
        for folder in (Path(target), Path(target) / "output"):
            if (folder / CONVERGENCE).is_file():
                return ReplaySource(folder / CONVERGENCE)
        raise


def watch(run: AttachedRun, *, is_ascii: bool) -> int:
    """The UI on a run that was just started."""
    return _run(FolderSource(run), None, is_ascii)


def require_terminal() -> None:
    """Raise if there is no terminal to draw on and to read keys from."""
    if not (os.isatty(0) and sys.stderr.isatty()):
        raise CobreError(
            "the terminal UI needs a terminal",
            suggestion="use --output-format json-lines, or cobre summary DIR for the outcome",
        )


def _run(source: Source, against: str | None, is_ascii: bool) -> int:
    require_terminal()
    other = None if against is None else attach(against).state()
    app = RunApp(source, is_ascii=is_ascii or not _is_unicode(), against=other)
    app.run()
    if isinstance(source, FolderSource) and source.run.is_live:
        what = "stops after its iteration" if app.is_interrupted else "goes on"
        sys.stdout.write(f"the run {what}; look at it again with: cobre tui {source.run.folder}\n")
    return 0


def _is_unicode() -> bool:
    return "utf" in (sys.stderr.encoding or "").lower()


def _take_pipe() -> int:
    """Standard input as a descriptor of its own; keys then come from the terminal."""
    if os.isatty(0):
        raise CobreError(
            "there is no pipe to read events from",
            suggestion="cobre run CASE --output-format json-lines | cobre tui -",
        )
    events = os.dup(0)
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        raise CobreError(
            "the terminal UI needs a terminal", suggestion="use cobre tui DIR where there is one"
        ) from error
    os.dup2(terminal, 0)
    os.close(terminal)
    return events

"""Writes the output of ranks: nowhere, to a stream behind their rank, to a file per rank, or to several of these."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Literal, Protocol

from cobre.errors import CobreError

__all__ = ["Console", "LogFiles", "Nowhere", "Output", "Several", "is_coloured"]

COLOURS = (36, 33, 35, 32, 34, 31, 96, 93, 95, 92, 94, 91)
"""Of the prefixes, in turn; red comes late, because people read it as an error."""


class Output(Protocol):
    """Receives whole lines of all ranks, in the order in which they came."""

    @property
    def is_split(self) -> bool:
        """Whether it needs stdout and stderr apart. Together they keep the order in which a rank wrote them."""

    @property
    def is_interactive(self) -> bool:
        """Whether lines without an end yet, such as a prompt, are shown at once."""

    def show(self, rank: int | None, lines: Sequence[bytes], *, is_error: bool) -> None:
        """Lines that are complete."""

    def show_partial(self, rank: int | None, line: bytes, *, is_error: bool) -> None:
        """All there is so far of a line that has no end yet; once it has, `show` gets it whole."""

    def close(self) -> None:
        """No more lines come."""


class Nowhere:
    """Shows nothing."""

    is_split = False
    is_interactive = False

    def show(self, rank: int | None, lines: Sequence[bytes], *, is_error: bool) -> None:
        pass

    def show_partial(self, rank: int | None, line: bytes, *, is_error: bool) -> None:
        pass

    def close(self) -> None:
        pass


class Console:
    """This process's stdout and stderr, looked up at every write so that redirection works."""

    def __init__(
        self,
        *,
        prefix: bool = True,
        colour: bool = False,
        error_colour: bool = False,
        width: int = 1,
        is_split: bool | None = None,
    ) -> None:
        self._prefix = prefix
        self._colour = {False: colour, True: error_colour}
        self._width = width
        self._open_line: tuple[int | None, bool] | None = None
        self._open_bytes = 0
        self.last_shown: int | None = None
        self.lines_in_a_row = 0
        self.is_split = not _is_same_file(sys.stdout, sys.stderr) if is_split is None else is_split
        self.is_interactive = sys.stdout is not None and sys.stdout.isatty()

    def show(self, rank: int | None, lines: Sequence[bytes], *, is_error: bool) -> None:
        if not lines:
            return
        begin, first = self._begin(rank, lines[0], is_error)
        prefix = self._prefix_of(rank, is_error)
        text = f"\n{prefix}".join(line.decode(errors="replace") for line in (first, *lines[1:]))
        self._write(f"{begin}{text}\n", is_error=is_error)
        self._open_line = None
        self.lines_in_a_row = len(lines) + (self.lines_in_a_row if self.last_shown == rank else 0)
        self.last_shown = rank

    def show_partial(self, rank: int | None, line: bytes, *, is_error: bool) -> None:
        begin, piece = self._begin(rank, line, is_error)
        text = piece.decode(errors="replace").replace("\r", f"\r{self._prefix_of(rank, is_error)}")
        self._write(f"{begin}{text}", is_error=is_error)
        self._open_line, self._open_bytes = (rank, is_error), len(line)

    def close(self) -> None:
        pass

    def _begin(self, rank: int | None, line: bytes, is_error: bool) -> tuple[str, bytes]:
        """What comes before this rank's line, and what of it is still to be shown.

        Only its rest if its beginning is the last thing on display, else all of it again, so that lines stay whole.
        """
        if self._open_line == (rank, is_error):
            return "", line[self._open_bytes :]
        return ("" if self._open_line is None else "\n") + self._prefix_of(rank, is_error), line

    def _write(self, text: str, *, is_error: bool) -> None:
        stream = sys.stderr if is_error else sys.stdout
        if stream is None:  # the program was started without one
            return
        try:
            stream.write(text)
        except UnicodeEncodeError:
            stream.write(text.encode(stream.encoding, "replace").decode(stream.encoding))
        stream.flush()

    def _prefix_of(self, rank: int | None, is_error: bool) -> str:
        if rank is None or not self._prefix:
            return ""
        if not self._colour[is_error]:
            return f"[{rank:>{self._width}}] "
        return f"\x1b[{COLOURS[rank % len(COLOURS)]}m[{rank:>{self._width}}]\x1b[0m "


class LogFiles:
    """One file per rank in a directory, written as the lines come. A command that is all ranks has one file.

    Files of an earlier launch with more than ``size`` ranks are removed, or they would pass for this one's. With
    ``is_appending`` all files stay and go on: the same launch was started again.
    """

    is_split = False
    is_interactive = False

    def __init__(self, directory: Path, size: int, *, is_appending: bool = False) -> None:
        self._mode: Literal["ab", "wb"] = "ab" if is_appending else "wb"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for file in directory.glob("rank*.log") if not is_appending else ():
                if (number := file.stem.removeprefix("rank")).isdecimal() and int(number) >= size:
                    file.unlink()
        except OSError as error:
            raise CobreError(
                f"logs cannot be written to {directory}: {error.strerror}",
                context={"directory": str(directory)},
                suggestion="name a directory that is yours, or one that can be made",
            ) from error
        self._directory = directory
        self._files: dict[int | None, IO[bytes]] = {}

    def show(self, rank: int | None, lines: Sequence[bytes], *, is_error: bool) -> None:
        if rank is None and not lines:  # the command that starts the ranks has nothing to say itself
            return
        if rank not in self._files:
            name = "ranks.log" if rank is None else f"rank{rank}.log"
            self._files[rank] = (self._directory / name).open(self._mode, buffering=0)
        if lines:
            self._files[rank].write(b"".join(line + b"\n" for line in lines))

    def show_partial(self, rank: int | None, line: bytes, *, is_error: bool) -> None:
        pass

    def close(self) -> None:
        for file in self._files.values():
            file.close()


class Several:
    """All of these at once."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = outputs
        self.is_split = any(output.is_split for output in outputs)
        self.is_interactive = any(output.is_interactive for output in outputs)

    def show(self, rank: int | None, lines: Sequence[bytes], *, is_error: bool) -> None:
        for output in self._outputs:
            output.show(rank, lines, is_error=is_error)

    def show_partial(self, rank: int | None, line: bytes, *, is_error: bool) -> None:
        for output in self._outputs:
            output.show_partial(rank, line, is_error=is_error)

    def close(self) -> None:
        for output in self._outputs:
            output.close()


def is_coloured(stream: IO[str] | None, environ: Mapping[str, str]) -> bool:
    """Whether colours are wanted there: on a terminal that has them, unless NO_COLOR says otherwise."""
    if stream is None or environ.get("NO_COLOR"):
        return False
    return bool(environ.get("FORCE_COLOR")) or (stream.isatty() and environ.get("TERM") != "dumb")


def _is_same_file(first: IO[str], second: IO[str]) -> bool:
    """Whether both end in the same place. Streams without a file (a notebook's) are told apart by themselves."""
    try:
        return os.path.sameopenfile(first.fileno(), second.fileno())
    except (OSError, ValueError, AttributeError):
        return first is second

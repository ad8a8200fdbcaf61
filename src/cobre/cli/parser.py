"""Argument parsers that end with the exit status of this command line's usage errors."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, NoReturn

from cobre.cli import USAGE_STATUS
from cobre.cli.wrapping import reflow, terminal_width, wrap_lines

__all__ = ["AUTO", "Parser", "json_object", "positive_float", "positive_int", "positive_int_or_auto"]

AUTO = "auto"


class _Page(argparse.HelpFormatter):
    """Breaks long lines of the texts between words; rows and listings in them stay what they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return reflow(text, width)


class Parser(argparse.ArgumentParser):
    """Fits its texts to the screen, accepts no abbreviations, and says where help is."""

    def __init__(self, prog: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=_Page,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        text = f"{self.prog}: {message}\n  fix: see {self.prog} --help"
        self.exit(USAGE_STATUS, wrap_lines(text, terminal_width(sys.stderr)) + "\n")


def positive_int(text: str) -> int:
    """For ``type=``: a whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return number


def positive_int_or_auto(text: str) -> int | str:
    """For ``type=``: a whole number of at least 1, or "auto"."""
    if text == AUTO:
        return AUTO
    try:
        return positive_int(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor {AUTO}") from None


def whole_number(text: str) -> int:
    """For ``type=``: a whole number of at least 0."""
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def json_object(text: str) -> dict[str, Any]:
    """For ``type=``: an object as JSON."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"this is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError('an object is needed, such as {"training": {...}}')
    return found


def positive_float(text: str) -> float:
    """For ``type=``: a number above zero."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number

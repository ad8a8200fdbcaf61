"""What ``--output-format json`` and ``json-lines`` print: one document, the same for every command."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import cobre
from cobre.cli.event_stream import EventStream
from cobre.cli.parser import Parser
from cobre.comm.report import report_error
from cobre.errors import CobreError, ValidationError

__all__ = ["Response", "add_output_format", "answer", "parser_of"]

SCHEMA = "urn:cobre:response:v1"
FORMATS = ("human", "json", "json-lines")
ALIASES = {"text": "human"}


@dataclass
class Response:
    """What a command found out."""

    data: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""
    exit_code: int = 0
    errors: Sequence[Mapping[str, Any]] = ()
    warnings: Sequence[Mapping[str, Any]] = ()
    result: Any = None
    """What the command computed, for people to see; not in the document."""


def add_output_format(parser: argparse.ArgumentParser) -> None:
    """Give a command the option."""
    parser.add_argument(
        "--output-format",
        choices=FORMATS,
        type=lambda text: ALIASES.get(text, text),
        default="human",
        metavar="F",
        help="human (default), json for one document, or json-lines for one event per line and the document last",
    )


def parser_of(command: str, description: str, **folders: tuple[str, str]) -> Parser:
    """The parser of a command that wants folders, given as metavar and help, and takes the option."""
    parser = Parser(f"cobre {command}", description)
    for name, (metavar, text) in folders.items():
        parser.add_argument(name, metavar=metavar, help=text)
    add_output_format(parser)
    return parser


def answer(
    command: str,
    output_format: str,
    work: Callable[[], Response],
    show: Callable[[Response], None],
    stream: EventStream | None = None,
) -> int:
    """Do the work and show its response in the format asked for; the exit status.

    ``stream`` is what the work prints its events with, if it has any.
    """
    if output_format == "human":
        response = work()
        show(response)
        return response.exit_code
    try:
        response = work()
    except CobreError as error:
        report_error(error)
        response = Response(
            summary=error.message,
            exit_code=error.exit_status,
            errors=[error.to_dict()],
            warnings=error.warnings if isinstance(error, ValidationError) else (),
        )
    document = {
        "$schema": SCHEMA,
        "command": command,
        "success": response.exit_code == 0,
        "exit_code": response.exit_code,
        "cobre_version": cobre.__version__,
        "errors": list(response.errors),
        "warnings": list(response.warnings),
        "data": response.data,
        "summary": response.summary,
    }
    if output_format == "json-lines":
        (stream or EventStream()).print_result(document)
    else:
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    return response.exit_code

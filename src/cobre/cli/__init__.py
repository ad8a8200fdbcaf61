"""The command line: ``cobre COMMAND …``. Commands parse, call the package, and show; they compute nothing.

A new command is a module with ``main(arguments) -> exit status`` and one line in `COMMANDS`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

__all__ = ["COMMANDS", "Command", "main"]


class Command(NamedTuple):
    """Where a command lives, and what the overview says about it. Loaded only when it is used."""

    module: str
    summary: str


COMMANDS: Mapping[str, Command] = {
    "init": Command("cobre.cli.init", "write an example case to start from"),
    "run": Command("cobre.cli.run", "train the policy of a case, on one process or many"),
    "validate": Command("cobre.cli.validate", "check a case and say everything that is wrong with it"),
    "fit": Command("cobre.cli.fit", "fit the inflow model of a case to its history and judge it"),
    "summary": Command("cobre.cli.summary", "show the outcome of a run again"),
    "report": Command("cobre.cli.report", "print everything a run recorded as JSON"),
    "schema": Command("cobre.cli.schema", "write JSON Schemas of the files of a case"),
    "launch": Command("cobre.cli.launch", "start several ranks of a program"),
    "bench": Command("cobre.cli.bench", "measure the collectives of the backends on this machine"),
    "doctor": Command("cobre.cli.doctor", "say what works on this machine, what does not, and what to do"),
    "version": Command("cobre.cli.version", "show the version"),
}

USAGE_STATUS = 4
INTERRUPTED_STATUS = 130
BROKEN_PIPE_STATUS = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help", "help"):
        sys.stdout.write(_overview())
        return 0 if given else USAGE_STATUS
    name = "version" if given[0] in ("-V", "--version") else given[0]
    if name not in COMMANDS:
        known = ", ".join(COMMANDS)
        sys.stderr.write(
            f"cobre: there is no command {name!r}\n  fix: choose from {known}; see cobre --help\n"
        )
        return USAGE_STATUS
    return _run(import_module(COMMANDS[name].module).main, given[1:])


def _run(command: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    from cobre.errors import CobreError

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # what a rank prints must not fail for lack of a character
    try:
        return command(arguments)
    except CobreError as error:
        notes = "".join(f"  {note}\n" for note in getattr(error, "__notes__", ()))
        sys.stderr.write(f"{notes}cobre: {error}\n")
        return error.exit_status
    except BrokenPipeError:
        _discard_stdout()
        return BROKEN_PIPE_STATUS
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    except Exception as error:
        # Status 1, which the interpreter would end with, blames the case. The hook also tells the launcher and MPI.
        sys.excepthook(type(error), error, error.__traceback__)
        return USAGE_STATUS


def _discard_stdout() -> None:
    """Whoever read our output has gone; the interpreter must not complain when it flushes at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _overview() -> str:
    width = max(map(len, COMMANDS))
    rows = "".join(f"  {name:<{width}}  {command.summary}\n" for name, command in COMMANDS.items())
    return f"usage: cobre COMMAND …\n\n{rows}\ncobre COMMAND --help explains each.\n"

"""The command line: ``cobre COMMAND …``. Commands parse, call the package, and show; they compute nothing.

A new command is a module with ``build_parser()`` and ``main(arguments) -> exit status``, and one line in `COMMANDS`.

This module imports only what the interpreter has loaded already: Ctrl-C is a traceback until `main` runs.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from cobre._lazy import TYPE_CHECKING, collecting_garbage_later
from cobre._process import one_thread_for_blas, run_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from cobre.errors import CobreError

__all__ = ["COMMANDS", "import_or_end", "main", "script", "show_error"]

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("cobre.cli.init", "write an example case to start from"),
    "run": ("cobre.cli.run", "train and simulate a case, on one process or many"),
    "simulate": ("cobre.cli.simulate", "simulate a trained policy and write what every plant does"),
    "validate": ("cobre.cli.validate", "check a case and say everything that is wrong with it"),
    "convert": ("cobre.cli.convert", "convert a case of the older format (0.5.1) to 0.18"),
    "fit": ("cobre.cli.fit", "fit the inflow model of a case to its history and judge it"),
    "summary": ("cobre.cli.summary", "show the outcome of a run again"),
    "tui": ("cobre.cli.tui", "watch a run in the terminal, and steer it"),
    "mcp": ("cobre.cli.mcp", "serve cases and results to agents (Model Context Protocol)"),
    "report": ("cobre.cli.report", "show everything a run recorded: JSON, or a page with pictures"),
    "schema": ("cobre.cli.schema", "write JSON Schemas of the files of a case"),
    "launch": ("cobre.cli.launch", "start several ranks of a program"),
    "bench": ("cobre.cli.bench", "measure the collectives of the backends on this machine"),
    "doctor": ("cobre.cli.doctor", "check what works on this machine, and what to do about the rest"),
    "completion": ("cobre.cli.completion", "write a script that completes commands in bash, zsh or fish"),
    "version": ("cobre.cli.version", "show the version"),
}
"""The module of each command, imported only when it is used, and what the overview says about it."""

USAGE_STATUS = 4
UNWRITABLE_STATUS = 2
INTERRUPTED_STATUS = 130
INTERRUPTED = "cobre: interrupted\n"
BROKEN_PIPE_STATUS = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; the exit status."""
    if sys.stdout is None:  # closed by the caller, as with `>&-`: what is shown goes nowhere
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
    try:
        return _dispatch(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        sys.stderr.write(INTERRUPTED)
        return INTERRUPTED_STATUS


def script() -> int:
    """``cobre …`` as a program of its own: `main`, and a quick end."""
    return run_alone(main)


def _dispatch(given: list[str]) -> int:
    if not given or given[0] in ("-h", "--help", "help"):
        return _run(_show_overview, given)
    name = "version" if given[0] in ("-V", "--version") else given[0]
    if name not in COMMANDS:
        known = ", ".join(COMMANDS)
        _complain(f"cobre: there is no command {name!r}\n  fix: choose from {known}; see cobre --help")
        return USAGE_STATUS
    return _run(import_or_end(COMMANDS[name][0]).main, given[1:])


def import_or_end(module: str) -> ModuleType:
    """Import a module; Ctrl-C meanwhile ends the process with one line.

    Libraries that are being imported turn a KeyboardInterrupt into errors of their own, and there is nothing to clean
    up yet. Where Ctrl-C means something else already (ignored, or not the main thread) it stays so.
    """
    import signal
    import threading

    before = signal.getsignal(signal.SIGINT)
    is_main_thread = threading.current_thread() is threading.main_thread()
    if before is not signal.default_int_handler or not is_main_thread:
        return _import(module)
    signal.signal(signal.SIGINT, _end_at_once)
    try:
        return _import(module)
    finally:
        signal.signal(signal.SIGINT, before)


def _import(module: str) -> ModuleType:
    with collecting_garbage_later(), one_thread_for_blas():
        return import_module(module)


def _end_at_once(number: int, frame: object) -> None:
    os.write(2, INTERRUPTED.encode())
    os._exit(INTERRUPTED_STATUS)


def _run(command: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    from cobre.errors import CobreError

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # what a rank prints must not fail for lack of a character
    try:
        return _run_to_the_last_line(command, arguments)
    except CobreError as error:
        show_error(error)
        return error.exit_status
    except BrokenPipeError:
        _discard_stdout()
        return BROKEN_PIPE_STATUS
    except Exception as error:
        if isinstance(error, OSError) and _stdout_fails():
            _discard_stdout()
            show_error(_unwritable_stdout(error))
            return UNWRITABLE_STATUS
        # Status 1, the interpreter's own, means an invalid case. The hook also reports to the launcher and MPI.
        sys.excepthook(type(error), error, error.__traceback__)
        return USAGE_STATUS


def _run_to_the_last_line(command: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Run a command; what it printed has left this process, or there is an error while it can still be told."""
    try:
        status = command(arguments)
    except SystemExit:  # of --help
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return status


def _stdout_fails() -> bool:
    """Whether stdout takes nothing: an error of a command that shows something may be that, whatever raised it."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _unwritable_stdout(error: OSError) -> CobreError:
    from cobre.errors import IOError

    message = f"cannot write to the standard output: {error.strerror or error}"
    return IOError(
        "standard output", message, suggestion="free some space where it goes, or send it elsewhere"
    )


def show_error(error: CobreError) -> None:
    """Print what went wrong and what to do, and report it to a launcher that listens."""
    from cobre.cli.wrapping import harmless
    from cobre.comm.report import report_error

    sys.stderr.writelines(f"  {harmless(note)}\n" for note in getattr(error, "__notes__", ()))
    _complain(f"cobre: {error}")
    report_error(error)


def _complain(text: str) -> None:
    """On stderr, broken between words where the terminal is narrow."""
    from cobre.cli.wrapping import terminal_width, wrap_lines

    sys.stderr.write(wrap_lines(text, terminal_width(sys.stderr)) + "\n")


def _discard_stdout() -> None:
    """The reader of stdout has closed it; the interpreter must not report an error when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_overview(given: Sequence[str]) -> int:
    sys.stdout.write(_overview())
    return 0 if given else USAGE_STATUS


def _overview() -> str:
    from cobre.cli.wrapping import reflow, screen_width

    width = max(map(len, COMMANDS))
    rows = "".join(f"  {name:<{width}}  {summary}\n" for name, (_, summary) in COMMANDS.items())
    page = f"usage: cobre COMMAND …\n\n{rows}\ncobre COMMAND --help explains each.\n"
    columns = screen_width(sys.stdout)
    return page if columns is None else reflow(page, columns)

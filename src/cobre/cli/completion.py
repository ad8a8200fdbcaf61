"""``cobre completion SHELL``: let the Tab key complete commands, options and paths.

The script is written from the parsers of all commands, so that it has each of their options. The shell reads it once;
pressing Tab starts no Python.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

import shtab

from cobre.cli import COMMANDS
from cobre.cli.parser import Parser

__all__ = ["build_parser", "command_line", "main"]

SHELLS = ("bash", "zsh", "fish")

DESCRIPTION = """\
Write a script to stdout that lets the shell complete commands, options and paths of cobre:

  cobre completion bash > ~/.local/share/bash-completion/completions/cobre
  cobre completion zsh > ~/.zfunc/_cobre          with fpath+=~/.zfunc before compinit in ~/.zshrc
  cobre completion fish > ~/.config/fish/completions/cobre.fish

A new shell reads it. Write it again after an update of cobre.
"""

FOLDERS = {"CASE", "DIR", "NEW", "OLD", "OTHER", "RUN"}
FILES = {"FILE", "PROGRAM"}


def build_parser() -> Parser:
    """Describe the options of ``cobre completion``."""
    parser = Parser("cobre completion", DESCRIPTION)
    parser.add_argument("shell", choices=SHELLS, help="the shell to write for")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Write the script."""
    options = build_parser().parse_args(arguments)
    script = shtab.complete(command_line(), shell=options.shell)
    sys.stdout.write(script.rstrip("\n") + "\n")
    return 0


def command_line() -> argparse.ArgumentParser:
    """One parser with every command below it; it describes the command line and parses nothing."""
    whole = argparse.ArgumentParser("cobre", allow_abbrev=False)
    whole.add_argument("-V", "--version", action="store_true", help=COMMANDS["version"][1])
    commands = whole.add_subparsers(parser_class=argparse.ArgumentParser)
    for name, (module, summary) in COMMANDS.items():
        own = import_module(module).build_parser()
        for action in own._actions:
            kind = _kind_of(action)
            if kind is not None:
                action.complete = kind
        described = commands.add_parser(name, parents=[own], add_help=False, help=summary)
        if name == "launch":  # reads its program itself, and never what stands behind it
            described.add_argument("program", metavar="PROGRAM", nargs="*").complete = shtab.FILE  # type: ignore[attr-defined]
    return whole


def _kind_of(action: argparse.Action) -> Mapping[str, object] | None:
    if action.choices is not None or action.metavar is None:
        return None
    if action.metavar in FOLDERS:
        return shtab.DIRECTORY
    return shtab.FILE if action.metavar in FILES else None

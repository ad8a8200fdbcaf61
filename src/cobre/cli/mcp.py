"""``cobre mcp``: the product as tools for agents."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cobre.cli import import_or_end
from cobre.cli import main as run_command
from cobre.cli.parser import Parser, positive_float, positive_int, whole_number
from cobre.errors import CobreError

__all__ = ["main", "script"]

DIRECTORIES = "COBRE_MCP_ALLOWED_DIRS"

DESCRIPTION = """\
Serve cases and results to agents over the Model Context Protocol: tools to check, run, explain and compare studies,
resources and prompts. A host (an editor, a desktop assistant, an agent of your own) starts this command and talks to it
over standard input and output; with --transport http it is a server of its own.

  cobre mcp --allowed-dirs ~/cases                 read cases and results below ~/cases
  cobre mcp --allowed-dirs ~/cases --allow-write   let the agent run cases and write results there, too
  cobre mcp --transport http --port 3000           for clients of this machine, at http://127.0.0.1:3000/mcp

Nothing outside the allowed folders is read or written. On Linux the kernel enforces that (Landlock).
"""


def main(arguments: Sequence[str]) -> int:
    """Parse and serve."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    oauth = (options.oauth_issuer, options.oauth_resource, options.oauth_keys)
    if options.transport == "stdio" and (options.token_file or options.allowed_host or any(oauth)):
        parser.error("--token-file, --oauth-… and --allowed-host are about --transport http")
    if (any(oauth) or options.oauth_scope) and not all(oauth):
        parser.error("--oauth-issuer, --oauth-resource and --oauth-keys must be given together")
    if any(oauth) and options.token_file:
        parser.error("--token-file and --oauth-issuer exclude each other")
    given = options.allowed_dirs or [
        each for each in os.environ.get(DIRECTORIES, "").split(os.pathsep) if each
    ]
    main_module = _open_server(over_http=options.transport == "http")
    settings = import_or_end("cobre.mcp.settings").Settings(
        folders=tuple(Path(each).expanduser() for each in given or ["."]),
        allow_write=options.allow_write,
        max_runs=options.max_runs,
        max_workers=options.max_workers,
        max_seconds=options.max_seconds,
        max_bytes=options.max_bytes,
        max_calls_per_minute=options.max_calls_per_minute,
        min_free_mb=options.min_free_mb,
        confinement=options.confine,
    )
    issuer = None
    if any(oauth):
        issuer = import_or_end("cobre.mcp.oauth").Issuer(*oauth, tuple(options.oauth_scope))
    address = main_module.Address(
        options.transport, options.host, options.port, options.token_file, tuple(options.allowed_host), issuer
    )
    status: int = main_module.serve(settings, address)
    return status


def build_parser() -> Parser:
    """Describe the options of ``cobre mcp``."""
    parser = Parser("cobre mcp", DESCRIPTION)
    add = parser.add_argument
    add("--transport", choices=("stdio", "http"), default="stdio", help="stdio (default) or streamable HTTP")
    add("--host", default="127.0.0.1", help="address for http (default 127.0.0.1; others need a token)")
    add("--port", type=whole_number, default=3000, help="port for http (default 3000; 0: any free one)")
    add(
        "--allowed-dirs",
        nargs="+",
        metavar="DIR",
        help=f"folders that agents may use (default: {DIRECTORIES}, or the working folder)",
    )
    add("--allow-write", action="store_true", help="let agents start runs and write results")
    add(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="file with the bearer token that http clients must send; no other user may read it",
    )
    add("--oauth-issuer", metavar="URL", help="accept tokens that this OAuth server signed, for http clients")
    add("--oauth-resource", metavar="URL", help="address of this server that such tokens must be for")
    add("--oauth-keys", type=Path, metavar="FILE", help="public keys of that OAuth server (JWKS)")
    add("--oauth-scope", action="append", default=[], metavar="NAME", help="scope that such tokens must have")
    add(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another name that http clients may call this machine, such as that of a proxy",
    )
    add("--max-runs", type=positive_int, default=1, metavar="N", help="runs at a time (default 1)")
    add("--max-workers", type=positive_int, default=4, metavar="N", help="processes of a run (default 4)")
    add(
        "--max-seconds",
        type=positive_float,
        default=86400.0,
        metavar="S",
        help="a longer run is stopped after its iteration (default 86400)",
    )
    add(
        "--max-bytes",
        type=positive_int,
        default=60_000,
        metavar="N",
        help="length of an answer (default 60000, about 25000 tokens)",
    )
    add(
        "--max-calls-per-minute",
        type=positive_int,
        default=600,
        metavar="N",
        help="calls of all clients (default 600)",
    )
    add(
        "--min-free-mb",
        type=whole_number,
        default=200,
        metavar="N",
        help="write nothing if the disk has less space (default 200)",
    )
    add(
        "--confine",
        choices=("auto", "require", "off"),
        default="auto",
        help="let the kernel enforce the folders: where it can (default), or else not at all (require), or off",
    )
    return parser


def script() -> int:
    """``cobre-mcp …``: the same as ``cobre mcp …``."""
    return run_command(["mcp", *sys.argv[1:]])


def _open_server(*, over_http: bool) -> Any:
    """The module that serves; an error that says how to install it where the SDK is missing."""
    try:
        with import_or_end("cobre.mcp.quick_start").quick_imports(over_http=over_http):
            return import_or_end("cobre.mcp.main")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise CobreError(
            "serving agents needs the MCP SDK, which is not installed", suggestion="pip install 'mcp>=2.1,<3'"
        ) from error

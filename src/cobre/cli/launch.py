"""``cobre launch``: several ranks of a program."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cobre.cli import import_or_end
from cobre.cli.launch_attempts import Attempts
from cobre.cli.parser import Parser, positive_float, positive_int, whole_number
from cobre.comm.backend import Nodes
from cobre.comm.launch.regroup import REJOIN_S
from cobre.comm.launch.request import Request
from cobre.comm.selection import DEFAULT_FOR_MANY

__all__ = ["main"]

DESCRIPTION = """\
Start N ranks of a program on this machine and show what they print, each line whole and behind its rank.

  cobre launch -n 4 train.py --rate 0.1        a Python file, with this interpreter
  cobre launch -n 4 -m package.module          a module
  cobre launch -n 4 -- ./simulate --fast       any executable

In the program, cobre.comm.create_communicator() finds the other ranks.
"""

USAGE = """\
cobre launch -n N [options] [--] program [argument …]
       cobre launch -n N [options] -m module [argument …]"""

EPILOG = """\
how it ends
  The first rank that fails ends the others after a short grace. Its traceback comes last, and its exit status
  is the launcher's: 128+n if signal n killed it. A rank that only reports another's failure is never blamed.
  Ctrl-C reaches every rank as KeyboardInterrupt; a second one kills them. Other signals are forwarded.
  If the launcher itself is killed, the ranks are, too.
  With --max-restarts R it starts all ranks again when one was killed; one that dies twice in a row is left out.
  COBRE_LAUNCH_RESTART then holds the number of restarts, and `cobre run` continues from its last checkpoint.
  Over several machines give --max-restarts to each launcher: a machine that does not come back is left out with its
  ranks, except machine 0, which holds rank 0.

several machines
  Start the same command on each, with its own --node-rank, and with one COBRE_TCP_SECRET for all:
    COBRE_TCP_SECRET=… cobre launch -n 8 --backend tcp --nodes 2 --node-rank 0 --coordinator host0:29500 train.py
    COBRE_TCP_SECRET=… cobre launch -n 8 --backend tcp --nodes 2 --node-rank 1 --coordinator host0:29500 train.py

mpi
  Starts the mpiexec of mpi4py's library. Options that are not listed here are passed on to it:
    cobre launch -n 8 --backend mpi --bind-to core -- train.py

environment
  OMP_NUM_THREADS and similar variables are set to CPUs divided by ranks unless you set them. COBRE_COMM_TRACE=FILE
  writes a timeline of all collectives that https://ui.perfetto.dev opens. NO_COLOR turns colours off.
"""

VALUED = {
    "-n",
    "--backend",
    "--log-dir",
    "--timeout",
    "--grace",
    "--max-restarts",
    "--rejoin",
    "--nodes",
    "--node-rank",
    "--coordinator",
}
FLAGS = {"--no-prefix", "-q", "--quiet", "-h", "--help"}


def main(arguments: Sequence[str]) -> int:
    """Parse, launch, and say how it ended."""
    parser = build_parser()
    options, passed_on = _parse(parser, arguments)
    request = Request(
        argv=options.program,
        size=options.size,
        backend=options.backend,
        passed_on=passed_on,
        nodes=_nodes(parser, options),
        timeout=options.timeout,
        grace_s=options.grace,
    )
    import_or_end("cobre._native")  # here, and not by the backend while Ctrl-C would be a traceback
    return Attempts(request, options).run()


def _nodes(parser: Parser, options: argparse.Namespace) -> Nodes | None:
    given = [options.nodes, options.node_rank, options.coordinator]
    if given == [None, None, None]:
        return None
    if None in given:
        parser.error("--nodes, --node-rank and --coordinator go together")
    if not 0 <= options.node_rank < options.nodes:
        parser.error(f"--node-rank {options.node_rank} is not one of 0..{options.nodes - 1}")
    if options.size < options.nodes:
        parser.error(
            f"-n {options.size} ranks do not reach {options.nodes} nodes; -n counts the ranks of all nodes"
        )
    return Nodes(options.size, options.nodes, options.node_rank, options.coordinator)


def _parse(parser: Parser, arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, with the whole command in ``program``, and what is to be passed on."""
    own, program = _split(parser, list(arguments))
    options, passed_on = parser.parse_known_args(own)
    options.program = program
    if not program:
        parser.error("there is no program to start")
    if program[0].endswith(".py") and not Path(program[0]).is_file():
        parser.error(f"there is no file {program[0]}")
    return options, passed_on


def _split(parser: Parser, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our own options, and the program with everything behind it, which is never looked into."""
    position = 0
    while position < len(arguments):
        word = arguments[position]
        if word == "--":
            return arguments[:position], arguments[position + 1 :]
        if word == "-m" or not word.startswith("-"):
            return arguments[:position], arguments[position:]
        if word.startswith("-n") and word[2:3].isalpha():  # argparse would read it as the value of -n
            parser.error(f"{word} is no option; -n N says how many ranks, -{word} is passed on to mpiexec")
        if word.partition("=")[0] not in VALUED | FLAGS and not word.startswith("-n"):
            # The next word may be this option's value or the program.
            if "--" not in arguments[position:]:
                parser.error(f"unknown option {word}; put -- between what is to be passed on and the program")
            end = arguments.index("--", position)
            return arguments[:end], arguments[end + 1 :]
        position += 2 if word in VALUED else 1
    return arguments, []


def build_parser() -> Parser:
    """Describe the options of ``cobre launch``."""
    parser = Parser("cobre launch", DESCRIPTION, EPILOG)
    parser.usage = USAGE
    add = parser.add_argument
    add(
        "-n",
        type=positive_int,
        required=True,
        metavar="N",
        dest="size",
        help="how many ranks, on all machines together",
    )
    add(
        "--backend",
        default=DEFAULT_FOR_MANY,
        metavar="NAME",
        help="how they communicate: shm (default), tcp, mpi, …",
    )
    add("--log-dir", type=Path, metavar="DIR", help="also write what each rank prints to DIR/rank<r>.log")
    add("--no-prefix", action="store_false", dest="prefix", help="show lines without their [rank]")
    add("-q", "--quiet", action="store_true", help="show nothing but a failure")
    add("--timeout", type=positive_float, metavar="S", help="kill all ranks after S seconds")
    add(
        "--grace",
        type=positive_float,
        metavar="S",
        help="give ranks S seconds to end once one has failed (default 2)",
    )
    add(
        "--max-restarts",
        type=whole_number,
        default=0,
        metavar="R",
        help="start all ranks again, up to R times, if one is killed (default 0)",
    )
    add(
        "--rejoin",
        type=positive_float,
        default=REJOIN_S,
        metavar="S",
        help="leave out a machine that is not back S seconds after a rank was killed (default 30)",
    )
    add("--nodes", type=positive_int, metavar="M", help="machines that take part (default: this one)")
    add("--node-rank", type=int, metavar="I", help="which of them this is, from 0")
    add("--coordinator", metavar="HOST:PORT", help="where rank 0 listens, on machine 0")
    return parser

"""``cobre run``: train and simulate a case."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.cli.parser import Parser
from cobre.cli.run_in_ui import run_in_ui
from cobre.cli.running import add_arguments, execute
from cobre.study import RunPlan

__all__ = ["main"]

DESCRIPTION = """\
Train the policy of a case, simulate it where config.json asks for that, and write everything.

  cobre run CASE                        in this process, or as one rank of mpiexec, srun or cobre launch
  cobre run CASE -n 4                   on four processes of this machine
  cobre run CASE --threads auto         in this process, with a thread for every free processor
  cobre run CASE -n 4 --output results  the same bits, whatever the number of processes and threads
  cobre run CASE --scenarios 500        train, then simulate 500 scenarios
  cobre run CASE --simulate-only        simulate the policy that is in the output folder
  cobre run CASE --tui                  watch it in the terminal, and steer it (see cobre tui)
  cobre run CASE --resume               continue a run that was stopped or killed, to the same bits

One Ctrl-C (or SIGTERM) ends training after the running iteration and keeps its policy; a second one ends it at once.
"""

EPILOG = """\
exit status
  0 done      1 the case is not valid   2 a folder or disk   3 a linear program had no solution   4 anything else
  130, 143    stopped by Ctrl-C or SIGTERM: the policy of the finished iterations is written, without _SUCCESS

files in the output folder
  checkpoint/                    what --resume continues from: saved every ten minutes and at the end
  policy/                        what `cobre.Policy.load` reads
  training/convergence.parquet   bounds and times, one row per iteration
  training/metadata.json         how it ended        training/timings.json   where the time went
  training/events.jsonl          what happened, one line of JSON each: cobre schema export describes them
  training/run.json              which run it is, and where it listens: cobre tui DIR steers it
  training/dictionaries/         what the columns, codes and ids of all tables mean
  simulation/                    tables by scenario: costs, hydros, thermals, buses, exchanges, ...
  _SUCCESS                       written last: all results are there; then events.jsonl gets the last event
"""


OF_THE_UI = ("--tui", "--ascii", "--no-color")


def build_parser() -> Parser:
    """Describe the options of ``cobre run``."""
    parser = Parser("cobre run", DESCRIPTION, EPILOG)
    add_arguments(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--skip-simulation", action="store_true", help="train only, whatever config.json says")
    what.add_argument(
        "--simulate-only", action="store_true", help="do not train: simulate the policy in the output folder"
    )
    start = parser.add_mutually_exclusive_group()
    start.add_argument(
        "--resume",
        action="store_const",
        const=True,
        dest="resume",
        help="continue the run in the output folder from its last checkpoint",
    )
    start.add_argument(
        "--fresh",
        action="store_const",
        const=False,
        dest="resume",
        help="start again, even if the output folder holds a run that did not end",
    )
    parser.add_argument(
        "--tui", action="store_true", help="watch the run in the terminal UI; leaving it does not end the run"
    )
    parser.add_argument("--ascii", action="store_true", help="with --tui: draw with ASCII characters only")
    parser.add_argument("--no-color", action="store_true", help="with --tui: use no colours")
    parser.set_defaults(policy=None, resume=None)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Train, simulate and show; the exit status."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.skip_simulation and options.scenarios is not None:
        parser.error("argument --scenarios: not allowed with argument --skip-simulation")
    if options.simulate_only and options.resume is not None:
        parser.error("--resume and --fresh are about training, and --simulate-only does not train")
    if options.tui:
        return run_in_ui(options, [word for word in arguments if word not in OF_THE_UI])
    if options.ascii or options.no_color:
        parser.error("--ascii and --no-color are about the terminal UI: add --tui")
    plan = RunPlan(
        trains=False if options.simulate_only else None,
        simulates=False if options.skip_simulation else None,
        scenarios=options.scenarios,
    )
    return execute("run", options, plan)

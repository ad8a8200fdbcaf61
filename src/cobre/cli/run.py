"""``cobre run``: train and simulate a case."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.cli.parser import Parser
from cobre.cli.running import add_arguments, execute
from cobre.study import RunPlan

__all__ = ["main"]

DESCRIPTION = """\
Train the policy of a case, simulate it where config.json asks for that, and write everything.

  cobre run CASE                        in this process, or as one rank of mpiexec, srun or cobre launch
  cobre run CASE -n 4                   on four processes of this machine
  cobre run CASE -n 4 --output results  the same bits, whatever the number of processes
  cobre run CASE --scenarios 500        train, then simulate 500 scenarios
  cobre run CASE --simulate-only        simulate the policy that is in the output folder
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
  training/dictionaries/         what the columns, codes and ids of all tables mean
  simulation/                    tables by scenario: costs, hydros, thermals, buses, exchanges, ...
  _SUCCESS                       written last: everything above is there
"""


def main(arguments: Sequence[str]) -> int:
    """Train, simulate and show; the exit status."""
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
    parser.set_defaults(policy=None, resume=None)
    options = parser.parse_args(arguments)
    if options.skip_simulation and options.scenarios is not None:
        parser.error("argument --scenarios: not allowed with argument --skip-simulation")
    if options.simulate_only and options.resume is not None:
        parser.error("--resume and --fresh are about training, and --simulate-only does not train")
    plan = RunPlan(
        trains=False if options.simulate_only else None,
        simulates=False if options.skip_simulation else None,
        scenarios=options.scenarios,
    )
    return execute("run", options, plan)

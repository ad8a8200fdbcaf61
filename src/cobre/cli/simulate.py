"""``cobre simulate``: run scenarios of a case under a trained policy."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.cli.parser import Parser
from cobre.cli.running import add_arguments, execute
from cobre.study import RunPlan

__all__ = ["main"]

DESCRIPTION = """\
Simulate a trained policy: run scenarios of a case under it and write what every plant, line and bus does.

  cobre simulate CASE                          the policy of CASE/output, scenarios as config.json says
  cobre simulate CASE -n 4 --scenarios 2000    on four processes of this machine
  cobre simulate CASE --policy DIR --output R  another policy, results in R

The tables are the same to the bit on any number of processes. In Python: cobre.load_results(DIR).simulation.
"""

EPILOG = """\
exit status
  0 done      1 the case or the policy is not valid   2 a folder or disk   3 a linear program had no solution
  4 anything else   130, 143   stopped by Ctrl-C or SIGTERM: no _SUCCESS, the tables are not complete

files in the folder simulation of the output folder
  TABLE/scenario_id=NNNN/data.parquet   costs, hydros, thermals, exchanges, buses, ... one file per scenario
  stage_summary.parquet                 energy, water and cost of every scenario and stage
  scenario_summary.parquet              cost of every scenario      metadata.json   statistics
With "exports": {"layout": "by_table"} in config.json there is one file TABLE/data.parquet per table.
"""


def build_parser() -> Parser:
    """Describe the options of ``cobre simulate``."""
    parser = Parser("cobre simulate", DESCRIPTION, EPILOG)
    add_arguments(parser)
    parser.add_argument(
        "--policy", metavar="DIR", help="folder of the policy (default: policy in the output folder)"
    )
    parser.set_defaults(resume=None)
    return parser


def main(arguments: Sequence[str]) -> int:
    """Simulate and show; the exit status."""
    options = build_parser().parse_args(arguments)
    return execute("simulate", options, RunPlan(trains=False, simulates=True, scenarios=options.scenarios))

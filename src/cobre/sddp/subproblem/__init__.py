"""The stage problem: a case seen from one stage, as an LP that solves patch.

:func:`build_stage_problems` turns a case into one :class:`StageProblem` per stage. Each noun of the system has
a module that adds its columns and rows to an :class:`~cobre.sddp.subproblem.builder.LpBuilder`.
"""

from cobre.sddp.subproblem.layout import ParameterLayout
from cobre.sddp.subproblem.problem import StageProblem, build_stage_problem, build_stage_problems

__all__ = ["ParameterLayout", "StageProblem", "build_stage_problem", "build_stage_problems"]

"""Linear programs solved again and again: templates, patches, cuts and HiGHS. Knows nothing of power systems."""

from cobre.solver.batch import NO_BASIS, BatchOutcome, BatchOutput, Status
from cobre.solver.infeasibility import Violation
from cobre.solver.solver import LpSolver
from cobre.solver.template import LpTemplate, Patches, Target

__all__ = [
    "NO_BASIS",
    "BatchOutcome",
    "BatchOutput",
    "LpSolver",
    "LpTemplate",
    "Patches",
    "Status",
    "Target",
    "Violation",
]

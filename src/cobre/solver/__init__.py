"""Linear programs that are solved many times: templates, patches, cuts and HiGHS. Independent of power systems."""

from cobre._lazy import TYPE_CHECKING, lazy_names
from cobre._native.lp import ThreadPool, linearise
from cobre.solver.batch import COUNTED, LAST_BASIS_STATUS, NO_BASIS, BatchOutcome, BatchOutput, Status
from cobre.solver.paths import PathOutput, count_all, follow_paths
from cobre.solver.solver import LpSolver
from cobre.solver.template import LpTemplate, Patches, Target

if TYPE_CHECKING:
    from cobre.solver.infeasibility import Violation

__all__ = [
    "COUNTED",
    "LAST_BASIS_STATUS",
    "NO_BASIS",
    "BatchOutcome",
    "BatchOutput",
    "LpSolver",
    "LpTemplate",
    "Patches",
    "PathOutput",
    "Status",
    "Target",
    "ThreadPool",
    "Violation",
    "count_all",
    "follow_paths",
    "linearise",
]

__getattr__ = lazy_names(__name__, {"Violation": "cobre.solver.infeasibility"})

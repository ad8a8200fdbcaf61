"""Writes results: each file whole or not at all, and ``_SUCCESS`` after everything else."""

from __future__ import annotations

from cobre.io.write.anticipated import write_fixed_deliveries
from cobre.io.write.folder import SUCCESS, begin, check_owner, claim, fail, finish
from cobre.io.write.generic_constraints import write_generic_constraints
from cobre.io.write.hydro_models import write_hydro_models
from cobre.io.write.model_facts import write_model_facts
from cobre.io.write.run_record import RunRecord
from cobre.io.write.training import write_training

__all__ = [
    "SUCCESS",
    "RunRecord",
    "begin",
    "check_owner",
    "claim",
    "fail",
    "finish",
    "write_fixed_deliveries",
    "write_generic_constraints",
    "write_hydro_models",
    "write_model_facts",
    "write_training",
]

"""Whether the inflow model can be made of what the case says: the last word belongs to the code that makes it."""

from __future__ import annotations

from cobre.core.case import Case
from cobre.errors import ValidationError
from cobre.io.problems import Problems
from cobre.stochastic.inflows import InflowModel
from cobre.stochastic.lags import LagTransition


def check_inflow_model(case: Case, problems: Problems) -> None:
    """Report why inflows or their lags cannot be modelled, if they cannot."""
    stages, scenarios = case.horizon.stages, case.scenarios
    try:
        model = InflowModel.build(
            stages, len(case.system.hydros), scenarios.inflow, scenarios.lags, scenarios.annual
        )
        LagTransition.build(stages, model.n_lags, case.horizon.season_definitions)
    except ValidationError as error:
        stage = error.context.get("stage_id")
        problems.error(
            error.kind,
            error.context.get("file", "scenarios/inflow_seasonal_stats.parquet"),
            error.message,
            error.suggestion,
            entity="" if stage is None else f"stage {stage}",
            field="season_id" if "season_id" in error.context else "stage_id",
            value=error.context.get("season_id", stage),
        )

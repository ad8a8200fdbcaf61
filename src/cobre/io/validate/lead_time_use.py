"""Checks of how far lead times reach, and of constraints on thermals that are decided ahead."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.core.clock import BEFORE, Clock
from cobre.io.assemble.constraints import parse_constraint
from cobre.io.problems import Problems
from cobre.io.read.constraints.expression import ExpressionError
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.thermals import ThermalRecord
from cobre.io.validate.naming import called, listed

THERMALS, CONSTRAINTS = "system/thermals.json", "constraints/generic_constraints.json"
MONTHS_DIFFER_DAYS = 3
"""Months of 28 to 31 days are stages of one length."""


def check_constraints(files: CaseFiles, ahead: set[int], problems: Problems) -> None:
    """Report terms about decisions of ordinary thermals, and about generation where the decision may be meant."""
    for constraint in files.generic_constraints.constraints:
        try:
            terms = parse_constraint(files, constraint).terms
        except ExpressionError:
            continue  # told where references are checked
        place = {
            "entity": called("generic constraint", constraint),
            "field": "expression",
            "value": constraint.expression,
        }
        for term in terms:
            if term.variable == "anticipated_decision" and term.entity_id not in ahead:
                problems.error(
                    "IncompatibleSettings",
                    CONSTRAINTS,
                    f"{term}, but thermal {term.entity_id} is not decided ahead",
                    "use thermal_generation, or give the thermal an anticipated_config",
                    **place,
                    rule="5a.17",
                )
            if term.variable == "thermal_generation" and term.entity_id in ahead:
                problems.warn(
                    "IncompatibleSettings",
                    CONSTRAINTS,
                    f"{term} is what thermal {term.entity_id} delivers in the stage, which was decided before",
                    f"use anticipated_decision({term.entity_id}) if what the stage decides is meant",
                    **place,
                    rule="5a.18",
                )


def check_reach(thermal: ThermalRecord, deciders: Sequence[int], clock: Clock, problems: Problems) -> None:
    """Warn of a lead time too long for any decision of the study, and of one that counts uneven stages.

    ``deciders`` are by delivery stage, those after the study included.
    """
    place = {
        "entity": called("thermal", thermal),
        "field": "anticipated_config",
        "value": str(thermal.anticipated_config),
    }
    if all(decider == BEFORE or decider >= clock.n_stages for decider in deciders):
        problems.warn(
            "IncompatibleSettings",
            THERMALS,
            "its lead time is so long that no stage of the study decides anything: all that it generates was decided "
            "before",
            "shorten it, or declare the stages that it reaches in post_study_stages.json, if that is not meant",
            **place,
            rule="5a.14",
        )
    days = [(last - first).days for first, last in map(clock.interval, range(clock.n_stages))]
    if thermal.anticipated_config is not None and thermal.anticipated_config.lead_stages is not None:
        uneven = [t for t in range(1, clock.n_stages) if days[t] != days[t - 1]]
        if uneven and max(days) - min(days) > MONTHS_DIFFER_DAYS:
            problems.warn(
                "IncompatibleSettings",
                THERMALS,
                f"lead_stages counts stages of different length ({min(days)} to {max(days)} days, from stage "
                f"{listed(clock.horizon.stages[t].id for t in uneven)} on)",
                "use lead_time_hours if a time is meant",
                **place,
                rule="5a.28",
            )

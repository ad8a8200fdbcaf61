"""Checks of ``recent_observations``: inflows between the start of the season under way and the start of the study."""

from __future__ import annotations

from itertools import pairwise

from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles

FILE = "initial_conditions.json"


def check_observations(files: CaseFiles, problems: Problems) -> None:
    """Report windows that are empty, overlap or reach into the study."""
    if "stages.json" in files.damaged or not files.stages.stages:
        return
    begin = min(files.stages.stages, key=lambda stage: stage.id).start_date
    observed = sorted(
        files.initial_conditions.recent_observations, key=lambda each: (each.hydro_id, each.start_date)
    )
    for each in observed:
        place = {"entity": f"hydro {each.hydro_id}", "field": "recent_observations.end_date"}
        if each.end_date <= each.start_date:
            problems.error(
                "OutOfRange",
                FILE,
                f"end_date {each.end_date} is not after start_date {each.start_date}",
                "end_date is the first day after the observation",
                value=str(each.end_date),
                **place,
            )
        elif each.end_date > begin:
            problems.error(
                "OutOfRange",
                FILE,
                f"the observation from {each.start_date} to {each.end_date} reaches into the study, which starts on "
                f"{begin}",
                f"end it on {begin} or before",
                value=str(each.end_date),
                **place,
            )
        if each.value_m3s < 0.0 and files.generation.is_018:
            problems.warn(
                "OutOfRange",
                Place(FILE, f"hydro {each.hydro_id}", "recent_observations.value_m3s", each.value_m3s),
                f"value_m3s = {each.value_m3s:g} from {each.start_date} to {each.end_date} is negative",
                "check the observation; lags may start below 0",
                rule="5a.34a",
            )
    for first, second in pairwise(observed):
        if first.hydro_id == second.hydro_id and second.start_date < first.end_date:
            problems.error(
                "OutOfRange",
                Place(
                    FILE, f"hydro {second.hydro_id}", "recent_observations.start_date", str(second.start_date)
                ),
                f"the observation from {second.start_date} on overlaps the one from {first.start_date} to "
                f"{first.end_date}",
                "let every day be observed once",
            )

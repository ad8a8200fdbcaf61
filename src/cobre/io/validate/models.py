"""Checks of production models: ranges that overlap, settings that exclude each other."""

from __future__ import annotations

from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydro_production_models import SeasonalRecord, StageRangesRecord
from cobre.io.validate.notes import report_repeated

FILE = "system/hydro_production_models.json"


def check_models(files: CaseFiles, problems: Problems) -> None:
    """Report choices of production models that are not clear."""
    for entry in files.production_models.production_models:
        if isinstance(entry, StageRangesRecord):
            _check_ranges(entry, problems)
        else:
            _check_seasons(entry, problems)


def _check_ranges(entry: StageRangesRecord, problems: Problems) -> None:
    entity = f"hydro {entry.hydro_id}"
    last: int | None = None
    for position, each in enumerate(sorted(entry.stage_ranges, key=lambda each: each.start_stage_id)):
        if each.end_stage_id is not None and each.start_stage_id > each.end_stage_id:
            problems.error(
                "OutOfRange",
                Place(FILE, entity, "stage_ranges.start_stage_id", each.start_stage_id),
                f"start_stage_id = {each.start_stage_id} is after end_stage_id = {each.end_stage_id}",
                "let the range end where or after it starts",
            )
        if position and (last is None or each.start_stage_id <= last):
            problems.error(
                "IncompatibleSettings",
                Place(FILE, entity, "stage_ranges.start_stage_id", each.start_stage_id),
                f"two stage ranges hold for stage {each.start_stage_id}",
                "let ranges follow each other; end_stage_id belongs to the range",
            )
        last = each.end_stage_id


def _check_seasons(entry: SeasonalRecord, problems: Problems) -> None:
    ids = [season.season_id for season in entry.seasons]
    where = (FILE, f"hydro {entry.hydro_id}", "seasons.season_id")
    report_repeated(ids, problems, where, "season {} is there twice", "give each season one model")

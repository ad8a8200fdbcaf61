"""Stages, blocks, seasons, discounts and risk measures as `cobre.core.horizon` has them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from cobre.core.horizon import (
    Block,
    Horizon,
    PostStudyStage,
    PreStudyStage,
    RiskMeasure,
    Season,
    SeasonDefinitions,
    Stage,
    discount_factor,
)
from cobre.io.assemble.graph import build_graph
from cobre.io.read.post_study_stages import PostStudyRecord
from cobre.io.read.stages import SeasonDefinitionsRecord, StageRecord, StagesRecord
from cobre.stochastic.fitting.calendar import Level, levels_of
from cobre.stochastic.periods import season_year


def build_horizon(record: StagesRecord, after: PostStudyRecord | None = None) -> Horizon:
    """The horizon in order of stage ids, with the stages ``after`` the study."""
    rates = {
        transition.source_id: transition.annual_discount_rate_override
        for transition in record.policy_graph.transitions
        if transition.annual_discount_rate_override is not None and not record.policy_graph.nodes
    }
    base = record.policy_graph.annual_discount_rate
    seasons = build_seasons(record.season_definitions)
    stages = [
        _build_stage(stage, _first_given(stage.annual_discount_rate_override, rates.get(stage.id), base))
        for stage in sorted(record.stages, key=lambda stage: stage.id)
    ]
    return Horizon(
        stages=tuple(replace(stage, season_year=season_year(stage, seasons)) for stage in stages),
        pre_study_stages=tuple(
            PreStudyStage(stage.id, stage.start_date, stage.end_date, stage.season_id)
            for stage in sorted(record.pre_study_stages, key=lambda stage: stage.id)
        ),
        season_definitions=seasons,
        graph=build_graph(record),
        post_study=() if after is None else _build_post_study(after, base),
    )


def _build_post_study(record: PostStudyRecord, annual_rate: float) -> tuple[PostStudyStage, ...]:
    """In order of dates; discounting goes on at the rate of the graph."""
    return tuple(
        PostStudyStage(
            stage.start_date,
            float(stage.duration_hours),
            discount_factor(annual_rate, stage.duration_hours / 24.0),
        )
        for stage in record.stages
    )


def _first_given(*rates: float | None) -> float:
    return next(rate for rate in rates if rate is not None)


def _build_stage(record: StageRecord, annual_rate: float) -> Stage:
    return Stage(
        id=record.id,
        start_date=record.start_date,
        end_date=record.end_date,
        blocks=tuple(
            Block(block.id, block.name, float(block.hours))
            for block in sorted(record.blocks, key=lambda block: block.id)
        ),
        n_openings=record.n_openings,
        season_id=record.season_id,
        risk=_build_risk(record),
        sampling_method=record.sampling_method,
        discount=discount_factor(annual_rate, (record.end_date - record.start_date).days),
        is_chronological=record.block_mode == "chronological" and len(record.blocks) > 1,
    )


def _build_risk(record: StageRecord) -> RiskMeasure:
    if isinstance(record.risk_measure, str):
        return RiskMeasure()
    return RiskMeasure(weight=record.risk_measure.cvar.weight, tail=record.risk_measure.cvar.alpha)


def build_seasons(record: SeasonDefinitionsRecord | None) -> SeasonDefinitions | None:
    """Custom seasons keep the order of the file: where they overlap, the first listed wins."""
    if record is None:
        return None
    is_custom = record.cycle_type == "custom"
    seasons = record.seasons if is_custom else sorted(record.seasons, key=lambda season: season.id)
    return SeasonDefinitions(
        record.cycle_type,
        tuple(Season(s.id, s.label, s.month_start, s.day_start, s.month_end, s.day_end) for s in seasons),
    )


def with_seasons(record: StagesRecord) -> StagesRecord:
    """``record`` with the season of its first day for every stage that names none, if the calendar has one level."""
    seasons = build_seasons(record.season_definitions)
    levels = () if seasons is None else levels_of(seasons)
    if len(levels) != 1 or all(stage.season_id is not None for stage in record.stages):
        return record
    (level,) = levels
    stages = tuple(
        stage
        if stage.season_id is not None
        else stage.model_copy(update={"season_id": _season_at(level, stage.start_date)})
        for stage in record.stages
    )
    return record.model_copy(update={"stages": stages})


def _season_at(level: Level, date: dt.date) -> int | None:
    for year in (date.isocalendar().year, date.year, date.year - 1):
        for position, season_id in enumerate(level.season_ids):
            start, end = level.occurrence(position, year)
            if start <= date < end:
                return season_id
    return None

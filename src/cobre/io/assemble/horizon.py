"""Stages, blocks, seasons, discounts and risk measures as `cobre.core.horizon` has them."""

from __future__ import annotations

from dataclasses import replace

from cobre.core.horizon import (
    Block,
    Horizon,
    PreStudyStage,
    RiskMeasure,
    Season,
    SeasonDefinitions,
    Stage,
    discount_factor,
)
from cobre.io.read.stages import SeasonDefinitionsRecord, StageRecord, StagesRecord
from cobre.stochastic.periods import season_year


def build_horizon(record: StagesRecord) -> Horizon:
    """The horizon in order of stage ids."""
    rates = {
        transition.source_id: transition.annual_discount_rate_override
        for transition in record.policy_graph.transitions
        if transition.annual_discount_rate_override is not None
    }
    base = record.policy_graph.annual_discount_rate
    seasons = _build_seasons(record.season_definitions)
    stages = [
        _build_stage(stage, rates.get(stage.id, base))
        for stage in sorted(record.stages, key=lambda stage: stage.id)
    ]
    return Horizon(
        stages=tuple(replace(stage, season_year=season_year(stage, seasons)) for stage in stages),
        pre_study_stages=tuple(
            PreStudyStage(stage.id, stage.start_date, stage.end_date, stage.season_id)
            for stage in sorted(record.pre_study_stages, key=lambda stage: stage.id)
        ),
        season_definitions=seasons,
    )


def _build_stage(record: StageRecord, annual_rate: float) -> Stage:
    return Stage(
        id=record.id,
        start_date=record.start_date,
        end_date=record.end_date,
        blocks=tuple(
            Block(block.id, block.name, float(block.hours))
            for block in sorted(record.blocks, key=lambda block: block.id)
        ),
        n_openings=record.num_scenarios,
        season_id=record.season_id,
        risk=_build_risk(record),
        sampling_method=record.sampling_method,
        discount=discount_factor(annual_rate, (record.end_date - record.start_date).days),
    )


def _build_risk(record: StageRecord) -> RiskMeasure:
    if isinstance(record.risk_measure, str):
        return RiskMeasure()
    return RiskMeasure(weight=record.risk_measure.cvar.weight, tail=record.risk_measure.cvar.alpha)


def _build_seasons(record: SeasonDefinitionsRecord | None) -> SeasonDefinitions | None:
    """Custom seasons keep the order of the file: where they overlap, the first listed wins."""
    if record is None:
        return None
    is_custom = record.cycle_type == "custom"
    seasons = record.seasons if is_custom else sorted(record.seasons, key=lambda season: season.id)
    return SeasonDefinitions(
        record.cycle_type,
        tuple(Season(s.id, s.label, s.month_start, s.day_start, s.month_end, s.day_end) for s in seasons),
    )

"""``system/hydro_production_models.json``: which production model a hydro has in which stage."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cobre.io.read.documents import Document
from cobre.io.read.records import Count, Id, NonNegative, Record

Model = Literal["constant_productivity", "linearized_head", "fpha"]


class FittingWindowRecord(Record):
    """Volumes over which planes are fitted."""

    volume_min_hm3: NonNegative | None = None
    volume_max_hm3: NonNegative | None = None
    volume_min_percentile: NonNegative | None = None
    volume_max_percentile: NonNegative | None = None


class FphaConfigRecord(Record):
    """Where planes come from."""

    source: Literal["precomputed", "computed"]
    volume_discretization_points: Count | None = None
    turbine_discretization_points: Count | None = None
    spillage_discretization_points: Count | None = None
    max_planes_per_hydro: Count | None = None
    fitting_window: FittingWindowRecord | None = None


class ModelChoice(Record):
    """A production model and its details."""

    model: Model
    productivity_override: NonNegative | None = None
    fpha_config: FphaConfigRecord | None = None


class StageRangeRecord(ModelChoice):
    """The model from one stage to another, both included; null means to the end."""

    start_stage_id: Id
    end_stage_id: Id | None = None


class SeasonModelRecord(ModelChoice):
    """The model of a season."""

    season_id: Id


class StageRangesRecord(Record):
    """Models chosen by stage."""

    hydro_id: Id
    selection_mode: Literal["stage_ranges"]
    stage_ranges: tuple[StageRangeRecord, ...]


class SeasonalRecord(Record):
    """Models chosen by season."""

    hydro_id: Id
    selection_mode: Literal["seasonal"]
    default_model: Model
    seasons: tuple[SeasonModelRecord, ...]


class ProductionModelsRecord(Record):
    """The whole file."""

    production_models: tuple[
        Annotated[StageRangesRecord | SeasonalRecord, Field(discriminator="selection_mode")], ...
    ] = ()


FILE = Document(
    "system/hydro_production_models.json",
    ProductionModelsRecord,
    "production_models",
    unique={"production_models": ("hydro_id",)},
)

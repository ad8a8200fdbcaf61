"""``system/hydro_production_models.json``: which production model a hydro has in which stage."""

from typing import Annotated, Literal

from pydantic import Field

from cobre.io.read.documents import listing
from cobre.io.read.records import Count, Id, NonNegative, Positive, Record, Share

Model = Literal["constant_productivity", "linearized_head", "fpha"]
MOST_POINTS = 200
"""Points of a grid in one direction; more would take minutes and give thousands of planes."""


class FittingWindowRecord(Record):
    """Volumes over which planes are fitted."""

    volume_min_hm3: NonNegative | None = None
    volume_max_hm3: NonNegative | None = None
    volume_min_percentile: Share | None = None
    volume_max_percentile: Share | None = None


class FphaConfigRecord(Record):
    """Where planes come from."""

    source: Literal["precomputed", "computed"]
    volume_discretization_points: Annotated[int, Field(ge=1, le=MOST_POINTS)] | None = None
    """5 if it is not given; 1 means a run-of-river plant."""
    turbine_discretization_points: Annotated[int, Field(ge=2, le=MOST_POINTS)] | None = None
    spillage_discretization_points: Count | None = None
    max_planes_per_hydro: Count | None = None
    fitting_window: FittingWindowRecord | None = None
    fit_factor: Literal["least_squares", "none"] = "least_squares"
    """``none``: no plane is below the exact power at a point of the grid."""


class ReferenceVolumeRecord(Record):
    """A volume, absolute or as a share of the range from the lowest to the highest storage."""

    volume_hm3: Positive | None = None
    percentile: Share | None = None


class ChoiceFields(Record):
    """A production model and its details, of both generations."""

    model: Model
    fpha_config: FphaConfigRecord | None = None
    reference_volume: ReferenceVolumeRecord | None = None


class StageRangeFields(Record):
    """From one stage to another, both included; null means to the end."""

    start_stage_id: Id
    end_stage_id: Id | None = None


class ModelChoice(ChoiceFields):
    """A choice where the plant's productivity may be given."""

    productivity_mw_per_m3s: NonNegative | None = None


class StageRangeRecord(ModelChoice, StageRangeFields):
    """The model of some stages."""


class SeasonModelRecord(ModelChoice):
    """The model of a season."""

    season_id: Id


class ByStages(Record):
    """Models chosen by stage."""

    hydro_id: Id
    selection_mode: Literal["stage_ranges"]


class StageRangesRecord(ByStages):
    """Models chosen by stage."""

    stage_ranges: tuple[StageRangeRecord, ...]


class BySeasons(Record):
    """Models chosen by season."""

    hydro_id: Id
    selection_mode: Literal["seasonal"]
    default_model: Model


class SeasonalRecord(BySeasons):
    """Models chosen by season."""

    seasons: tuple[SeasonModelRecord, ...]


class AngleReductionRecord(Record):
    """Fitted planes are merged if their normals enclose less than an angle."""

    method: Literal["angle"]
    tolerance_deg: Annotated[float, Field(ge=0, le=90)]


class DistanceReductionRecord(Record):
    """Fitted planes are merged if their mean squared distance at random points is small."""

    method: Literal["distance"]
    tolerance_pct: NonNegative
    n_samples: Annotated[int, Field(ge=1, le=1_000_000)]


PlaneReductionRecord = AngleReductionRecord | DistanceReductionRecord


class ProductionModelsRecord(Record):
    """The whole file."""

    production_models: tuple[
        Annotated[StageRangesRecord | SeasonalRecord, Field(discriminator="selection_mode")], ...
    ] = ()
    fpha_plane_reduction: Annotated[PlaneReductionRecord, Field(discriminator="method")] | None = None


FILE = listing("system/hydro_production_models.json", ProductionModelsRecord, "hydro_id")

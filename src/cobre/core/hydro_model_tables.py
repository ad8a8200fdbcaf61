"""Tables of what was fitted to hydro plants, below ``hydro_models``."""

from __future__ import annotations

from cobre.core.outputs import Column, TableSchema, identifier, number, table

PLACE = (
    identifier("hydro_id", "id of the hydro plant"),
    identifier("stage_id", "id of the stage in stages.json; null for all stages", is_nullable=True),
)

PLANES = table(
    "fpha_hyperplanes",
    PLACE,
    (
        identifier("plane_id", "plane of the hydro and stage, counted from 0"),
        number("gamma_0", "MW", "constant of the plane"),
        number("gamma_v", "MW/hm3", "by storage"),
        number("gamma_q", "MW/(m3/s)", "by turbined flow"),
        number("gamma_s", "MW/(m3/s)", "by spilled flow"),
        number("kappa", "", "factor of the constant; 1 for fitted planes", is_nullable=True),
        number("valid_v_min_hm3", "hm3", "storage from which the plane holds", is_nullable=True),
        number("valid_v_max_hm3", "hm3", "storage up to which the plane holds", is_nullable=True),
        number("valid_q_max_m3s", "m3/s", "turbined flow up to which the plane holds", is_nullable=True),
    ),
)

DEVIATIONS = table(
    "fpha_deviation_points",
    PLACE,
    (
        number("v", "hm3", "storage of the point"),
        number("q", "m3/s", "turbined flow of the point"),
        number("fph_exact", "MW", "power of the production function, at most the maximum generation"),
        number("fpha_fitted", "MW", "most power that the fitted planes allow"),
        number("deviation", "MW", "fitted minus exact power"),
        number("relative", "", "size of the deviation as a share of the largest exact power"),
    ),
)

EVAPORATION = table(
    "evaporation_models",
    PLACE,
    (
        number("intercept_m3s", "m3/s", "evaporation of an empty reservoir by the line"),
        number("volume_slope_m3s_per_hm3", "(m3/s)/hm3", "by storage"),
        number("reference_volume_hm3", "hm3", "storage at which the line touches the evaporation"),
        Column("source", "str", "", "of the reference volume: user_supplied or default_midpoint"),
    ),
)

HYDRO_MODEL_TABLES: tuple[TableSchema, ...] = (PLANES, DEVIATIONS, EVAPORATION)

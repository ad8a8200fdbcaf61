"""Tables of what was fitted to hydro plants, below ``hydro_models``."""

from __future__ import annotations

from cobre.core.outputs import TableSchema, columns, table

PLACE = columns("""
    hydro_id  i32   id of the hydro plant
    stage_id  i32?  id of the stage in stages.json; null for all stages
""")

PLANES = table(
    "fpha_hyperplanes",
    PLACE,
    """
        plane_id         i32        plane of the hydro and stage, counted from 0
        gamma_0          MW         constant of the plane
        gamma_v          MW/hm3     by storage
        gamma_q          MW/(m3/s)  by turbined flow
        gamma_s          MW/(m3/s)  by spilled flow
        kappa            -?         factor of the constant; 1 for fitted planes
        valid_v_min_hm3  hm3?       storage from which the plane holds
        valid_v_max_hm3  hm3?       storage up to which the plane holds
        valid_q_max_m3s  m3/s?      turbined flow up to which the plane holds
    """,
)

DEVIATIONS = table(
    "fpha_deviation_points",
    PLACE,
    """
        v            hm3   storage of the point
        q            m3/s  turbined flow of the point
        fph_exact    MW    power of the production function, at most the maximum generation
        fpha_fitted  MW    most power that the fitted planes allow
        deviation    MW    fitted minus exact power
        relative     -     size of the deviation as a share of the largest exact power
    """,
)

EVAPORATION = table(
    "evaporation_models",
    PLACE,
    """
        intercept_m3s             m3/s        evaporation of an empty reservoir by the line
        volume_slope_m3s_per_hm3  (m3/s)/hm3  by storage
        reference_volume_hm3      hm3         storage at which the line touches the evaporation
        source                    str         of the reference volume: user_supplied or default_midpoint
    """,
)

HYDRO_MODEL_TABLES: tuple[TableSchema, ...] = (PLANES, DEVIATIONS, EVAPORATION)

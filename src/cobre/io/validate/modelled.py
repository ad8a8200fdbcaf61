"""What the format has and this version does not model.

Whatever would change the optimum is refused, the rest is a warning; both name the field.
"""

from __future__ import annotations

import numpy as np

from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.production import production_of
from cobre.io.problems import Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord
from cobre.io.validate.fit_wanted import HISTORY, wants_fit
from cobre.io.validate.modelled_settings import check_modelled_settings
from cobre.io.validate.naming import called, listed
from cobre.io.validate.noise_members import sources_of
from cobre.io.validate.notes import Notes

STAGES, HYDROS, INITIAL = "stages.json", "system/hydros.json", "initial_conditions.json"


def check_modelled(files: CaseFiles, problems: Problems) -> None:
    """Refuse or warn about everything that is parsed and not modelled."""
    notes = Notes(problems)
    _check_stages(files, notes)
    _check_plants(files, notes)
    _check_initial(files, notes)
    _check_history(files, notes)
    if "config.json" not in files.unusable:
        check_modelled_settings(files, notes)


def _check_stages(files: CaseFiles, notes: Notes) -> None:
    lacking = [stage.id for stage in files.stages.stages if stage.num_openings is None]
    if lacking and not files.stages.policy_graph.nodes:
        notes.refuse(
            STAGES,
            "num_openings",
            None,
            f"num_openings is missing in stage {listed(lacking)}",
            "say how many openings the stage has",
            f"stage {lacking[0]}",
        )
    n_lags = len(files.tables["inflow_lags"]) + len(files.tables["inflow_annual"])
    _check_state_variables(files, bool(n_lags), notes)


def _check_state_variables(files: CaseFiles, has_lags: bool, notes: Notes) -> None:
    without = [s.id for s in files.stages.stages if not s.state_variables.storage]
    if without and files.hydros.hydros:
        notes.warn(
            STAGES,
            "state_variables.storage",
            False,
            f"storage = false in stage {listed(without)} has no effect: storage is always state, since cuts without it "
            "would be no bound",
            "set it to true",
            f"stage {without[0]}",
        )
    other = [s.id for s in files.stages.stages if s.state_variables.inflow_lags is not has_lags]
    if files.generation.is_018 and not has_lags:
        other = []  # without lags both values mean the same
    is_unknown = wants_fit(files) and files.inflow_fit is None
    if other and not is_unknown:
        word = "has lags" if has_lags else "has no lags"
        value = not has_lags
        notes.warn(
            STAGES,
            "state_variables.inflow_lags",
            value,
            f"inflow_lags = {str(value).lower()} in stage {listed(other)} has no effect: the model {word}"
            + (", and cuts without them would be no bound" if has_lags else ""),
            f"set it to {str(has_lags).lower()}",
            f"stage {other[0]}",
        )


def _check_plants(files: CaseFiles, notes: Notes) -> None:
    _check_thermals(files, notes)
    _check_planes(files, notes)
    _check_bounds(files, notes)


def _check_thermals(files: CaseFiles, notes: Notes) -> None:
    if files.reserved_rows:
        notes.warn(
            "constraints/thermal_bounds.parquet",
            "block_id",
            files.reserved_rows,
            f"{files.reserved_rows} rows have a block_id, which 0.5.1 reserves: they have no effect",
            "convert the case to 0.18 and give limits by block there, or leave block_id null for the whole stage",
        )
    for thermal in files.thermals.thermals:
        if thermal.id in files.idle_lead_times:
            notes.warn(
                "system/thermals.json",
                "gnl_config.lag_stages",
                0,
                "gnl_config with lag_stages = 0 has no effect",
                "remove gnl_config",
                called("thermal", thermal),
            )
        if thermal.anticipated_config is not None and not files.generation.is_018:
            notes.refuse(
                "system/thermals.json",
                "gnl_config.lag_stages",
                thermal.anticipated_config.lead_stages,
                f"gnl_config.lag_stages = {thermal.anticipated_config.lead_stages}: what was decided before the study "
                "cannot be said in this generation of the format",
                "convert the case (cobre convert) and add past_anticipated_commitments to initial_conditions.json",
                called("thermal", thermal),
            )


def _check_planes(files: CaseFiles, notes: Notes) -> None:
    if {STAGES, "system/hydro_production_models.json"} & files.damaged:
        return
    horizon = build_horizon(files.stages)
    for hydro in files.hydros.hydros:
        models = [production_of(hydro, stage, files) for stage in horizon.stages]
        is_fitted = any(model.fit_config is not None for model in models)
        rows = int(np.count_nonzero(files.tables["hyperplanes"]["hydro_id"] == hydro.id))
        if rows and not any(model.has_planes and model.fit_config is None for model in models):
            notes.warn(
                "system/fpha_hyperplanes.parquet",
                "hydro_id",
                hydro.id,
                f"its {rows} planes are not used: no stage has the model fpha with given planes",
                "choose fpha with source precomputed in system/hydro_production_models.json, or remove the rows",
                called("hydro", hydro),
            )
        if not is_fitted:
            _warn_of_idle_heads(files, hydro, notes)


def _warn_of_idle_heads(files: CaseFiles, hydro: HydroRecord, notes: Notes) -> None:
    idle = [
        name for name in ("tailrace", "hydraulic_losses", "efficiency") if getattr(hydro, name) is not None
    ]
    if idle:
        notes.warn(
            HYDROS,
            idle[0],
            idle,
            f"{', '.join(idle)} matter only where planes are fitted, which is not the case here",
            "remove them, or ignore this",
            called("hydro", hydro),
        )
    curves = files.tables["tailrace_curves"]
    rows = int(np.count_nonzero(curves["hydro_id"] == hydro.id))
    if rows:
        notes.warn(
            curves.file.path,
            "hydro_id",
            hydro.id,
            f"its {rows} segments are not used: its planes are not fitted",
            "choose fpha with source computed in system/hydro_production_models.json, or remove the rows",
            called("hydro", hydro),
        )


def _check_bounds(files: CaseFiles, notes: Notes) -> None:
    hydro, name = files.tables["hydro_bounds"], files.generation.word("filling_min_rate_m3s")
    filling = {each.id for each in files.hydros.hydros if each.filling is not None}
    for row in np.flatnonzero(~np.isnan(hydro["filling_min_rate_m3s"])).tolist():
        if int(hydro["hydro_id"][row]) not in filling:
            value = float(hydro["filling_min_rate_m3s"][row])
            notes.warn(
                hydro.file.path,
                name,
                value,
                f"{name} = {value:g} has no effect: the hydro is not being filled",
                "remove the value",
                hydro.label(row),
            )


def _check_initial(files: CaseFiles, notes: Notes) -> None:
    initial = files.initial_conditions
    _check_after(files, notes)
    filling = {each.id for each in files.hydros.hydros if each.filling is not None}
    for entry in initial.filling_storage:
        if entry.hydro_id not in filling:
            notes.warn(
                INITIAL,
                "filling_storage.value_hm3",
                entry.value_hm3,
                f"filling_storage = {entry.value_hm3:g} hm3 has no effect: the hydro is not being filled",
                "remove the entry",
                f"hydro {entry.hydro_id}",
            )
    for past in files.past_inflows:
        if past.season_ids is not None:
            notes.warn(
                INITIAL,
                "past_inflows.season_ids",
                list(past.season_ids),
                "season_ids are not used: past inflows are taken in order, the most recent first",
                "remove season_ids, or ignore this if they count back from the first stage",
                f"hydro {past.hydro_id}",
            )
    has_lags = len(files.tables["inflow_lags"]) + len(files.tables["inflow_annual"]) > 0
    is_unknown = wants_fit(files) and files.inflow_fit is None  # the fit failed
    for each in initial.recent_observations if not (has_lags or is_unknown) else ():
        notes.warn(
            INITIAL,
            "recent_observations.value_m3s",
            each.value_m3s,
            f"recent_observations = {each.value_m3s:g} m3/s from {each.start_date} to {each.end_date} is not used",
            "remove recent_observations, which have no effect without lags",
            f"hydro {each.hydro_id}",
        )


def _check_after(files: CaseFiles, notes: Notes) -> None:
    """Stages after the study matter to what is under way as it ends."""
    is_under_way = any(hydro.travel_time_hours for hydro in files.hydros.hydros) or any(
        thermal.anticipated_config is not None for thermal in files.thermals.thermals
    )
    if files.post_study.stages and not is_under_way:
        notes.warn(
            "post_study_stages.json",
            "stages",
            len(files.post_study.stages),
            "the stages after the study have no effect: neither water nor generation is under way as it ends",
            "remove the file",
        )


def _check_history(files: CaseFiles, notes: Notes) -> None:
    if HISTORY not in files.present or wants_fit(files) or _is_drawn_from(files):
        return
    if files.generation.is_018 and len(files.tables["inflow_lags"]) + len(files.tables["inflow_annual"]):
        return  # lags start from it
    n_rows = len(files.tables["inflow_history"])
    notes.warn(
        HISTORY,
        "value_m3s",
        n_rows,
        f"its {n_rows} rows are not used: the inflow model is given",
        "ignore this, or remove the file",
    )


def _is_drawn_from(files: CaseFiles) -> bool:
    """Whether trajectories or openings follow the history."""
    schemes = [source.inflow.scheme for source in sources_of(files).values()]
    return "historical" in schemes or any(
        stage.sampling_method == "historical_residuals" for stage in files.stages.stages
    )

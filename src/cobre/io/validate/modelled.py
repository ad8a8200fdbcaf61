"""What the format has and this version does not model.

Whatever would change the optimum is refused, the rest is a warning; both name the field.
"""

from __future__ import annotations

import numpy as np

from cobre.io.assemble.horizon import build_horizon
from cobre.io.assemble.production import production_of
from cobre.io.problems import Problems
from cobre.io.read.columns import ABSENT
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord
from cobre.io.validate.history import HISTORY, wants_fit
from cobre.io.validate.modelled_settings import check_modelled_settings
from cobre.io.validate.naming import called, listed
from cobre.io.validate.noise_members import sources_of
from cobre.io.validate.notes import CANNOT_RUN, Notes

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
    if files.stages.policy_graph.type == "cyclic":
        notes.refuse(
            STAGES,
            "policy_graph.type",
            "cyclic",
            "policy_graph.type = 'cyclic' is not modelled yet",
            CANNOT_RUN,
        )
    n_lags = len(files.tables["inflow_lags"]) + len(files.tables["inflow_annual"])
    for stage in files.stages.stages:
        entity = f"stage {stage.id}"
        if stage.block_mode == "chronological":
            is_alone = len(stage.blocks) == 1
            report = notes.warn if is_alone else notes.refuse
            report(
                STAGES,
                "block_mode",
                "chronological",
                "block_mode = 'chronological' is not modelled yet",
                "use parallel, which is the same with one block" if is_alone else CANNOT_RUN,
                entity,
            )
    _check_state_variables(files, bool(n_lags), notes)


def _check_state_variables(files: CaseFiles, has_lags: bool, notes: Notes) -> None:
    without = [s.id for s in files.stages.stages if not s.state_variables.storage]
    if without and files.hydros.hydros:
        notes.warn(
            STAGES,
            "state_variables.storage",
            False,
            f"storage = false in stage {listed(without)} has no effect: storage is always state",
            "set it to true",
            f"stage {without[0]}",
        )
    other = [s.id for s in files.stages.stages if s.state_variables.inflow_lags is not has_lags]
    is_unknown = wants_fit(files) and files.inflow_fit is None
    if other and not is_unknown:
        word = "has lags" if has_lags else "has no lags"
        value = not has_lags
        notes.warn(
            STAGES,
            "state_variables.inflow_lags",
            value,
            f"inflow_lags = {str(value).lower()} in stage {listed(other)} has no effect: the model {word}",
            f"set it to {str(has_lags).lower()}",
            f"stage {other[0]}",
        )


def _check_plants(files: CaseFiles, notes: Notes) -> None:
    for thermal in files.thermals.thermals:
        if thermal.gnl_config is not None:
            lag = thermal.gnl_config.lag_stages
            report = notes.warn if lag == 0 else notes.refuse
            report(
                "system/thermals.json",
                "gnl_config.lag_stages",
                lag,
                f"gnl_config with lag_stages = {lag}: lead times of fuel are not modelled yet",
                "remove gnl_config, which has no effect" if lag == 0 else CANNOT_RUN,
                called("thermal", thermal),
            )
    ids = sorted(stage.id for stage in files.stages.stages)
    for hydro in files.hydros.hydros:
        entity = called("hydro", hydro)
        entry, leave = hydro.entry_stage_id, hydro.exit_stage_id
        if ids and entry is not None and entry > ids[0]:
            notes.refuse(
                HYDROS,
                "entry_stage_id",
                entry,
                f"entry_stage_id = {entry}: a hydro that starts after stage {ids[0]} is not modelled yet",
                CANNOT_RUN,
                entity,
            )
        if ids and leave is not None and leave <= ids[-1]:
            notes.refuse(
                HYDROS,
                "exit_stage_id",
                leave,
                f"exit_stage_id = {leave}: a hydro that ends before the study is not modelled yet",
                CANNOT_RUN,
                entity,
            )
        if hydro.filling is not None:
            notes.refuse(
                HYDROS,
                "filling",
                hydro.filling.start_stage_id,
                f"filling from stage {hydro.filling.start_stage_id} on is not modelled yet",
                CANNOT_RUN,
                entity,
            )
    _check_planes(files, notes)
    _check_bounds(files, notes)


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
    thermal, hydro = files.tables["thermal_bounds"], files.tables["hydro_bounds"]
    for row in np.flatnonzero(thermal["block_id"] != ABSENT).tolist():
        block = int(thermal["block_id"][row])
        notes.refuse(
            thermal.file.path,
            "block_id",
            block,
            f"block_id = {block}: limits of thermals by block are not modelled",
            f"write the limit as a generic constraint on thermal_generation({int(thermal['thermal_id'][row])}) with a "
            "bound in that block",
            thermal.label(row),
        )
    filling = {each.id for each in files.hydros.hydros if each.filling is not None}
    for row in np.flatnonzero(~np.isnan(hydro["filling_inflow_m3s"])).tolist():
        if int(hydro["hydro_id"][row]) not in filling:
            value = float(hydro["filling_inflow_m3s"][row])
            notes.warn(
                hydro.file.path,
                "filling_inflow_m3s",
                value,
                f"filling_inflow_m3s = {value:g} has no effect: the hydro is not being filled",
                "remove the value",
                hydro.label(row),
            )


def _check_initial(files: CaseFiles, notes: Notes) -> None:
    initial = files.initial_conditions
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
    for past in initial.past_inflows:
        if past.season_ids is not None:
            notes.warn(
                INITIAL,
                "past_inflows.season_ids",
                list(past.season_ids),
                "season_ids are not used: past inflows are taken in order, the most recent first",
                "remove season_ids, or ignore this if they count back from the first stage",
                f"hydro {past.hydro_id}",
            )
    n_lags = len(files.tables["inflow_lags"]) + len(files.tables["inflow_annual"])
    for each in initial.recent_observations if not n_lags else ():
        notes.warn(
            INITIAL,
            "recent_observations.value_m3s",
            each.value_m3s,
            f"recent_observations = {each.value_m3s:g} m3/s from {each.start_date} to {each.end_date} is not used",
            "remove recent_observations, which have no effect without lags",
            f"hydro {each.hydro_id}",
        )


def _check_history(files: CaseFiles, notes: Notes) -> None:
    if HISTORY not in files.present or wants_fit(files) or _is_drawn_from(files):
        return
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

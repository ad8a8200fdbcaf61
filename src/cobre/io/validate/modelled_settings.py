"""What ``config.json`` can ask for and this version does not do."""

from __future__ import annotations

from cobre.io.read.files import CaseFiles
from cobre.io.validate.notes import Notes

CONFIG = "config.json"
FORWARD_SCHEMES = ("in_sample", "out_of_sample", "external")


def check_modelled_settings(files: CaseFiles, notes: Notes) -> None:
    """Refuse or warn about settings that have no effect yet."""
    _check_training(files, notes)
    _check_other_settings(files, notes)


def _check_training(files: CaseFiles, notes: Notes) -> None:
    training = files.config.training
    if training.cut_formulation == "multi":
        notes.warn(
            CONFIG,
            "training.cut_formulation",
            "multi",
            "cut_formulation = 'multi' is not used: one averaged cut per trial point is added",
            "use single; the optimum is the same",
        )
    if training.forward_pass is not None and training.forward_pass.type is not None:
        notes.warn(
            CONFIG,
            "training.forward_pass.type",
            training.forward_pass.type,
            f"forward_pass.type = {training.forward_pass.type!r} is not used",
            "remove it",
        )
    selection = training.cut_selection
    if selection is not None and selection.basis_activity_window != 5:
        notes.warn(
            CONFIG,
            "training.cut_selection.basis_activity_window",
            selection.basis_activity_window,
            "basis_activity_window is not used; it only concerns speed",
            "remove it",
        )
    _check_schemes(files, notes)


def _check_schemes(files: CaseFiles, notes: Notes) -> None:
    source = files.config.training.scenario_source
    if source is None:
        return
    for name in ("inflow", "load", "ncs"):
        scheme = getattr(source, name).scheme
        if scheme not in FORWARD_SCHEMES:
            notes.refuse(
                CONFIG,
                f"training.scenario_source.{name}.scheme",
                scheme,
                f"{name}.scheme = {scheme!r} is not available yet",
                f"use {', '.join(FORWARD_SCHEMES)}: trajectories differ, the openings and the optimum stay the same",
            )
    if source.historical_years is not None:
        notes.warn(
            CONFIG,
            "training.scenario_source.historical_years",
            str(source.historical_years),
            "historical_years have no effect without the historical scheme",
            "remove them",
        )


def _check_other_settings(files: CaseFiles, notes: Notes) -> None:
    config = files.config
    policy = config.policy
    if policy is not None:
        if policy.mode != "warm_start" and policy.path not in ("./policy", "policy"):
            notes.warn(
                CONFIG,
                "policy.path",
                policy.path,
                f"policy.path = {policy.path!r} is not used: the policy goes into the output folder",
                "choose the output folder when you run",
            )
        checkpointing = policy.checkpointing
        if checkpointing is not None and checkpointing.store_basis is False:
            notes.warn(
                CONFIG,
                "policy.checkpointing.store_basis",
                False,
                "store_basis = false is not used: a checkpoint without bases could not be continued to the bit",
                "remove it",
            )
    for name in ("states", "stochastic"):
        if config.exports is not None and getattr(config.exports, name):
            notes.warn(
                CONFIG, f"exports.{name}", True, f"exports.{name} = true is not available yet", "remove it"
            )
    if config.upper_bound_evaluation is not None:
        notes.warn(
            CONFIG,
            "upper_bound_evaluation",
            str(config.upper_bound_evaluation),
            "upper_bound_evaluation is not available yet; the statistical upper bound is computed",
            "remove it",
        )
    if config.estimation is not None and "scenarios/inflow_history.parquet" not in files.present:
        notes.warn(
            CONFIG,
            "estimation",
            str(config.estimation),
            "estimation has no effect: there is no scenarios/inflow_history.parquet",
            "remove it",
        )

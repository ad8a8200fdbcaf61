"""Settings of ``config.json`` that this version does not support."""

from __future__ import annotations

from cobre.io.read.files import CaseFiles
from cobre.io.validate.notes import Notes

CONFIG = "config.json"


def check_modelled_settings(files: CaseFiles, notes: Notes) -> None:
    """Refuse or warn about settings that have no effect yet."""
    _check_training(files, notes)
    _check_other_settings(files, notes)


def _check_training(files: CaseFiles, notes: Notes) -> None:
    if files.older_config is None:
        return
    training = files.older_config.training
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
        boundary = policy.boundary
        if boundary is not None and not (files.folder / boundary.path).exists():
            notes.warn(
                CONFIG,
                "policy.boundary.path",
                boundary.path,
                f"there is no policy in {boundary.path!r} beside the case; a run needs it there or beside its output",
                "train the other study first, or name the folder of its policy",
            )
    if config.exports is not None and config.exports.states:
        notes.warn(CONFIG, "exports.states", True, "exports.states = true is not available yet", "remove it")
    _check_upper_bound(files, notes)
    _check_estimation(files, notes)


def _check_upper_bound(files: CaseFiles, notes: Notes) -> None:
    """The inner bound needs a future cost that is convex and a horizon that ends."""
    wanted = files.config.upper_bound_evaluation
    if wanted is None or not wanted.enabled:
        return
    place = (CONFIG, "upper_bound_evaluation.enabled", True)
    if files.stages.policy_graph.type == "cyclic":
        message = "the inner bound is not modelled for a horizon without end"
        notes.refuse(*place, message, "set it to false; the lower bound holds all the same")
    modeling = files.config.modeling
    method = None if modeling is None else modeling.inflow_non_negativity
    has_lags = len(files.tables["inflow_lags"]) + len(files.tables["inflow_annual"]) > 0
    if has_lags and method is not None and method.method.startswith("truncation"):
        message = (
            "truncated inflows with lags make the future cost non-convex, and the inner bound would be none"
        )
        notes.refuse(*place, message, "set modeling.inflow_non_negativity.method to penalty")


def _check_estimation(files: CaseFiles, notes: Notes) -> None:
    estimation = files.config.estimation
    if estimation is None:
        return
    has_history = "scenarios/inflow_history.parquet" in files.present
    if estimation.residuals == "bootstrap" and not has_history:
        notes.refuse(
            CONFIG,
            "estimation.residuals",
            "bootstrap",
            "estimation.residuals = 'bootstrap': there is no scenarios/inflow_history.parquet to draw from",
            "add the history, or use normal or lognormal residuals",
        )
    if estimation.order_selection == "fixed":
        notes.warn(
            CONFIG,
            "estimation.order_selection",
            "fixed",
            "order_selection = 'fixed' means the same as 'pacf'",
            "use pacf, pacf_annual, aic or bic",
        )
    if not has_history and estimation.residuals == "normal":
        notes.warn(
            CONFIG,
            "estimation",
            str(estimation),
            "estimation has no effect: there is no scenarios/inflow_history.parquet",
            "remove it",
        )

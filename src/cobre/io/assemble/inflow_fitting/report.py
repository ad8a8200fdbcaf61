"""What a fit says about one plant, for ``fitting_report.json``."""

from __future__ import annotations

from typing import Any

from cobre.stochastic.fitting import InflowFit, LevelFit

__all__ = ["coefficient_report", "hydro_report"]


def coefficient_report(fit: InflowFit, hydro_ids: list[int]) -> dict[str, Any]:
    """By id of hydro: the largest order, coefficients by season and lag, and where orders were reduced."""
    return {"hydros": {str(id_): hydro_report(fit, h) for h, id_ in enumerate(hydro_ids)}}


def hydro_report(fit: InflowFit, h: int) -> dict[str, Any]:
    """The same of the hydro at index ``h``."""
    document: dict[str, Any] = {
        "selected_order": max(int(level.orders[h].max(initial=0)) for level in fit.levels),
        "coefficients": [
            level.phi[h, s, : int(level.orders[h, s])].tolist()
            for level in fit.levels
            for s in range(level.level.n_seasons)
        ],
    }
    reductions = [each for level in fit.levels for each in _reductions(level, h)]
    if reductions:
        document["contribution_reductions"] = reductions
    return document


def _reductions(level: LevelFit, h: int) -> list[dict[str, Any]]:
    return [
        {
            "season_id": level.level.season_ids[each.season],
            "original_order": each.original_order,
            "reduced_order": each.reduced_order,
            "contributions": list(each.contributions),
            "reason": each.reason,
        }
        for each in level.reductions
        if each.hydro == h
    ]

"""Inflows of every node of the tree: no decision changes them, so they are numbers before any program is."""

from __future__ import annotations

import calendar
import datetime as dt
import statistics
from dataclasses import dataclass, field

from files.folder import Folder


@dataclass(frozen=True)
class Past:
    """Means of the closed periods by hydro, the latest first, and what the open period has gathered."""

    lags: dict[int, list[float]]
    open_period: dict[int, float] = field(default_factory=dict)


class Inflows:
    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.stats = folder.by_stage("scenarios/inflow_seasonal_stats.parquet", "hydro_id")
        for cell, values in self._external_values().items():
            mean = statistics.fmean(values)
            self.stats.setdefault(cell, {"mean_m3s": mean, "std_m3s": statistics.pstdev(values)})
        self.annual = folder.by_stage("scenarios/inflow_annual_component.parquet", "hydro_id")
        self.orders: dict[tuple[int, int], list[dict]] = {}
        for row in folder.rows("scenarios/inflow_ar_coefficients.parquet"):
            self.orders.setdefault((row["hydro_id"], row["stage_id"]), []).append(row)
        self.is_monthly = folder.horizon.get("season_definitions", {}).get("cycle_type") == "monthly"

    def _external_values(self) -> dict[tuple[int, int], list[float]]:
        """Given inflows by hydro and stage, if trajectories follow them."""
        source = self.folder.config["training"].get("scenario_source", {})
        found: dict[tuple[int, int], list[float]] = {}
        if source.get("inflow", {}).get("scheme") == "external":
            for row in self.folder.rows("scenarios/external_inflow_scenarios.parquet"):
                found.setdefault((row["hydro_id"], row["stage_id"]), []).append(row["value_m3s"])
        return found

    def start(self) -> Past:
        known = {row["hydro_id"]: row["values_m3s"] for row in self.folder.start.get("past_inflows", [])}
        return Past({h["id"]: known.get(h["id"], []) + [0.0] * 12 for h in self.folder.hydros})

    def value(self, hydro: int, t: int, past: Past, noise: float) -> float:
        stage_id = self.folder.stage_ids[t]
        row = self.stats.get((hydro, stage_id), {"mean_m3s": 0.0, "std_m3s": 0.0})
        inflow, deviation, ratio = row["mean_m3s"], row["std_m3s"], 1.0
        lags = past.lags[hydro]
        for order in self.orders.get((hydro, stage_id), []):
            mean, scale = self._statistics(hydro, t, order["lag"])
            if scale:
                inflow += order["coefficient"] * deviation / scale * (lags[order["lag"] - 1] - mean)
            ratio = order["residual_std_ratio"]
        if (hydro, stage_id) in self.annual:
            annual = self.annual[hydro, stage_id]
            weight = annual["annual_coefficient"] * deviation / annual["annual_std_m3s"] / 12
            inflow += sum(weight * (lags[k] - self._statistics(hydro, t, k + 1)[0]) for k in range(12))
        inflow += deviation * ratio * noise
        if self.folder.non_negativity.startswith("truncation") and deviation > 0.0:
            return max(inflow, 0.0)
        return inflow

    def _statistics(self, hydro: int, t: int, lag: int) -> tuple[float, float]:
        """Mean and deviation ``lag`` stages back: of that stage id, else of a stage of that season."""
        folder = self.folder
        row = self.stats.get((hydro, folder.stage_ids[t] - lag))
        if row is None:
            seasons = [stage["season_id"] for stage in folder.stages]
            season = (folder.stage_ids[t] - lag + seasons[0]) % len(set(seasons))
            matching = [i for i, s in zip(folder.stage_ids, seasons, strict=True) if s == season]
            row = next((self.stats[hydro, i] for i in matching if (hydro, i) in self.stats), None)
        return (row["mean_m3s"], row["std_m3s"]) if row else (0.0, 0.0)

    def follow(self, t: int, past: Past, inflows: dict[int, float]) -> Past:
        """The past of the next stage; a month made of several stages enters it once, as their weighted mean."""
        if not self.is_monthly:
            return Past({h: [inflow, *past.lags[h]] for h, inflow in inflows.items()})
        weight = self._share_of_month(t)
        period = {h: past.open_period.get(h, 0.0) + inflow * weight for h, inflow in inflows.items()}
        stages = self.folder.stages
        if t + 1 < len(stages) and self._month(t) == self._month(t + 1):
            return Past(past.lags, period)
        return Past({h: [mean, *past.lags[h]] for h, mean in period.items()})

    def _month(self, t: int) -> tuple[int, str]:
        stage = self.folder.stages[t]
        return stage["season_id"], stage["start_date"][:4]

    def _share_of_month(self, t: int) -> float:
        stage = self.folder.stages[t]
        start, end = (dt.date.fromisoformat(stage[key]) for key in ("start_date", "end_date"))
        return (end - start).days / calendar.monthrange(start.year, start.month)[1]

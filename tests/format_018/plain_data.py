"""Numbers of a `Case018` as the equations need them: limits, prices, noise and inflow models, looked up by hand.

Nothing here uses the package under test: these lookups and ``whole_tree`` are the second opinion about its bounds.
"""

from __future__ import annotations

import calendar
import datetime as dt
from itertools import pairwise
from typing import Any

import numpy as np

from format_018.small import Case018

SYMMETRIC = {
    "evaporation_violation_pos_cost": "evaporation_violation_cost",
    "evaporation_violation_neg_cost": "evaporation_violation_cost",
    "water_withdrawal_violation_pos_cost": "water_withdrawal_violation_cost",
    "water_withdrawal_violation_neg_cost": "water_withdrawal_violation_cost",
}


class PlainData:
    """Lookups in the documents and tables of a case; stages are counted from 0."""

    def __init__(self, case: Case018) -> None:
        self.documents, self.tables = case.documents, case.all_tables()
        self.stages = sorted(self.documents["stages.json"]["stages"], key=lambda each: each["id"])
        self.ids = [stage["id"] for stage in self.stages]
        self.hydros = {each["id"]: each for each in self.list_of("system/hydros.json", "hydros")}
        self.penalties = self.documents["penalties.json"]
        self.hours = [[block["hours"] for block in stage["blocks"]] for stage in self.stages]

    def list_of(self, path: str, key: str) -> list[dict[str, Any]]:
        return sorted(self.documents.get(path, {}).get(key, []), key=lambda each: each["id"])

    def rows(self, path: str, **keys: Any) -> list[dict[str, Any]]:
        """Rows of a table whose columns have these values."""
        return [
            row
            for row in self.tables.get(path, [])
            if all(row.get(name) == value for name, value in keys.items())
        ]

    def limit(self, path: str, keys: dict[str, int], name: str, stage: int, block: int, base: Any) -> Any:
        """The row of the block, else that of the stage, else ``base``."""
        found = base
        for wanted in (None, block):
            for row in self.rows(path, **keys, stage_id=self.ids[stage]):
                if row.get("block_id") == wanted and row.get(name) is not None:
                    found = row[name]
        return found

    def is_there(self, entity: dict[str, Any], stage: int) -> bool:
        """Whether it operates: from its entry until before its exit."""
        entry, leaving = entity.get("entry_stage_id"), entity.get("exit_stage_id")
        at = self.ids[stage]
        return (entry is None or at >= entry) and (leaving is None or at < leaving)

    def phase(self, hydro: dict[str, Any], stage: int) -> str:
        filling = hydro.get("filling")
        if filling is not None and filling["start_stage_id"] <= self.ids[stage] < hydro["entry_stage_id"]:
            return "filling"
        return "operating" if self.is_there(hydro, stage) else "absent"

    def present_at_or_below(self, number: int | None, stage: int) -> int | None:
        """The first plant from here down the river that is there."""
        while number is not None and self.phase(self.hydros[number], stage) == "absent":
            number = self.hydros[number].get("downstream_id")
        return number

    def price(self, number: int, name: str, stage: int) -> float:
        """A price of a plant: its stage's, its own, the system's; a direction's before the common one."""
        own = self.hydros[number].get("penalties") or {}
        stage_rows = self.rows(
            "constraints/penalty_overrides_hydro.parquet", hydro_id=number, stage_id=self.ids[stage]
        )
        for place in (*stage_rows, own, self.penalties["hydro"]):
            for key in (name, SYMMETRIC.get(name, name)):
                if place.get(key) is not None:
                    return float(place[key])
        raise KeyError(name)

    def bus_price(self, table: str, key: str, number: int, name: str, stage: int, base: float) -> float:
        """A price that a table may change in a stage."""
        path = f"constraints/penalty_overrides_{table}.parquet"
        for row in self.rows(path, **{key: number}, stage_id=self.ids[stage]):
            if row.get(name) is not None:
                return float(row[name])
        return base

    def production(self, number: int, stage: int) -> dict[str, Any]:
        """The model of a plant in a stage: ``model`` and, but for planes, ``productivity_mw_per_m3s``."""
        models = self.documents["system/hydro_production_models.json"]["production_models"]
        (entry,) = [each for each in models if each["hydro_id"] == number]
        if entry["selection_mode"] == "seasonal":
            season = self.stages[stage].get("season_id")
            found = [each for each in entry["seasons"] if each["season_id"] == season]
        else:
            found = [
                each
                for each in entry["stage_ranges"]
                if each["start_stage_id"] <= self.ids[stage]
                and (each["end_stage_id"] is None or self.ids[stage] <= each["end_stage_id"])
            ]
        model = dict(found[0])
        if model.get("productivity_mw_per_m3s") is None:
            model["productivity_mw_per_m3s"] = self.equivalent(number, stage)
        return model

    def equivalent(self, number: int, stage: int) -> float:
        """The productivity of ``hydro_energy_productivity``, that of the stage before that of all stages."""
        path = "system/hydro_energy_productivity.parquet"
        for wanted in (self.ids[stage], None):
            for row in self.rows(path, hydro_id=number, stage_id=wanted):
                if row["equivalent_productivity_mw_per_m3s"] is not None:
                    return float(row["equivalent_productivity_mw_per_m3s"])
        raise KeyError(number)

    def discount(self, stage: int) -> float:
        graph, at = self.documents["stages.json"]["policy_graph"], self.stages[stage]
        rate = graph["annual_discount_rate"]
        for arc in graph.get("transitions", []):
            if arc["source_id"] == at["id"] and arc.get("annual_discount_rate_override") is not None:
                rate = arc["annual_discount_rate_override"]
        if at.get("annual_discount_rate_override") is not None:
            rate = at["annual_discount_rate_override"]
        days = (dt.date.fromisoformat(at["end_date"]) - dt.date.fromisoformat(at["start_date"])).days
        return float((1.0 + rate) ** (-days / 365.25))

    def evaporation(self, number: int, stage: int) -> tuple[float, float] | None:
        """``k0`` [m3/s] and ``kv`` [m3/s per hm3]; None where nothing evaporates."""
        given = self.hydros[number].get("evaporation")
        if given is None:
            return None
        start = dt.date.fromisoformat(self.stages[stage]["start_date"])
        hours = 24.0 * calendar.monthrange(start.year, start.month)[1]
        depth = given["coefficients_mm"][start.month - 1]
        limits = self.hydros[number]["reservoir"]
        middle = 0.5 * (limits["min_storage_hm3"] + limits["max_storage_hm3"])
        at = (given.get("reference_volumes_hm3") or [middle] * 12)[start.month - 1]
        table = sorted(
            (row["volume_hm3"], row["area_km2"])
            for row in self.rows("system/hydro_geometry.parquet", hydro_id=number)
        )
        area = float(np.interp(at, [row[0] for row in table], [row[1] for row in table]))
        (v0, a0), (v1, a1) = next(
            (low, high) for low, high in pairwise(table) if at < high[0] or high == table[-1]
        )
        slope = depth * (a1 - a0) / (v1 - v0) / (3.6 * hours)
        return depth * area / (3.6 * hours) - slope * at, slope


class Noise:
    """Openings of the file, and the inflows, loads and sources that they make."""

    def __init__(self, data: PlainData) -> None:
        self.data = data
        hydros = sorted(data.hydros.values(), key=lambda each: (each["operational_start_date"], each["id"]))
        self.hydros = [each["id"] for each in hydros]
        load = data.tables["scenarios/load_seasonal_stats.parquet"]
        self.buses = sorted({row["bus_id"] for row in load if row["std_mw"] > 0.0})
        ncs = data.tables.get("scenarios/non_controllable_stats.parquet", [])
        self.sources = sorted({row["ncs_id"] for row in ncs})
        self.eta: dict[tuple[int, int, int], float] = {
            (row["stage_id"], row["opening_index"], row["entity_index"]): row["value"]
            for row in data.tables.get("scenarios/noise_openings.parquet", [])
        }
        self.ratios = {number: self._ratios(number) for number in self.hydros}

    @property
    def n_entities(self) -> int:
        return len(self.hydros) + len(self.buses) + len(self.sources)

    def _eta(self, stage: int, opening: int, entity: int) -> float:
        return self.eta.get((self.data.ids[stage], opening, entity), 0.0)

    def _statistics(self, number: int, stage_id: int) -> tuple[float, float]:
        path = "scenarios/inflow_seasonal_stats.parquet"
        for row in self.data.rows(path, hydro_id=number, stage_id=stage_id):
            return row["mean_m3s"], row["std_m3s"]
        return 0.0, 0.0

    def coefficients(self, number: int, stage: int) -> dict[int, float]:
        path = "scenarios/inflow_ar_coefficients.parquet"
        found = self.data.rows(path, hydro_id=number, stage_id=self.data.ids[stage])
        return {row["lag"]: row["coefficient"] for row in found}

    @property
    def n_lags(self) -> int:
        rows = self.data.tables.get("scenarios/inflow_ar_coefficients.parquet", [])
        return max((row["lag"] for row in rows), default=0)

    def _ratios(self, number: int) -> list[float]:
        """What noise must have so that every season has variance 1: a linear system over twelve months."""
        order, n = self.n_lags, 12
        if not order:
            return [1.0] * len(self.data.stages)
        phi = np.zeros((n, order + 1))
        for stage in reversed(range(len(self.data.stages))):
            for lag, value in self.coefficients(number, stage).items():
                phi[self.data.stages[stage]["season_id"], lag] = value
        # Unknown: the correlation of month m with the month k before, k = 1 .. order.
        matrix, right = np.eye(n * order), np.zeros(n * order)
        for m in range(n):
            for k in range(1, order + 1):
                row = m * order + k - 1
                for j in range(1, order + 1):
                    behind, distance = (m - min(j, k)) % n, abs(k - j)
                    if distance == 0:
                        right[row] += phi[m, j]
                    else:
                        matrix[row, behind * order + distance - 1] -= phi[m, j]
        rho = np.linalg.solve(matrix, right).reshape(n, order)
        explained = (phi[:, 1:] * rho).sum(axis=1)
        seasons = [stage.get("season_id") for stage in self.data.stages]
        return [float(np.sqrt(1.0 - explained[season])) for season in seasons]

    def first_lags(self) -> dict[int, list[float]]:
        """By hydro, what flowed in the months before the study, the last first."""
        start = dt.date.fromisoformat(self.data.stages[0]["start_date"])
        observed = self.data.documents["initial_conditions.json"].get("recent_observations", [])
        found: dict[int, list[float]] = {}
        for number in self.hydros:
            months, at = [], start
            for _ in range(self.n_lags):
                at = (at - dt.timedelta(days=1)).replace(day=1)
                values = [
                    each["value_m3s"]
                    for each in observed
                    if each["hydro_id"] == number and each["start_date"] == str(at)
                ]
                months.append(values[0] if values else 0.0)
            found[number] = months
        return found

    def inflows(self, stage: int, opening: int, lags: dict[int, list[float]]) -> dict[int, float]:
        found = {}
        at = self.data.ids[stage]
        settings = self.data.documents["config.json"]["modeling"]["inflow_non_negativity"]["method"]
        for entity, number in enumerate(self.hydros):
            mean, std = self._statistics(number, at)
            value, sigma = mean, std * self.ratios[number][stage]
            for lag, phi in self.coefficients(number, stage).items():
                lag_mean, lag_std = self._statistics(number, at - lag)
                if lag_std > 0.0:
                    value += phi * std / lag_std * (lags[number][lag - 1] - lag_mean)
            value += sigma * self._eta(stage, opening, entity)
            if settings.startswith("truncation") and sigma > 0.0:
                value = max(value, 0.0)
            found[number] = value
        return found

    def load(self, bus: int, stage: int, opening: int) -> float:
        path = "scenarios/load_seasonal_stats.parquet"
        rows = self.data.rows(path, bus_id=bus, stage_id=self.data.ids[stage])
        if not rows:
            return 0.0
        mean, std = rows[0]["mean_mw"], rows[0]["std_mw"]
        if bus in self.buses:
            mean += std * self._eta(stage, opening, len(self.hydros) + self.buses.index(bus))
        return float(max(mean, 0.0))

    def available(self, source: dict[str, Any], stage: int, opening: int) -> float:
        number, most = source["id"], float(source["max_generation_mw"])
        if number not in self.sources:
            keys = {"ncs_id": number, "stage_id": self.data.ids[stage]}
            rows = self.data.rows("constraints/ncs_bounds.parquet", **keys)
            return float(rows[0]["available_generation_mw"]) if rows else most
        entity = len(self.hydros) + len(self.buses) + self.sources.index(number)
        path = "scenarios/non_controllable_stats.parquet"
        rows = self.data.rows(path, ncs_id=number, stage_id=self.data.ids[stage])
        share = rows[0]["mean"] + rows[0]["std"] * self._eta(stage, opening, entity) if rows else 0.0
        return most * min(max(share, 0.0), 1.0)

    def factor(self, path: str, key: str, name: str, number: int, stage: int, block: int) -> float:
        """The factor of a block in ``load_factors.json`` and the like, 1 where none is given."""
        lists = self.data.documents.get(path, {}).get(name, [])
        for entry in lists:
            if entry[key] == number and entry["stage_id"] == self.data.ids[stage]:
                for each in entry["block_factors"]:
                    if each["block_id"] == block:
                        return float(each["factor"])
        return 1.0

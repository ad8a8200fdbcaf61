"""Noise of inflows in a case of 0.5.1, said in the words of 0.18.

A row of 0.5.1 has a ratio of the residual to the total deviation. 0.18 has none: it derives the ratio that keeps the
deviations of the statistics. So the deviations become those that the coefficients and the residuals of 0.5.1 make, and
the coefficients, which count in deviations, follow them. The inflows stay the same. Statistics of months before the
study that 0.5.1 takes from other seasons become rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cobre.arrays import Floats, Ints
from cobre.core.horizon import Horizon
from cobre.core.scenarios import InflowStatistics, LagCoefficients
from cobre.io.assemble.system import entity_indices
from cobre.io.convert_rows import Columns
from cobre.io.problems import Problems
from cobre.io.read.columns import Table
from cobre.io.read.files import CaseFiles
from cobre.io.validate.coefficients import complete_ratios
from cobre.stochastic.inflow_rows import StatisticTable
from cobre.stochastic.inflows import InflowModel

__all__ = ["keep_noise"]

STATS, LAGS = "scenarios/inflow_seasonal_stats.parquet", "scenarios/inflow_ar_coefficients.parquet"
ATTEMPTS, EXACT = 500, 1e-13
NOTE = "residual_std_ratio was left out: 0.18 derives it from the coefficients"


def keep_noise(files: CaseFiles, horizon: Horizon, tables: dict[str, Columns], notes: list[str]) -> None:
    """Change deviations and coefficients so that 0.18 derives the residuals of the case; a note if none do."""
    if not len(files.tables["inflow_lags"]):
        return
    is_given = {STATS, LAGS} <= tables.keys() and not len(files.tables["inflow_annual"])
    found = _Noise(files, horizon).solve() if is_given else None
    if found is None:
        notes.append(NOTE)
        return
    stats, lags = found
    tables[STATS] = {name: stats[name].tolist() for name in tables[STATS]}
    tables[LAGS]["coefficient"] = lags["coefficient"].tolist()


class _Noise:
    """The model of a case, and the one that 0.18 makes of other deviations."""

    def __init__(self, files: CaseFiles, horizon: Horizon) -> None:
        self.files, self.horizon = files, horizon
        self.hydros = entity_indices(files)["hydro"]
        self.stats, self.lags = files.tables["inflow_stats"], files.tables["inflow_lags"]
        self.index = {stage.id: t for t, stage in enumerate(horizon.stages)}
        self.wanted = self._model(self.stats, self.lags, counts_seasons=True)
        self.stats = self._with_rows_before()

    def solve(self) -> tuple[Table, Table] | None:
        """Statistics and coefficients; None if none make the same inflows."""
        std = self.stats["std_m3s"]
        for _ in range(ATTEMPTS):
            stats = _with(self.stats, std_m3s=std)
            lags = self._derived(stats, self._coefficients(stats))
            if lags is None:
                return None
            ratio = self._by_place(lags, "residual_std_ratio", 1.0)
            last, std = std, self._deviations(ratio, std)
            if np.allclose(std, last, rtol=EXACT, atol=0.0):
                break
        stats = _with(self.stats, std_m3s=std)
        lags = self._derived(stats, self._coefficients(stats))
        if lags is None or not self._is_same(self._model(stats, lags)):
            return None
        return stats, lags

    def _with_rows_before(self) -> Table:
        """The statistics, with a row for each month before the study that a coefficient reads and that has none."""
        table, first = self._table(self.stats, counts_seasons=True), self.horizon.stages[0].id
        there = set(zip(self.stats["hydro_id"].tolist(), self.stats["stage_id"].tolist(), strict=True))
        found = {name: values.tolist() for name, values in self.stats.columns.items()}
        rows = zip(*(self.lags[name].tolist() for name in ("hydro_id", "stage_id", "lag")), strict=True)
        for hydro_id, stage_id, lag in rows:
            before = first + self.index.get(stage_id, lag) - lag
            if before >= min(first, 0) or (hydro_id, before) in there:
                continue
            mean, std = (each[self.hydros[hydro_id]] for each in table.at_lag(stage_id, lag))
            if std > 0.0:
                there.add((hydro_id, before))
                values = {"hydro_id": hydro_id, "stage_id": before, "mean_m3s": mean, "std_m3s": std}
                for name in found:
                    found[name].append(values[name])
        columns = {name: np.array(found[name], dtype=self.stats[name].dtype) for name in found}
        order = np.lexsort((columns["stage_id"], columns["hydro_id"]))
        return Table(self.stats.file, columns).take(order)

    def _table(self, stats: Table, *, counts_seasons: bool) -> StatisticTable:
        horizon = self.horizon
        return StatisticTable.of(
            horizon.stages,
            len(self.hydros),
            self._statistics(stats),
            horizon.season_definitions,
            horizon.pre_study_stages,
            counts_seasons=counts_seasons,
        )

    def _model(self, stats: Table, lags: Table, *, counts_seasons: bool = False) -> InflowModel:
        before = self.horizon.pre_study_stages
        return InflowModel.build(
            self.horizon.stages,
            len(self.hydros),
            self._statistics(stats),
            LagCoefficients(
                self._positions(lags),
                lags["stage_id"],
                lags["lag"],
                lags["coefficient"],
                lags["residual_std_ratio"],
            ),
            None,
            self.horizon.season_definitions,
            before,
            counts_seasons=counts_seasons,
        )

    def _statistics(self, stats: Table) -> InflowStatistics:
        return InflowStatistics(
            self._positions(stats), stats["stage_id"], stats["mean_m3s"], stats["std_m3s"]
        )

    def _positions(self, table: Table) -> Ints:
        return np.array([self.hydros[each] for each in table["hydro_id"].tolist()], dtype=np.int64)

    def _coefficients(self, stats: Table) -> Floats:
        """Those that mean the same in deviations of ``stats``."""
        table = self._table(stats, counts_seasons=False)
        found = self.lags["coefficient"].copy()
        positions = self._positions(self.lags)
        for row, stage_id in enumerate(self.lags["stage_id"].tolist()):
            if stage_id not in self.index:
                continue
            h, lag = int(positions[row]), int(self.lags["lag"][row])
            std, before = table.of_stage(stage_id)[1][h], table.at_lag(stage_id, lag)[1][h]
            if std > 0.0 and before > 0.0:
                found[row] = self.wanted.psi[self.index[stage_id], lag - 1, h] * before / std
        return found

    def _derived(self, stats: Table, coefficients: Floats) -> Table | None:
        """The rows with the ratios that 0.18 derives; None if it would refuse them."""
        blank = np.full(len(self.lags), np.nan)
        lags = _with(self.lags, coefficient=coefficients, residual_std_ratio=blank)
        files = replace(self.files, tables={**self.files.tables, "inflow_stats": stats, "inflow_lags": lags})
        problems = Problems()
        complete_ratios(files, problems)
        lags = files.tables["inflow_lags"]
        ratio = lags["residual_std_ratio"]
        return None if problems.errors or not ((ratio > 0.0) & (ratio <= 1.0)).all() else lags

    def _by_place(self, lags: Table, name: str, blank: float) -> Floats:
        """A column (stages, hydros)."""
        found = np.full((len(self.index), len(self.hydros)), blank)
        is_there = np.isin(lags["stage_id"], list(self.index))
        at = [self.index[each] for each in lags["stage_id"][is_there].tolist()]
        found[at, self._positions(lags)[is_there]] = lags[name][is_there]
        return found

    def _deviations(self, ratio: Floats, std: Floats) -> Floats:
        """Those whose residuals are the case's."""
        found = std.copy()
        for row, (stage_id, h) in enumerate(
            zip(self.stats["stage_id"].tolist(), self._positions(self.stats).tolist(), strict=True)
        ):
            t = self.index.get(stage_id)
            if t is not None and self.wanted.sigma[t, h] > 0.0:
                found[row] = self.wanted.sigma[t, h] / ratio[t, h]
        return found

    def _is_same(self, model: InflowModel) -> bool:
        pairs = (
            (model.psi, self.wanted.psi),
            (model.sigma, self.wanted.sigma),
            (model.base, self.wanted.base),
        )
        return all(np.allclose(found, given, rtol=1e-11, atol=1e-11) for found, given in pairs)


def _with(table: Table, **columns: Floats) -> Table:
    return Table(table.file, {**table.columns, **columns})

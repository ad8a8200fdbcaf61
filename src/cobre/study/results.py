"""Reads the results of finished runs."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cobre.errors import CobreError, IOError
from cobre.io.results import TrainingRecord, damaged, find_results, read_json, read_training
from cobre.io.simulation_results import SCHEMAS, SimulationFiles, with_names
from cobre.io.write.simulation_end import METADATA
from cobre.sddp.policy import Policy
from cobre.sddp.simulation import SimulationOutcome
from cobre.study.starting import how_to_continue

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class SimulationResult:
    """Simulated scenarios: statistics, and tables that are read when they are asked for.

    ``result.hydros``, ``.thermals``, ``.buses``, ``.exchanges``, ``.costs``, … are `pyarrow.Table` with the names of
    the entities beside their ids; pandas and polars take them as they are. ``result.tables`` lists them.
    """

    def __init__(
        self,
        metadata: dict[str, Any],
        folder: Path | None,
        *,
        is_temporary: bool = False,
        stop_signal: int | None = None,
    ) -> None:
        self.metadata = metadata
        self.stop_signal = stop_signal
        self._files = SimulationFiles(folder) if folder is not None else None
        if is_temporary and folder is not None:
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._cache: dict[str, pa.Table] = {}

    @classmethod
    def of(
        cls,
        outcome: SimulationOutcome,
        folder: Path | None,
        source: Mapping[str, Any],
        *,
        is_temporary: bool,
    ) -> Self:
        """The result of a simulation that just ended; a temporary folder is removed with it.

        ``source`` says where its noise came from: the fields of `cobre.core.config.ScenarioSource`.
        """
        statistics = outcome.statistics
        metadata = {
            "scenarios": {"completed": 0 if statistics is None else statistics.n_scenarios},
            "statistics": None if statistics is None else statistics.to_dict(),
            "scenario_source": dict(source),
            "wall_time_ms": outcome.wall_time_ms,
        }
        return cls(metadata, folder, is_temporary=is_temporary, stop_signal=outcome.stop_signal)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """The simulation in an output folder."""
        path = Path(folder) / "simulation" / METADATA
        if not path.exists():
            raise IOError(str(path), f"{folder} holds no simulation", suggestion="run `cobre simulate` first")
        metadata = read_json(path)
        scenarios = metadata.get("scenarios")
        if not isinstance(scenarios, dict) or not isinstance(scenarios.get("completed"), int):
            raise damaged(path, "scenarios.completed is missing")
        if "statistics" not in metadata:
            raise damaged(path, "statistics is missing; another program may have written it")
        return cls(metadata, Path(folder))

    @property
    def scenarios(self) -> int:
        """How many were simulated."""
        return int(self.metadata["scenarios"]["completed"])

    @property
    def is_complete(self) -> bool:
        """Whether all scenarios were simulated."""
        return self.metadata["statistics"] is not None

    @property
    def statistics(self) -> dict[str, Any]:
        """Of all scenarios: see `cobre.sddp.simulation.SimulationStatistics`."""
        found = self.metadata["statistics"]
        if found is None:
            raise CobreError(
                "the simulation was stopped before its end and has no statistics",
                suggestion="simulate again",
            )
        return dict(found)

    @property
    def mean_cost(self) -> float:
        return float(self.statistics["mean_cost"])

    @property
    def std_cost(self) -> float:
        return float(self.statistics["std_cost"])

    @property
    def wall_time_ms(self) -> float:
        return float(self.metadata["wall_time_ms"])

    @property
    def is_in_sample(self) -> bool:
        """Whether all noise is that of the openings that training saw: only then its lower bound is comparable."""
        source = self.metadata.get("scenario_source", {})
        return all(source.get(kind, "in_sample") == "in_sample" for kind in ("inflow", "load", "ncs"))

    def is_of_case(self, case_digest: str | None) -> bool:
        """Whether it may have read the same data as the run with this ``case_digest``; unknown digests may be equal."""
        mine = self.metadata.get("case_digest")
        return mine is None or case_digest is None or mine == case_digest

    @property
    def has_seasons(self) -> bool:
        """Whether every stage belongs to a season, so that `quantiles` can be asked for ``by=("season",)``."""
        return None not in self._kept().calendar().seasons.values()

    @property
    def probabilities(self) -> NDArray[np.float64] | None:
        """Of each scenario, if they are all paths of a policy graph; None if one is as likely as another."""
        return self._kept().probabilities()

    @property
    def output_directory(self) -> Path | None:
        """Where the tables are; None if they were not kept."""
        return None if self._files is None else self._files.folder

    @property
    def output_files(self) -> list[str]:
        """All files of the tables, relative to `output_directory`."""
        files = self._kept()
        paths = [path for name in files.tables for path in files.files(name)]
        return [str(path.relative_to(files.folder)) for path in paths]

    @property
    def tables(self) -> list[str]:
        """Names of the tables that this simulation has."""
        return self._kept().tables

    def table(self, name: str, columns: Sequence[str] | None = None, *, names: bool = True) -> pa.Table:
        """A table over all scenarios, or some of its columns; with ``names`` those of the entities beside their ids."""
        files = self._kept()
        if columns is not None:
            table = files.read(name, columns)
            return with_names(files, table) if names else table
        if name not in self._cache:
            self._cache[name] = files.read(name)
        return with_names(files, self._cache[name]) if names else self._cache[name]

    def quantiles(
        self,
        column: str,
        by: Sequence[str] = ("stage",),
        shares: Sequence[float] | float = QUANTILES,
        table: str | None = None,
    ) -> pa.Table:
        """Mean and quantiles over scenarios of ``column``, one row per combination of ``by``.

        ``by`` names entities and times: ``("hydro", "stage")``, ``("bus", "stage", "block")``, ``("bus", "season")``.
        Blocks and stages that are not named are added up (money, energy, water) or averaged by their hours (power,
        flow, prices, storage); entities that are not named are added up. ``table`` is found by the column's name if
        only one table has it.
        """
        from cobre.study.quantiles import quantile_table  # it draws as well, and a run asks for none

        return quantile_table(self._kept(), column, by, shares, table)

    def __getattr__(self, name: str) -> pa.Table:
        known = "violations/generic" if name == "violations" else name
        if name.startswith("_") or known not in SCHEMAS:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        return self.table(known)

    def __dir__(self) -> list[str]:
        """With the tables, so that notebooks complete their names."""
        names = [] if self._files is None else [name.partition("/")[0] for name in self._files.tables]
        return [*super().__dir__(), *names]

    def __repr__(self) -> str:
        if self.metadata["statistics"] is None:
            return "<SimulationResult: stopped before its end>"
        statistics = self.statistics
        return (
            f"<SimulationResult of {self.scenarios} scenarios: mean cost {statistics['mean_cost']:,.2f} "
            f"± {statistics['ci_95']:,.2f}>"
        )

    def _repr_html_(self) -> str:
        from cobre import draw

        return draw.fragment(self._figures())

    def _figures(self) -> str:
        """Cost and stored energy as HTML without scripts, for a page that has the style of `cobre.draw`."""
        from cobre.study.pictures import simulation_figures

        return simulation_figures(self, self._files)

    def _kept(self) -> SimulationFiles:
        if self._files is None:
            raise CobreError(
                "the tables of this simulation were not kept: its ranks share no folder",
                kind="IncompatibleSettings",
                suggestion="pass output=, a folder that all ranks can write to",
            )
        return self._files


def read_results(path: str | PathLike[str]) -> TrainingRecord:
    """What training left in a folder of results, or in ``output`` of a case's folder."""
    found = find_results(Path(path))
    return read_training(found, how_to_continue(found))


@dataclass(frozen=True)
class Results:
    """A folder of results: training, policy and simulation, each None where it is not there."""

    folder: Path
    training: TrainingRecord | None
    simulation: SimulationResult | None

    @property
    def policy(self) -> Policy:
        """The trained policy."""
        return Policy.load(self.folder / "policy")

    @property
    def has_unfinished_simulation(self) -> bool:
        """Whether there are tables of a simulation that was killed, or that runs now: `simulation` is then None."""
        return self.simulation is None and any((self.folder / "simulation").glob("*"))

    def __repr__(self) -> str:
        training = "none" if self.training is None else f"{self.training.metadata['iterations']} iterations"
        nothing = "not finished" if self.has_unfinished_simulation else "none"
        return f"<Results in {self.folder}: training {training}, simulation {self.simulation or nothing}>"

    def _repr_html_(self) -> str:
        from cobre.study.pictures import results_html

        return results_html(self)


def load_results(folder: str | PathLike[str]) -> Results:
    """What a run left in a folder of results, or in ``output`` of a case's folder."""
    found = find_results(Path(folder))
    has_training = (found / "training" / "metadata.json").exists()
    has_simulation = (found / "simulation" / METADATA).exists()
    return Results(
        found,
        read_training(found, how_to_continue(found)) if has_training else None,
        SimulationResult.load(found) if has_simulation else None,
    )

"""Checks of plants that come, go or are being filled: can they do what they are meant to?"""

from __future__ import annotations

from collections.abc import Iterator

from cobre.core.horizon import HM3_PER_M3S_HOUR
from cobre.io.assemble.filling import FILLING, OPERATING, filling_rates, phase
from cobre.io.assemble.horizon import build_horizon
from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord
from cobre.io.validate.naming import called

HYDROS, INITIAL, PUMPS = "system/hydros.json", "initial_conditions.json", "system/pumping_stations.json"
ROUNDING = 1e-9


def check_commissioning(files: CaseFiles, problems: Problems) -> None:
    """Report fillings that cannot be, and pumps whose ends are not there."""
    ids = sorted(stage.id for stage in files.stages.stages)
    if not ids or "stages.json" in files.damaged:
        return
    given = {entry.hydro_id: entry.value_hm3 for entry in files.initial_conditions.filling_storage}
    for hydro in files.hydros.hydros:
        if hydro.filling is not None:
            for field, value, message in _problems_of(hydro, ids, given.get(hydro.id)):
                problems.error(
                    "PhysicalConstraint",
                    Place(
                        INITIAL if field.startswith("filling_storage") else HYDROS,
                        called("hydro", hydro),
                        field,
                        value,
                    ),
                    message,
                    "filling lasts from filling.start_stage_id until before entry_stage_id, from below the dead volume",
                    rule="5a.7a" if field.startswith("filling_storage") else "5a.7",
                )
            _warn_of_slow_filling(files, hydro, given.get(hydro.id, 0.0), problems)
        operates = any(phase(hydro, stage_id) == OPERATING for stage_id in ids)
        if not operates:
            problems.warn(
                "CoverageMismatch",
                Place(HYDROS, called("hydro", hydro), "entry_stage_id", hydro.entry_stage_id),
                "operates in no stage of the study",
                "correct entry_stage_id or exit_stage_id, if that is not meant",
                rule="5a.7b",
            )
    filled = {hydro.id for hydro in files.hydros.hydros if hydro.filling is not None}
    both = {entry.hydro_id for entry in files.initial_conditions.storage} & set(given)
    if not files.generation.is_018:
        both &= filled  # of the others filling_storage has no effect, which is a warning
    for hydro_id in sorted(both):
        problems.error(
            "DuplicateId",
            Place(INITIAL, f"hydro {hydro_id}", "filling_storage", hydro_id),
            "is in storage and in filling_storage",
            "keep one of the two: filling_storage is for a plant that is being filled",
        )
    _check_pumps(files, ids, problems)


def _warn_of_slow_filling(files: CaseFiles, hydro: HydroRecord, seed: float, problems: Problems) -> None:
    """The public Cobre refuses such a case; the targets are soft, so that it can be run."""
    horizon = build_horizon(files.stages)
    stages = [index for index, stage in enumerate(horizon.stages) if phase(hydro, stage.id) == FILLING]
    rates, dead = filling_rates(files, horizon, hydro), hydro.reservoir.min_storage_hm3
    brought = sum(HM3_PER_M3S_HOUR * horizon.stages[index].hours * float(rates[index]) for index in stages)
    if stages and seed + brought < dead * (1.0 - ROUNDING):
        problems.warn(
            "PhysicalConstraint",
            Place(HYDROS, called("hydro", hydro), "filling.filling_min_rate_m3s", float(rates[stages[0]])),
            f"filling_min_rate_m3s brings {seed + brought:g} hm3 until it enters, less than the dead volume {dead:g}",
            "raise the rate or let filling start earlier: what is missing costs filling_target_violation_cost",
            rule="5b.33",
        )


def _problems_of(hydro: HydroRecord, ids: list[int], seed: float | None) -> Iterator[tuple[str, object, str]]:
    filling, entry = hydro.filling, hydro.entry_stage_id
    if filling is None:
        return
    start, dead = filling.start_stage_id, hydro.reservoir.min_storage_hm3
    if start not in ids:
        yield "filling.start_stage_id", start, f"filling starts in stage {start}, which does not exist"
    if entry is None:
        yield "entry_stage_id", None, "is being filled but has no entry_stage_id"
    elif start >= entry:
        yield "filling.start_stage_id", start, f"filling starts in stage {start}, not before entry in {entry}"
    if hydro.exit_stage_id is not None:
        yield (
            "exit_stage_id",
            hydro.exit_stage_id,
            "is being filled and leaves: exit_stage_id is not possible",
        )
    if seed is not None and not 0.0 <= seed < max(dead, 1e-300):
        yield (
            "filling_storage.value_hm3",
            seed,
            f"filling_storage = {seed:g} hm3 is not below the dead volume of {dead:g} hm3",
        )
    if seed and ids and start > ids[0]:
        yield (
            "filling_storage.value_hm3",
            seed,
            f"filling_storage = {seed:g} hm3, but filling starts later, in stage {start}, from an empty reservoir",
        )


def _check_pumps(files: CaseFiles, ids: list[int], problems: Problems) -> None:
    hydros = {hydro.id: hydro for hydro in files.hydros.hydros}
    for station in files.pumping_stations.pumping_stations:
        for field in ("source_hydro_id", "destination_hydro_id"):
            end = hydros.get(getattr(station, field))
            runs = [
                stage_id
                for stage_id in ids
                if (station.entry_stage_id is None or stage_id >= station.entry_stage_id)
                and (station.exit_stage_id is None or stage_id < station.exit_stage_id)
            ]
            missing = [] if end is None else [each for each in runs if phase(end, each) != OPERATING]
            if missing:
                problems.error(
                    "PhysicalConstraint",
                    Place(PUMPS, called("pumping station", station), field, getattr(station, field)),
                    f"pumps in stage {missing[0]}, where hydro {getattr(station, field)} does not operate",
                    "let the station enter and leave with its plants",
                    rule="5a.52",
                )

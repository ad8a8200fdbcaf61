"""Checks of water: cascades that flow in circles, odd geometry, storage outside its reservoir."""

from __future__ import annotations

import numpy as np

from cobre.core.distinct import distinct
from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.system.hydros import HydroRecord
from cobre.io.validate.naming import called

HYDROS = "system/hydros.json"


def check_reservoirs(files: CaseFiles, problems: Problems) -> None:
    """Report what water cannot do."""
    _check_cascade(files, problems)
    _check_geometry(files, problems)
    _check_initial_storage(files, problems)


def _check_cascade(files: CaseFiles, problems: Problems) -> None:
    downstream = {hydro.id: hydro.downstream_id for hydro in files.hydros.hydros}
    reported: set[int] = set()
    for start in sorted(downstream):
        path: list[int] = []
        here: int | None = start
        while here is not None and here in downstream and here not in path and here not in reported:
            path.append(here)
            here = downstream[here]
        if here is None or here not in path:
            continue
        loop = path[path.index(here) :]
        reported |= set(loop)
        names = " -> ".join(map(str, [*loop, here]))
        problems.error(
            "PhysicalConstraint",
            Place(HYDROS, f"hydro {here}", "downstream_id", downstream[here]),
            f"the cascade flows in a circle: {names}",
            "correct the downstream_id that is wrong: water flows to a plant further down, or out of the case (null)",
        )


def _check_geometry(files: CaseFiles, problems: Problems) -> None:
    table = files.tables["geometry"]
    for hydro_id in distinct(table["hydro_id"]):
        rows = np.flatnonzero(table["hydro_id"] == hydro_id)
        for name in ("height_m", "area_km2"):
            values = table[name][rows]
            for position in np.flatnonzero(np.diff(values) < 0.0).tolist():
                row = int(rows[position + 1])
                problems.error(
                    "PhysicalConstraint",
                    table.at(row, name, float(values[position + 1])),
                    f"{name} falls from {values[position]:g} to {values[position + 1]:g} as the volume grows",
                    f"let {name} grow with the volume",
                )


def _check_initial_storage(files: CaseFiles, problems: Problems) -> None:
    file = "initial_conditions.json"
    if file in files.unusable:
        return
    given = {entry.hydro_id: entry.value_hm3 for entry in files.initial_conditions.storage}
    for hydro in files.hydros.hydros:
        entity, basin = called("hydro", hydro), hydro.reservoir
        value = given.get(hydro.id)
        if value is None:
            if hydro.filling is not None:
                continue  # it starts from filling_storage, or empty
            if basin.max_storage_hm3 > 0.0 and file not in files.damaged:
                problems.warn(
                    "CoverageMismatch",
                    Place(file, entity, "storage", None),
                    "storage has no entry for it: it starts with 0 hm3",
                    "add an entry if that is not meant",
                )
        elif not basin.min_storage_hm3 <= value <= basin.max_storage_hm3:
            _warn_outside(hydro, value, problems)


def _warn_outside(hydro: HydroRecord, value: float, problems: Problems) -> None:
    basin = hydro.reservoir
    problems.warn(
        "CapacityViolation",
        Place("initial_conditions.json", called("hydro", hydro), "storage.value_hm3", value),
        f"value_hm3 = {value:g} is outside its reservoir's {basin.min_storage_hm3:g} to {basin.max_storage_hm3:g}",
        "correct it, or make sure that the first stage can bring the storage into that range",
    )

"""Ways to break a case, and what the error about it must name."""

from __future__ import annotations

from typing import Any, NamedTuple

STAGES, HYDROS, CONFIG = "stages.json", "system/hydros.json", "config.json"
PENALTIES, INITIAL, BUSES = "penalties.json", "initial_conditions.json", "system/buses.json"
LINES, THERMALS, NCS = "system/lines.json", "system/thermals.json", "system/non_controllable_sources.json"
PUMPS, CONTRACTS = "system/pumping_stations.json", "system/energy_contracts.json"
MODELS, PLANES, GEOMETRY = (
    "system/hydro_production_models.json", "system/fpha_hyperplanes.parquet", "system/hydro_geometry.parquet"
)  # fmt: skip
STATS, LAGS = "scenarios/inflow_seasonal_stats.parquet", "scenarios/inflow_ar_coefficients.parquet"
LOAD, FACTORS = "scenarios/load_seasonal_stats.parquet", "scenarios/load_factors.json"
CORRELATION, WIND = "scenarios/correlation.json", "scenarios/non_controllable_stats.parquet"
BOUNDS, GENERIC = "constraints/hydro_bounds.parquet", "constraints/generic_constraints.json"
GENERIC_BOUNDS, THERMAL_BOUNDS = (
    "constraints/generic_constraint_bounds.parquet", "constraints/thermal_bounds.parquet"
)  # fmt: skip
HYDRO_0, HYDRO_1 = "hydro 0 (UPPER)", "hydro 1 (LOWER)"


class Broken(NamedTuple):
    """How the case is broken and what must be said."""

    name: str
    breaks: Any
    kind: str
    file: str
    field: str
    value: Any
    entity: str = ""


def put(file, *path):
    """A breaker that sets a value deep in a JSON file: the last element of ``path`` is the value."""

    def breaks(case):
        place = case.documents[file]
        for step in path[:-2]:
            place = place[step]
        place[path[-2]] = path[-1]

    return breaks


def drop(file, *path):
    def breaks(case):
        place = case.documents[file]
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return breaks


def cell(file, column, row, value):
    """A breaker that sets one value of a Parquet file."""

    def breaks(case):
        case.tables[file][column][row] = value

    return breaks


def column(file, name, values):
    def breaks(case):
        case.tables[file][name] = values

    return breaks


def cut(file, keep):
    """A breaker that cuts a file off."""

    def breaks(case):
        data = case.file_bytes(file)
        case.raw[file] = data[: int(len(data) * keep)]

    return breaks


def raw(file, data):
    def breaks(case):
        case.raw[file] = data

    return breaks


def repeat_row(file, row=0):
    def breaks(case):
        for values in case.tables[file].values():
            values.append(values[row])

    return breaks


def remove_rows(file, name, value):
    """A breaker that takes out the rows whose column ``name`` is ``value``."""

    def breaks(case):
        table = case.tables[file]
        keep = [index for index, each in enumerate(table[name]) if each != value]
        for key, values in table.items():
            table[key] = [values[index] for index in keep]

    return breaks


def several(*breakers):
    def breaks(case):
        for each in breakers:
            each(case)

    return breaks


def add_entry(file, key, entry):
    def breaks(case):
        case.documents[file][key].append(entry)

    return breaks

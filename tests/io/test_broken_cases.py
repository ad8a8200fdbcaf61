"""Every broken case gets exit status 1 and a message that names file, entity, field, value and remedy."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import cobre
from cobre.cli import main

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


HYDRO_0, HYDRO_1 = "hydro 0 (UPPER)", "hydro 1 (LOWER)"
GROUP = ("profiles", "default", "correlation_groups", 0)

FILES = [
    Broken("a required file is missing", raw(THERMALS, None), "MissingFile", THERMALS, THERMALS, THERMALS),
    Broken("JSON cut off", cut(HYDROS, 0.6), "ParseError", HYDROS, "line 1", None),
    Broken("JSON cut off after a line", raw(LINES, b'{"lines": [\n'), "ParseError", LINES, "line 2", ""),
    Broken("JSON empty", raw(BUSES, b"  \n"), "ParseError", BUSES, "", ""),
    Broken("JSON holds null alone", raw(FACTORS, b"null"), "SchemaViolation", FACTORS, "", "null"),
    Broken("JSON with a missing comma", raw(LINES, b'{"lines" []}'), "ParseError", LINES, "line 1", None),
    Broken("JSON holds NaN", raw(LINES, b'{"lines": [{"id": NaN}]}'), "ParseError", LINES, "", "NaN"),
    Broken(
        "JSON is Latin-1",
        raw(BUSES, '{"buses": [], "x": "ã"}'.encode("latin-1")),
        "ParseError",
        BUSES,
        "",
        0xE3,
    ),
    Broken(
        "JSON has a key twice", raw(LINES, b'{"lines": [], "lines": []}'), "ParseError", LINES, "", "lines"
    ),
    Broken("JSON is a list", raw(LINES, b"[]"), "SchemaViolation", LINES, "", "list"),
    Broken("JSON nested without end", raw(LINES, b"[" * 100_000), "ParseError", LINES, "", None),
    Broken("Parquet cut off", cut(STATS, 0.5), "ParseError", STATS, "", None),
    Broken("Parquet cut to nothing", raw(LOAD, b""), "ParseError", LOAD, "", 0),
    Broken("Parquet is text", raw(STATS, b"hydro_id,stage_id\n0,0\n"), "ParseError", STATS, "", 22),
]

SCHEMA = [
    Broken("a key is missing", drop(HYDROS, "hydros", 0, "bus_id"), "SchemaViolation", HYDROS, "bus_id", None, HYDRO_0),
    Broken("a group of penalties is missing", drop(PENALTIES, "line"), "SchemaViolation", PENALTIES, "line", None),
    Broken("text for a number", put(THERMALS, "thermals", 0, "cost_per_mwh", "dear"), "TypeMismatch", THERMALS,
           "cost_per_mwh", "dear", "thermal 0 (GAS)"),
    Broken("true for a number", put(THERMALS, "thermals", 0, "cost_per_mwh", True), "TypeMismatch", THERMALS,
           "cost_per_mwh", True),
    Broken("a fraction for an id", put(THERMALS, "thermals", 0, "bus_id", 1.5), "TypeMismatch", THERMALS,
           "bus_id", 1.5),
    Broken("a number for a list", put(STAGES, "stages", 0, "blocks", 3), "TypeMismatch", STAGES, "blocks", 3,
           "stage 0"),
    Broken("a list for an object", put(HYDROS, "hydros", 1, "reservoir", []), "TypeMismatch", HYDROS, "reservoir",
           "[]", HYDRO_1),
    Broken("negative hours", put(STAGES, "stages", 2, "blocks", 1, "hours", -10.0), "OutOfRange", STAGES,
           "blocks[1].hours", -10.0, "stage 2"),
    Broken("zero hours", put(STAGES, "stages", 2, "blocks", 1, "hours", 0), "OutOfRange", STAGES, "blocks[1].hours", 0),
    Broken("no openings", put(STAGES, "stages", 5, "num_scenarios", 0), "OutOfRange", STAGES, "num_scenarios", 0),
    Broken("a huge cost", put(THERMALS, "thermals", 1, "cost_per_mwh", 1e30), "OutOfRange", THERMALS,
           "cost_per_mwh", 1e30),
    Broken("an id beyond 32 bits", put(BUSES, "buses", 0, "id", 2**40), "OutOfRange", BUSES, "id", 2**40),
    Broken("a date that is none", put(STAGES, "stages", 1, "start_date", "2026-02-30"), "TypeMismatch", STAGES,
           "start_date", "2026-02-30", "stage 1"),
    Broken("a date as a number", put(STAGES, "stages", 1, "end_date", 20260301), "TypeMismatch", STAGES,
           "end_date", 20260301),
    Broken("an unknown production model", put(HYDROS, "hydros", 0, "generation", "model", "magic"), "InvalidEnum",
           HYDROS, "generation.model", "magic", HYDRO_0),
    Broken("an unknown horizon", put(STAGES, "policy_graph", "type", "endless"), "InvalidEnum", STAGES,
           "policy_graph.type", "endless"),
    Broken("an unknown stopping rule", put(CONFIG, "training", "stopping_rules", 0, "type", "boredom"),
           "InvalidEnum", CONFIG, "training.stopping_rules[0].type", "boredom"),
    Broken("an unknown risk measure", put(STAGES, "stages", 0, "risk_measure", "worst"), "InvalidEnum", STAGES,
           "risk_measure", "worst"),
    Broken("a tail beyond 1", put(STAGES, "stages", 3, "risk_measure", {"cvar": {"alpha": 1.5, "lambda": 0.5}}),
           "OutOfRange", STAGES, "risk_measure.cvar.alpha", 1.5),
    Broken("a weight below 0", put(STAGES, "stages", 3, "risk_measure", {"cvar": {"alpha": 0.5, "lambda": -1.0}}),
           "OutOfRange", STAGES, "risk_measure.cvar.lambda", -1.0),
    Broken("eleven months of evaporation", put(HYDROS, "hydros", 0, "evaporation", "coefficients_mm", [1.0] * 11),
           "SchemaViolation", HYDROS, "evaporation.coefficients_mm", None),
    Broken("a scheme with an unknown key",
           put(CONFIG, "training", "scenario_source", {"inflow": {"scheme": "in_sample", "files": 3}}),
           "SchemaViolation", CONFIG, "training.scenario_source.inflow.files", 3),
    Broken("scenario_source in stages.json", put(STAGES, "scenario_source", {"seed": 1}), "SchemaViolation", STAGES,
           "scenario_source", None),
    Broken("no forward pass", put(CONFIG, "training", "forward_passes", 0), "OutOfRange", CONFIG,
           "training.forward_passes", 0),
    Broken("negative losses", put(LINES, "lines", 0, "losses_percent", -1.0), "OutOfRange", LINES,
           "losses_percent", -1.0),
    Broken("all power lost", put(LINES, "lines", 0, "losses_percent", 100.0), "OutOfRange", LINES,
           "losses_percent", 100.0),
    Broken("a negative penalty", put(PENALTIES, "hydro", "spillage_cost", -0.5), "OutOfRange", PENALTIES,
           "hydro.spillage_cost", -0.5),
    Broken("two buses with one id", put(BUSES, "buses", 1, "id", 0), "DuplicateId", BUSES, "id", 0),
    Broken("two stages with one id", put(STAGES, "stages", 1, "id", 0), "DuplicateId", STAGES, "id", 0),
    Broken("a column is missing", lambda case: case.tables[STATS].pop("std_m3s"), "SchemaViolation", STATS,
           "std_m3s", None),
    Broken("a column of text", lambda case: case.tables[LOAD].update(mean_mw=pa.array(["a"] * 36)), "TypeMismatch",
           LOAD, "mean_mw", "string"),
    Broken("ids as fractions", lambda case: case.tables[LOAD].update(bus_id=pa.array([0.5] * 36)), "TypeMismatch",
           LOAD, "bus_id", "double"),
    Broken("NaN in a table", cell(STATS, "mean_m3s", 0, float("nan")), "OutOfRange", STATS, "mean_m3s", "nan",
           "hydro 0, stage 0"),
    Broken("infinity in a table", cell(LOAD, "mean_mw", 0, float("inf")), "OutOfRange", LOAD, "mean_mw", "inf"),
    Broken("null in a table", cell(STATS, "mean_m3s", 3, None), "SchemaViolation", STATS, "mean_m3s", None,
           "hydro 0, stage 3"),
    Broken("a negative deviation", cell(STATS, "std_m3s", 1, -3.0), "OutOfRange", STATS, "std_m3s", -3.0,
           "hydro 0, stage 1"),
    Broken("a huge load", cell(LOAD, "mean_mw", 0, 1e18), "OutOfRange", LOAD, "mean_mw", 1e18),
    Broken("a row twice", repeat_row(STATS), "DuplicateId", STATS, "hydro_id, stage_id", [0, 0], "hydro 0, stage 0"),
    Broken("a ratio of 0", cell(LAGS, "residual_std_ratio", 0, 0.0), "OutOfRange", LAGS, "residual_std_ratio", 0.0),
    Broken("a share above 1", cell(WIND, "mean", 2, 1.4), "OutOfRange", WIND, "mean", 1.4),
    Broken("a plane that falls with the flow", cell(PLANES, "gamma_q", 0, -0.1), "OutOfRange", PLANES, "gamma_q", -0.1),
    Broken("a plane that rises with spill", cell(PLANES, "gamma_s", 0, 0.1), "OutOfRange", PLANES, "gamma_s", 0.1),
    Broken("kappa above 1", cell(PLANES, "kappa", 1, 1.2), "OutOfRange", PLANES, "kappa", 1.2),
]  # fmt: skip

REFERENCES = [
    Broken("a bus that is not there", put(THERMALS, "thermals", 1, "bus_id", 77), "MissingReference", THERMALS,
           "bus_id", 77, "thermal 1 (COAL)"),
    Broken("a line to nowhere", put(LINES, "lines", 0, "target_bus_id", 9), "MissingReference", LINES,
           "target_bus_id", 9, "line 0 (NORTH-SOUTH)"),
    Broken("a river to nowhere", put(HYDROS, "hydros", 0, "downstream_id", 42), "MissingReference", HYDROS,
           "downstream_id", 42, HYDRO_0),
    Broken("a canal to nowhere", put(HYDROS, "hydros", 0, "diversion", "downstream_id", 8), "MissingReference", HYDROS,
           "diversion.downstream_id", 8, HYDRO_0),
    Broken("a pump from nowhere", put(PUMPS, "pumping_stations", 0, "source_hydro_id", 6), "MissingReference", PUMPS,
           "source_hydro_id", 6, "pumping station 0 (LIFT)"),
    Broken("a contract at no bus", put(CONTRACTS, "contracts", 0, "bus_id", 4), "MissingReference", CONTRACTS,
           "bus_id", 4, "contract 0 (BUY)"),
    Broken("wind at no bus", put(NCS, "non_controllable_sources", 0, "bus_id", 4), "MissingReference", NCS,
           "bus_id", 4, "non-controllable source 0 (WIND)"),
    Broken("storage of no hydro", put(INITIAL, "storage", 0, "hydro_id", 5), "MissingReference", INITIAL,
           "hydro_id", 5, "storage"),
    Broken("past inflows of no hydro", put(INITIAL, "past_inflows", 2, "hydro_id", 5), "MissingReference", INITIAL,
           "hydro_id", 5, "past_inflows"),
    Broken("statistics of no hydro", cell(STATS, "hydro_id", 12, 9), "MissingReference", STATS, "hydro_id", 9,
           "hydro 9, stage 0"),
    Broken("statistics of no stage", cell(LOAD, "stage_id", 0, 99), "MissingReference", LOAD, "stage_id", 99),
    Broken("bounds of no thermal", cell(THERMAL_BOUNDS, "thermal_id", 0, 30), "MissingReference", THERMAL_BOUNDS,
           "thermal_id", 30),
    Broken("a bound of no constraint", cell(GENERIC_BOUNDS, "constraint_id", 0, 8), "MissingReference",
           GENERIC_BOUNDS, "constraint_id", 8),
    Broken("a constraint on no thermal",
           put(GENERIC, "constraints", 0, "expression", "thermal_generation(50)"), "MissingReference", GENERIC,
           "expression", 50, "generic constraint 3 (north)"),
    Broken("a constraint on no variable", put(GENERIC, "constraints", 0, "expression", "hydro_magic(0)"),
           "ParseError", GENERIC, "expression", "hydro_magic(0)"),
    Broken("a constraint that ends early", put(GENERIC, "constraints", 0, "expression", "hydro_turbined(0) +"),
           "ParseError", GENERIC, "expression", "hydro_turbined(0) +"),
    Broken("a season that is not defined", put(STAGES, "stages", 4, "season_id", 25), "MissingReference", STAGES,
           "season_id", 25, "stage 4"),
    Broken("a profile that is not there",
           put(CORRELATION, "schedule", [{"stage_id": 0, "profile_name": "wet"}]), "MissingReference", CORRELATION,
           "profile_name", "wet", "schedule, stage 0"),
    Broken("a correlation of no hydro", put(CORRELATION, *GROUP, "entities", 0, "id", 19), "MissingReference",
           CORRELATION, "entities.id", 19, "profile default, group river"),
    Broken("load factors of no bus", put(FACTORS, "load_factors", 0, "bus_id", 8), "MissingReference", FACTORS,
           "bus_id", 8, "load factors of bus 8, stage 0"),
    Broken("a transition to no stage", put(STAGES, "policy_graph", "transitions", 10, "target_id", 40),
           "MissingReference", STAGES, "target_id", 40, "transition 10 -> 40"),
]  # fmt: skip

DIMENSIONS = [
    Broken("a stage is missing", drop(STAGES, "stages", 6), "StageMismatch", STAGES, "stages.id", 7, "stage 7"),
    Broken("blocks that do not count from 0", put(STAGES, "stages", 1, "blocks", 2, "id", 7), "CoverageMismatch",
           STAGES, "blocks.id", [0, 1, 7], "stage 1"),
    Broken("a factor of no block", put(FACTORS, "load_factors", 0, "block_factors", 0, "block_id", 5),
           "MissingReference", FACTORS, "block_factors.block_id", 5, "load factors of bus 0, stage 0"),
    Broken("two factors of a block", put(FACTORS, "load_factors", 0, "block_factors", 0, "block_id", 1),
           "DuplicateId", FACTORS, "block_factors.block_id", 1),
    Broken("a bound in no block", cell(GENERIC_BOUNDS, "block_id", 1, 3), "MissingReference", GENERIC_BOUNDS,
           "block_id", 3),
    Broken("a term in no block", put(GENERIC, "constraints", 0, "expression", "thermal_generation(0, 6)"),
           "MissingReference", GENERIC, "expression", 6),
    Broken("a bound for all blocks and for one",
           several(cell(GENERIC_BOUNDS, "stage_id", 1, 1)), "DuplicateId", GENERIC_BOUNDS, "block_id", 0),
    Broken("a stage without planes", remove_rows(PLANES, "stage_id", None), "CoverageMismatch", PLANES, "stage_id",
           [0, 1, 2, 3, 4, 5, 7, 8, 10, 11], "hydro 2 (SIDE)"),
    Broken("planes that need no water", several(*(cell(PLANES, "gamma_q", row, 0.0) for row in range(3))),
           "PhysicalConstraint", PLANES, "gamma_q", 0.0, "hydro 2 (SIDE)"),
    Broken("planes without a production model", drop(MODELS, "production_models", 1), "CoverageMismatch", MODELS,
           "production_models", 2, "hydro 2 (SIDE)"),
    Broken("no productivity", drop(MODELS, "production_models", 1, "seasons", 0, "productivity_override"),
           "SchemaViolation", MODELS, "productivity_override", None, "hydro 2 (SIDE)"),
    Broken("evaporation without geometry", remove_rows(GEOMETRY, "hydro_id", 0), "CoverageMismatch", GEOMETRY,
           "hydro_id", 0, HYDRO_0),
    Broken("lags with a gap", cell(LAGS, "lag", 0, 2), "CoverageMismatch", LAGS, "lag", [2], "hydro 0, stage 0"),
    Broken("lags without statistics", remove_rows(STATS, "hydro_id", 2), "CoverageMismatch", LAGS, "stage_id", 0,
           "hydro 2, stage 0"),
    Broken("too few past inflows", put(INITIAL, "past_inflows", 0, "values_m3s", []), "CoverageMismatch", INITIAL,
           "past_inflows.values_m3s", 0, "hydro 0"),
    Broken("a matrix of the wrong size", put(CORRELATION, *GROUP, "matrix", [[1.0]]), "CoverageMismatch",
           CORRELATION, "matrix", [1], "profile default, group river"),
    Broken("no bus", several(put(BUSES, "buses", [])), "CoverageMismatch", BUSES, "buses", []),
]  # fmt: skip

SEMANTICS = [
    Broken("a stage that ends before it starts", put(STAGES, "stages", 11, "end_date", "2026-11-15"), "OutOfRange",
           STAGES, "end_date", "2026-11-15", "stage 11"),
    Broken("stages that overlap", put(STAGES, "stages", 4, "end_date", "2026-06-05"), "StageMismatch", STAGES,
           "start_date", "2026-06-01", "stage 5"),
    Broken("water that flows in a circle", put(HYDROS, "hydros", 1, "downstream_id", 0), "PhysicalConstraint", HYDROS,
           "downstream_id", 1, "hydro 0"),
    Broken("water that flows to itself", put(HYDROS, "hydros", 2, "downstream_id", 2), "PhysicalConstraint", HYDROS,
           "downstream_id", 2, "hydro 2"),
    Broken("storage bounds crossed", put(HYDROS, "hydros", 0, "reservoir", "min_storage_hm3", 5000.0),
           "PhysicalConstraint", HYDROS, "reservoir.min_storage_hm3", 5000.0, HYDRO_0),
    Broken("turbine bounds crossed", put(HYDROS, "hydros", 0, "generation", "min_turbined_m3s", 900.0),
           "PhysicalConstraint", HYDROS, "generation.min_turbined_m3s", 900.0, HYDRO_0),
    Broken("outflow bounds crossed", put(HYDROS, "hydros", 2, "outflow", "min_outflow_m3s", 300.0),
           "PhysicalConstraint", HYDROS, "outflow.min_outflow_m3s", 300.0, "hydro 2 (SIDE)"),
    Broken("thermal bounds crossed", put(THERMALS, "thermals", 0, "generation", "min_mw", 400.0),
           "PhysicalConstraint", THERMALS, "generation.min_mw", 400.0, "thermal 0 (GAS)"),
    Broken("bounds crossed in one stage", cell(BOUNDS, "min_storage_hm3", 11, 3100.0), "PhysicalConstraint", BOUNDS,
           "min_storage_hm3", 3100.0, f"{HYDRO_0}, stage 11"),
    Broken("thermal bounds crossed in one stage", cell(THERMAL_BOUNDS, "min_generation_mw", 0, 270.0),
           "PhysicalConstraint", THERMAL_BOUNDS, "min_generation_mw", 270.0, "thermal 0 (GAS), stage 6"),
    Broken("pump bounds crossed", put(PUMPS, "pumping_stations", 0, "flow", "min_m3s", 30.0), "PhysicalConstraint",
           PUMPS, "flow.min_m3s", 30.0, "pumping station 0 (LIFT)"),
    Broken("contract bounds crossed", put(CONTRACTS, "contracts", 0, "limits", "min_mw", 90.0), "PhysicalConstraint",
           CONTRACTS, "limits.min_mw", 90.0, "contract 0 (BUY)"),
    Broken("a line from a bus to itself", put(LINES, "lines", 0, "target_bus_id", 0), "PhysicalConstraint", LINES,
           "target_bus_id", 0, "line 0 (NORTH-SOUTH)"),
    Broken("a pump in a circle", put(PUMPS, "pumping_stations", 0, "destination_hydro_id", 1), "PhysicalConstraint",
           PUMPS, "destination_hydro_id", 1, "pumping station 0 (LIFT)"),
    Broken("leaving before entering", put(THERMALS, "thermals", 2, "exit_stage_id", 1), "PhysicalConstraint",
           THERMALS, "entry_stage_id", 1, "thermal 2 (DIESEL)"),
    Broken("a lake that shrinks as it fills", cell(GEOMETRY, "area_km2", 2, 50.0), "PhysicalConstraint", GEOMETRY,
           "area_km2", 50.0, "hydro 0, volume hm3 2000.0"),
    Broken("a canal bound without a canal",
           several(cell(BOUNDS, "hydro_id", 11, 1), column(BOUNDS, "max_storage_hm3", [None] * 12),
                   column(BOUNDS, "min_storage_hm3", [None] * 12)),
           "PhysicalConstraint", BOUNDS, "max_diversion_m3s", 9.0, "hydro 1, stage 11"),
    Broken("deficit with an end", put(PENALTIES, "bus", "deficit_segments", 1, "depth_mw", 10.0),
           "PenaltyConsistency", PENALTIES, "bus.deficit_segments.depth_mw", 10.0),
    Broken("no deficit segment", put(BUSES, "buses", 2, "deficit_segments", []), "PenaltyConsistency", BUSES,
           "deficit_segments.depth_mw", None, "bus 2 (EAST)"),
    Broken("an open segment before the last", put(PENALTIES, "bus", "deficit_segments", 0, "depth_mw", None),
           "PenaltyConsistency", PENALTIES, "bus.deficit_segments[0].depth_mw", None),
    Broken("a slack that costs nothing", put(GENERIC, "constraints", 0, "slack", {"enabled": True}),
           "PenaltyConsistency", GENERIC, "slack.penalty", None, "generic constraint 3 (north)"),
    Broken("probabilities that do not sum to 1", put(STAGES, "policy_graph", "transitions", 2, "probability", 0.4),
           "OutOfRange", STAGES, "policy_graph.transitions.probability", 0.4, "stage 2"),
    Broken("transitions that are no chain", put(STAGES, "policy_graph", "transitions", 2, "target_id", 7),
           "IncompatibleSettings", STAGES, "policy_graph.transitions.target_id", 7, "stage 2"),
    Broken("a season of uneven stages",
           several(put(STAGES, "stages", 11, "end_date", "2027-02-20"), put(STAGES, "stages", 11, "season_id", 10)),
           "StageMismatch", STAGES, "season_id", 10, "season 10"),
    Broken("a matrix that is not symmetric", put(CORRELATION, *GROUP, "matrix", [[1.0, 0.5], [0.7, 1.0]]),
           "OutOfRange", CORRELATION, "matrix", 0.7, "profile default, group river"),
    Broken("a correlation of 2", put(CORRELATION, *GROUP, "matrix", [[1.0, 2.0], [2.0, 1.0]]), "OutOfRange",
           CORRELATION, "matrix", 2.0),
    Broken("no correlation with itself", put(CORRELATION, *GROUP, "matrix", [[0.9, 0.5], [0.5, 1.0]]), "OutOfRange",
           CORRELATION, "matrix", 0.9),
    Broken("a group of two classes", put(CORRELATION, *GROUP, "entities", 0, {"type": "load", "id": 0}),
           "IncompatibleSettings", CORRELATION, "entities.type", ["inflow", "load"]),
    Broken("an entity twice in a profile", put(CORRELATION, *GROUP, "entities", 1, "id", 0), "DuplicateId",
           CORRELATION, "entities.id", 0),
    Broken("ratios that differ between lags",
           lambda case: [case.tables[LAGS][key].append(value) for key, value in
                         {"hydro_id": 2, "stage_id": 0, "lag": 2, "coefficient": 0.1,
                          "residual_std_ratio": 0.5}.items()] and
           case.documents[INITIAL]["past_inflows"][2]["values_m3s"].append(21.0),
           "IncompatibleSettings", LAGS, "residual_std_ratio", [0.5, 0.95], "hydro 2, stage 0"),
    Broken("stage ranges that overlap", put(MODELS, "production_models", 0, "stage_ranges", 1, "start_stage_id", 4),
           "IncompatibleSettings", MODELS, "stage_ranges.start_stage_id", 4, "hydro 0"),
    Broken("a stage range backwards", put(MODELS, "production_models", 0, "stage_ranges", 0, "end_stage_id", 1),
           "OutOfRange", MODELS, "stage_ranges.start_stage_id", 2, "hydro 0"),
    Broken("cut selection without a method", put(CONFIG, "training", "cut_selection", {"enabled": True}),
           "SchemaViolation", CONFIG, "training.cut_selection.method", None),
    Broken("out of sample without a seed",
           put(CONFIG, "training", "scenario_source", {"inflow": {"scheme": "out_of_sample"}}), "SchemaViolation",
           CONFIG, "training.scenario_source.seed", None),
    Broken("external without a file",
           put(CONFIG, "training", "scenario_source", {"load": {"scheme": "external"}}), "MissingFile",
           "scenarios/external_load_scenarios.parquet", "training.scenario_source.load.scheme", "external"),
]  # fmt: skip

EVERY = [*FILES, *SCHEMA, *REFERENCES, *DIMENSIONS, *SEMANTICS]


def _id(broken):
    return broken.name.replace(" ", "-")


def test_there_are_at_least_sixty():
    assert len(EVERY) == len({broken.name for broken in EVERY}) >= 60


def test_the_case_that_gets_broken_is_good(case):
    report = cobre.validate(case.write())
    assert (report.errors, report.warnings) == ((), ())
    assert report.layers_completed == ("files", "schema", "references", "dimensions", "semantics")


@pytest.mark.parametrize("broken", EVERY, ids=_id)
def test_a_broken_case_is_refused_with_everything_a_planner_needs(case, broken, capsys):
    broken.breaks(case)
    folder = case.write()
    report = cobre.validate(folder)
    assert not report.valid
    matching = [error for error in report.errors if (error.kind, error.file, error.field) == broken[2:5]]
    assert matching, [str(error) + f" [{error.kind} {error.field}]" for error in report.errors]
    error = matching[0]
    assert error.remedy
    assert error.message
    if broken.entity:
        assert error.entity == broken.entity
    if broken.value is not None:
        value = error.to_dict()["value"]
        assert value == broken.value or str(value) == str(broken.value)
        assert _spoken(broken.value, str(error)), str(error)
    assert main(["validate", str(folder)]) == 1
    shown = capsys.readouterr().out
    assert broken.file in shown
    assert f"fix: {error.remedy}" in shown


def _spoken(value, text):
    """Whether a message says a value the way people write it."""
    parts = value if isinstance(value, list) else [value]
    spellings = (
        [str(part), repr(part), f"{part:g}" if isinstance(part, float) else str(part)] for part in parts
    )
    special = {0xE3: "0xe3"}
    if value is True:
        return "true" in text
    if not parts:
        return True
    if not isinstance(value, list) and value in special:
        return special[value] in text
    return all(any(spelling in text for spelling in each) for each in list(spellings)[:8])


@pytest.mark.parametrize("broken", EVERY, ids=_id)
def test_one_mistake_gives_one_error_or_few(case, broken):
    broken.breaks(case)
    errors = cobre.validate(case.write()).errors
    limit = {"no bus": 60, "a stage is missing": 60, "JSON cut off": 5}.get(broken.name, 3)
    assert len(errors) <= limit, [str(error) for error in errors]


def test_loading_raises_one_error_that_carries_all(case):
    for broken in (SCHEMA[2], REFERENCES[1], SEMANTICS[4]):
        broken.breaks(case)
    put(STAGES, "stages", 2, "blocks", 1, "hours", -10.0)(case)
    cell(LOAD, "mean_mw", 0, float("nan"))(case)
    case.raw[GEOMETRY] = b"PAR1"
    with pytest.raises(cobre.ValidationError) as caught:
        cobre.load_case(case.write())
    found = {(error["file"], error["field"]) for error in caught.value.errors}
    assert found >= {
        (THERMALS, "cost_per_mwh"),
        (LINES, "target_bus_id"),
        (HYDROS, "reservoir.min_storage_hm3"),
        (STAGES, "blocks[1].hours"),
        (LOAD, "mean_mw"),
        (GEOMETRY, ""),
    }
    assert caught.value.exit_status == 1
    for part in ("'dear'", "there is no bus 9", "5000", "-10", "nan", "Parquet"):
        assert part in str(caught.value)
    assert json.loads(json.dumps(caught.value.to_dict()))["errors"]


def test_a_single_problem_is_the_error_itself(case):
    put(THERMALS, "thermals", 1, "bus_id", 77)(case)
    with pytest.raises(cobre.ValidationError, match="there is no bus 77") as caught:
        cobre.CaseLoader.load(case.write())
    error = caught.value
    assert error.kind == "MissingReference"
    assert error.suggestion == "use one of 0, 1, 2"
    assert error.context["file"] == THERMALS
    assert (error.context["entity"], error.context["field"], error.context["value"]) == (
        "thermal 1 (COAL)",
        "bus_id",
        77,
    )


def test_both_ways_to_write_a_risk_measure_are_shown(case):
    put(STAGES, "stages", 0, "risk_measure", "cvar")(case)
    (error,) = cobre.validate(case.write()).errors
    assert '{"cvar": {"alpha"' in error.remedy
    assert "expectation" in error.remedy


def test_many_problems_of_a_kind_are_counted_not_listed(case):
    case.tables[LOAD]["std_mw"] = [-1.0] * 36
    errors = cobre.validate(case.write()).errors
    assert len(errors) == 21
    assert errors[-1].message == "16 more problems of this kind with std_mw"


@pytest.mark.parametrize(
    ("breaks", "layers"),
    [
        (raw(THERMALS, None), ("files",)),
        (put(THERMALS, "thermals", 0, "cost_per_mwh", "dear"), ("files", "schema")),
        (put(THERMALS, "thermals", 1, "bus_id", 77), ("files", "schema", "references", "dimensions", "semantics")),
    ],
)  # fmt: skip
def test_layers_that_saw_all_of_the_data_are_completed(case, breaks, layers):
    breaks(case)
    assert cobre.validate(case.write()).layers_completed == layers


def test_an_entry_that_is_wrong_still_counts_as_there(case):
    put(BUSES, "buses", 1, "name", 3)(case)
    errors = cobre.validate(case.write()).errors
    assert [(error.file, error.field) for error in errors] == [(BUSES, "name")]

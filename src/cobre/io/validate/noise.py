"""Checks of how much the case says about randomness: statistics, lags, correlation, given noises."""

from __future__ import annotations

from collections import Counter

import numpy as np

from cobre.io.problems import Place, Problems
from cobre.io.read.columns import Table
from cobre.io.read.files import CaseFiles
from cobre.io.validate.external_rows import check_external_rows, stated_by_scenarios
from cobre.io.validate.naming import called, listed
from cobre.io.validate.noise_members import CLASSES, members_of
from cobre.stochastic.fitting.autocorrelation import ANNUAL_SEASONS


def check_noise(files: CaseFiles, problems: Problems) -> None:
    """Report gaps in what the scenario files say."""
    _check_coverage(files, problems)
    _check_lags(files, problems)
    _check_past_inflows(files, problems)
    _check_matrices(files, problems)
    _check_openings(files, problems)
    check_external_rows(files, problems)


def _pairs(table: Table) -> set[tuple[int, int]]:
    return set(zip(table[table.file.key[0]].tolist(), table["stage_id"].tolist(), strict=True))


def _check_coverage(files: CaseFiles, problems: Problems) -> None:
    """Statistics that are missing have a meaning of their own; that deserves a word."""
    stages = sorted(stage.id for stage in files.stages.stages)
    rules = {"hydro": "dimensional.1", "bus": "dimensional.2"}
    for name, kind, entities, meaning in (
        ("inflow_stats", "hydro", files.hydros.hydros, "its inflow there is 0"),
        ("load_stats", "bus", files.buses.buses, "its load there is 0"),
        (
            "non_controllable_stats",
            "non-controllable source",
            files.non_controllables.non_controllable_sources,
            "all of its power is available there",
        ),
    ):
        table = files.tables[name]
        have = _pairs(table) | stated_by_scenarios(files, name)
        if table.file.path in files.damaged or (table.file.path not in files.present and not entities):
            continue
        if kind == "hydro" and files.lacks_fit:
            continue
        if kind == "bus" and entities and not have:
            problems.warn(
                "CoverageMismatch",
                table.file.path,
                f"{'has no rows' if table.file.path in files.present else 'is missing'}: no bus has any load",
                "add the rows if that is not meant",
                field="bus_id",
            )
        for entity in entities:
            lacking = [stage for stage in stages if (entity.id, stage) not in have]
            if lacking and (kind == "hydro" or len(lacking) < len(stages)):
                problems.warn(
                    "CoverageMismatch",
                    Place(table.file.path, called(kind, entity), "stage_id", lacking[:8]),
                    f"has no row for stage {listed(lacking)}: {meaning}",
                    "add the rows if that is not meant",
                    **{"rule": rules[kind]} if kind in rules else {},
                )


def _check_lags(files: CaseFiles, problems: Problems) -> None:
    stats = _pairs(files.tables["inflow_stats"])
    lags = files.tables["inflow_lags"]
    seasons = {stage.id: stage.season_id for stage in files.stages.stages}
    groups: dict[tuple[int, int], list[int]] = {}
    for row in range(len(lags)):
        key = (int(lags["hydro_id"][row]), int(lags["stage_id"][row]))
        groups.setdefault(key, []).append(row)
    for (hydro_id, stage_id), rows in groups.items():
        numbers = [int(lags["lag"][row]) for row in rows]
        place = {"entity": f"hydro {hydro_id}, stage {stage_id}"}
        if numbers != list(range(1, len(numbers) + 1)) and lags.file.path not in files.damaged:
            problems.error(
                "CoverageMismatch",
                lags.file.path,
                f"its lags are {listed(numbers)}, which do not count 1, 2, 3, …",
                f"give the lags 1 to {len(numbers)}",
                field="lag",
                value=numbers,
                **place,
            )
        given = {float(lags["residual_std_ratio"][row]) for row in rows}
        ratios = sorted(ratio for ratio in given if ratio == ratio)  # unknown where something else is wrong
        if len(ratios) > 1:
            problems.error(
                "IncompatibleSettings",
                lags.file.path,
                f"residual_std_ratio is {listed(ratios)} on rows of one stage, where it must be one number",
                "write the same ratio on every lag of a stage",
                field="residual_std_ratio",
                value=ratios,
                **place,
            )
        _check_stats_row(files, stats, (hydro_id, stage_id), lags.file.path, problems)
        if stage_id in seasons and seasons[stage_id] is None:
            problems.error(
                "CoverageMismatch",
                Place("stages.json", f"stage {stage_id}", "season_id", None),
                f"has no season_id, which the lags of hydro {hydro_id} in {lags.file.path} need",
                "give the stage a season_id",
                rule="5b.35.1",
            )
    annual = files.tables["inflow_annual"]
    _check_annual_cycle(files, problems)
    for pair in sorted(_pairs(annual)):
        _check_stats_row(files, stats, pair, annual.file.path, problems)


def _check_annual_cycle(files: CaseFiles, problems: Problems) -> None:
    """The annual component is the mean of twelve months: other seasons have no such mean."""
    annual, definitions = files.tables["inflow_annual"], files.stages.season_definitions
    if len(annual) and definitions is not None and definitions.cycle_type != "monthly":
        problems.error(
            "IncompatibleSettings",
            annual.file.path,
            f"is about the mean of twelve months, but cycle_type is {definitions.cycle_type}",
            "use a monthly calendar, or remove the file",
            field="annual_coefficient",
            value=definitions.cycle_type,
            rule="5a.29",
        )


def _check_stats_row(
    files: CaseFiles, stats: set[tuple[int, int]], pair: tuple[int, int], file: str, problems: Problems
) -> None:
    source = "scenarios/inflow_seasonal_stats.parquet"
    hydros, stages = files.known_ids["hydro"], files.known_ids["any stage"]
    is_known = hydros is not None and pair[0] in hydros and stages is not None and pair[1] in stages
    if pair in stats or source in files.damaged or files.lacks_fit or not is_known:
        return
    problems.error(
        "CoverageMismatch",
        Place(file, f"hydro {pair[0]}, stage {pair[1]}", "stage_id", pair[1]),
        f"has no matching row in {source}",
        f"add mean and deviation of hydro {pair[0]} in stage {pair[1]} there",
    )


def _check_past_inflows(files: CaseFiles, problems: Problems) -> None:
    lags = files.tables["inflow_lags"]
    study = {stage.id for stage in files.stages.stages}
    orders: Counter[int] = Counter()
    for hydro_id, stage_id, lag in zip(
        lags["hydro_id"].tolist(), lags["stage_id"].tolist(), lags["lag"].tolist(), strict=True
    ):
        if stage_id in study:
            orders[hydro_id] = max(orders[hydro_id], lag)
    annual = files.tables["inflow_annual"]
    for hydro_id, stage_id in _pairs(annual):
        if stage_id in study:
            orders[hydro_id] = max(orders[hydro_id], ANNUAL_SEASONS)
    given = {entry.hydro_id: len(entry.values_m3s) for entry in files.past_inflows}
    is_given = len(lags) > 0 and lags.file.path in files.present
    wanted = is_given and any(stage.state_variables.inflow_lags for stage in files.stages.stages)
    if files.generation.is_018:
        return  # lags start from the history, whose gaps are reported where they are filled
    for hydro_id, order in sorted(orders.items()):
        if given.get(hydro_id, 0) >= order or "initial_conditions.json" in files.damaged:
            continue
        report = problems.error if wanted else problems.warn
        report(
            "CoverageMismatch",
            Place(
                "initial_conditions.json",
                f"hydro {hydro_id}",
                "past_inflows.values_m3s",
                given.get(hydro_id, 0),
            ),
            f"past_inflows has {given.get(hydro_id, 0)} values, but its inflow model looks {order} stages back"
            + ("" if wanted else "; the missing ones count as 0"),
            f"give {order} values in values_m3s, the most recent first",
        )
    for entry in files.past_inflows:
        if entry.season_ids is not None and len(entry.season_ids) != len(entry.values_m3s):
            problems.error(
                "CoverageMismatch",
                Place(
                    "initial_conditions.json",
                    f"past inflows of hydro {entry.hydro_id}",
                    "season_ids",
                    list(entry.season_ids),
                ),
                f"season_ids has {len(entry.season_ids)} entries for {len(entry.values_m3s)} values",
                "give one season per value, or remove season_ids",
            )


def _check_matrices(files: CaseFiles, problems: Problems) -> None:
    if files.correlation is None:
        return
    for name, profile in sorted(files.correlation.profiles.items()):
        for group in profile.correlation_groups:
            size = len(group.entities)
            shape = [len(row) for row in group.matrix]
            if shape != [size] * size:
                problems.error(
                    "CoverageMismatch",
                    Place(
                        "scenarios/correlation.json", f"profile {name}, group {group.name}", "matrix", shape
                    ),
                    f"matrix has {len(shape)} rows of {listed(sorted(set(shape)))} numbers for {size} entities",
                    f"give {size} rows of {size} numbers",
                    rule="dimensional.4" if len(shape) == size else "dimensional.3",
                )


def _check_openings(files: CaseFiles, problems: Problems) -> None:
    table, key = files.tables["noise_openings"], files.generation.word("num_openings")
    if not files.has_given_openings or {"stages.json", table.file.path} & files.damaged:
        return
    n_entities = sum(len(members_of(files, name)) for name in CLASSES)
    highest = int(table["entity_index"].max())
    if highest >= n_entities or int(table["entity_index"].min()) < 0:
        problems.error(
            "OutOfRange",
            table.file.path,
            f"entity_index goes up to {highest}, but the study has {n_entities} noises",
            "count from 0: hydros by id, then buses with std_mw > 0, then sources with statistics",
            field="entity_index",
            value=highest,
        )
        return
    for stage in sorted(files.stages.stages, key=lambda stage: stage.id):
        mine = table["stage_id"] == stage.id
        openings = np.unique(table["opening_index"][mine])
        expected = stage.n_openings * n_entities
        if np.array_equal(openings, np.arange(stage.n_openings)) and np.count_nonzero(mine) == expected:
            continue
        problems.error(
            "CoverageMismatch",
            Place(table.file.path, f"stage {stage.id}", "opening_index", len(openings)),
            f"has {np.count_nonzero(mine)} rows with {len(openings)} openings where {key} = "
            f"{stage.n_openings} and {n_entities} noises make {expected}",
            f"give openings 0 to {stage.n_openings - 1}, each with entities 0 to {n_entities - 1}",
        )

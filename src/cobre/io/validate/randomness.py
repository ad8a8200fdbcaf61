"""Checks of what statistics and correlations mean."""

from __future__ import annotations

import numpy as np

from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.scenarios.correlation import CorrelationGroupRecord
from cobre.io.validate.naming import listed
from cobre.io.validate.notes import report_repeated

TOLERANCE = 1e-9
CORRELATION = "scenarios/correlation.json"
METHODS = ("spectral", "cholesky")


def check_randomness(files: CaseFiles, problems: Problems) -> None:
    """Report correlations that are none, and openings without noise."""
    _check_deviations(files, problems)
    if files.correlation is None or CORRELATION not in files.present:
        return
    known = METHODS[:1] if files.generation.is_018 else METHODS
    if files.correlation.method not in known:
        report = problems.error if files.generation.is_018 else problems.warn
        report(
            "InvalidEnum",
            CORRELATION,
            f"method = {files.correlation.method!r} is not known"
            + ("" if files.generation.is_018 else "; the symmetric square root is used"),
            f"use {' or '.join(known)}",
            field="method",
            value=files.correlation.method,
        )
    for name, profile in sorted(files.correlation.profiles.items()):
        seen: set[tuple[str, int]] = set()
        for group in profile.correlation_groups:
            entity = f"profile {name}, group {group.name}"
            _check_group(group, entity, problems)
            for member in group.entities:
                if (member.type, member.id) in seen:
                    problems.error(
                        "DuplicateId",
                        Place(CORRELATION, entity, "entities.id", member.id),
                        f"{member.type} {member.id} is in two places of the profile",
                        "let each noise belong to one group, once",
                    )
                seen.add((member.type, member.id))
    _check_schedule(files, problems)


def _check_group(group: CorrelationGroupRecord, entity: str, problems: Problems) -> None:
    def wrong(rule: str, text: str, remedy: str, value: object) -> None:
        place = {"entity": entity, "field": "matrix", "value": value, "rule": rule}
        problems.error("OutOfRange", CORRELATION, text, remedy, **place)

    classes = sorted({member.type for member in group.entities})
    if len(classes) > 1:
        problems.error(
            "IncompatibleSettings",
            Place(CORRELATION, entity, "entities.type", classes),
            f"entities mix the classes {', '.join(classes)}",
            "make one group per class",
        )
    size = len(group.entities)
    if [len(row) for row in group.matrix] != [size] * size:
        return
    for row in range(size):
        for column in range(row + 1):
            value, mirror = group.matrix[row][column], group.matrix[column][row]
            at = f"matrix[{row}][{column}]"
            if row == column and abs(value - 1.0) > TOLERANCE:
                text = f"{at} is {value:g} where every noise has correlation 1 with itself"
                wrong("5b.15", text, "write 1.0", value)
            elif abs(value) > 1.0 + TOLERANCE:
                text, remedy = f"{at} is {value:g}, outside -1 to 1", "give a correlation between -1 and 1"
                wrong("5b.16", text, remedy, value)
            elif abs(value - mirror) > TOLERANCE:
                remedy = "write the same number in both places"
                text = f"{at} is {value:g} but matrix[{column}][{row}] is {mirror:g}"
                wrong("5b.14", text, remedy, value)
    matrix = np.array(group.matrix)
    if size and np.allclose(matrix, matrix.T) and float(np.linalg.eigvalsh(matrix)[0]) < -1e-8:
        problems.warn(
            "OutOfRange",
            Place(CORRELATION, entity, "matrix", float(np.linalg.eigvalsh(matrix)[0])),
            "matrix is not positive semidefinite: no noises can be correlated like this; the nearest ones are used",
            "lower the correlations that contradict each other",
        )


def _check_schedule(files: CaseFiles, problems: Problems) -> None:
    if files.correlation is None:
        return
    names = sorted(files.correlation.profiles)
    entries = [entry.stage_id for entry in files.correlation.schedule or ()]
    where = (CORRELATION, "schedule", "stage_id")
    report_repeated(entries, problems, where, "stage {} is scheduled twice", "give each stage one profile")
    lacking = sorted({stage.id for stage in files.stages.stages} - set(entries))
    if lacking and len(names) > 1 and "default" not in names:
        problems.error(
            "CoverageMismatch",
            Place(CORRELATION, "schedule", "schedule", lacking),
            f"stage {listed(lacking)} has no profile: there are several and none is called default",
            "name one profile default, or schedule every stage",
        )


def _check_deviations(files: CaseFiles, problems: Problems) -> None:
    """Openings that do not differ are wasted work, and mostly a mistake."""
    key = files.generation.word("num_openings")
    stats, load = files.tables["inflow_stats"], files.tables["load_stats"]
    sources = files.tables["non_controllable_stats"]
    if {stats.file.path, load.file.path, sources.file.path} & files.damaged or files.has_given_openings:
        return
    if files.lacks_fit or _follows_scenarios(files):
        return
    noisy = {
        stage
        for table, column in ((stats, "std_m3s"), (load, "std_mw"), (sources, "std"))
        for stage in table["stage_id"][table[column] > 0.0].tolist()
    }
    silent = [s for s in files.stages.stages if s.n_openings > 1 and s.id not in noisy]
    if silent:
        problems.warn(
            "CoverageMismatch",
            Place("stages.json", f"stage {silent[0].id}", key, silent[0].n_openings),
            f"stage {listed(sorted(s.id for s in silent))} has several openings, but every deviation there is 0: "
            "they are all the same",
            f"set {key} to 1 there, or give deviations",
            rule="5b.12",
        )


def _follows_scenarios(files: CaseFiles) -> bool:
    """Whether external scenarios give the deviations, as they do in 0.18."""
    source = files.config.training.scenario_source
    schemes = () if source is None else (source.inflow.scheme, source.load.scheme, source.ncs.scheme)
    return files.generation.is_018 and "external" in schemes

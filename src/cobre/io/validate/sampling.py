"""Checks of where noise comes from: scenario sources of training and simulation, sampling methods of stages."""

from __future__ import annotations

from cobre.core.scenarios import EntityClass
from cobre.io.problems import Place, Problems
from cobre.io.read.config import ScenarioFields, YearRange
from cobre.io.read.files import CaseFiles
from cobre.io.validate.fit_wanted import HISTORY
from cobre.io.validate.naming import listed
from cobre.io.validate.noise_members import CLASSES, members_of, sources_of
from cobre.stochastic.sobol import MAX_SOBOL_DIMENSIONS

CONFIG, STAGES = "config.json", "stages.json"
SEEDED = ("out_of_sample", "external")


def check_sampling(files: CaseFiles, problems: Problems) -> None:
    """Report schemes and methods that lack what they need, or that have no effect."""
    if CONFIG not in files.unusable:
        for phase, source in sources_of(files).items():
            _check_schemes(files, phase, source, problems)
            _check_years(files, phase, source, problems)
        _check_external_files(files, problems)
    _check_methods(files, problems)


def _scheme(source: ScenarioFields, name: EntityClass) -> str:
    return str(getattr(source, name).scheme)


def _check_schemes(files: CaseFiles, phase: str, source: ScenarioFields, problems: Problems) -> None:
    field = f"{phase}.scenario_source"
    seeded = [name for name in CLASSES if _scheme(source, name) in SEEDED]
    if seeded and source.seed is None:
        problems.error(
            "SchemaViolation",
            CONFIG,
            f"{phase}: {seeded[0]}.scheme is {_scheme(source, seeded[0])}, but there is no seed",
            f"set {field}.seed",
            field=f"{field}.seed",
            value=None,
        )
    for name in CLASSES[1:]:
        if _scheme(source, name) == "historical":
            problems.error(
                "IncompatibleSettings",
                CONFIG,
                f"{phase}: {name}.scheme is historical, but only inflows have a history",
                f"say where the noise of {name} comes from: in_sample, out_of_sample or external",
                field=f"{field}.{name}.scheme",
                value="historical",
            )
    if _scheme(source, "inflow") == "historical" and HISTORY not in files.present:
        problems.error(
            "MissingFile",
            HISTORY,
            f"is missing, but {field}.inflow.scheme is historical",
            "add the file",
            field=f"{field}.inflow.scheme",
            value="historical",
        )


def _check_years(files: CaseFiles, phase: str, source: ScenarioFields, problems: Problems) -> None:
    years, field = source.historical_years, f"{phase}.scenario_source.historical_years"
    if years is None:
        return
    if isinstance(years, YearRange) and years.first > years.last:
        problems.error(
            "OutOfRange",
            CONFIG,
            f"{phase}: historical_years goes from {years.first} to {years.last}",
            "let the first year come before the last one",
            field=field,
            value=[years.first, years.last],
        )
    elif not isinstance(years, YearRange) and not years:
        problems.error(
            "OutOfRange",
            CONFIG,
            f"{phase}: historical_years is an empty list",
            "name years of the history, or remove historical_years to use all",
            field=field,
            value=[],
        )
    methods = {stage.sampling_method for stage in files.stages.stages}
    is_used = _scheme(source, "inflow") == "historical" or (
        phase == "training" and "historical_residuals" in methods
    )
    if not is_used:
        problems.error(
            "IncompatibleSettings",
            CONFIG,
            f"{phase}: historical_years are given, but the inflow scheme is {_scheme(source, 'inflow')}",
            "remove them, or set inflow.scheme to historical",
            field=field,
            value=_scheme(source, "inflow"),
        )


def _check_external_files(files: CaseFiles, problems: Problems) -> None:
    for name in CLASSES:
        table = files.tables[f"external_{name}"]
        wanted = [phase for phase, source in sources_of(files).items() if _scheme(source, name) == "external"]
        if wanted and table.file.path not in files.present:
            problems.error(
                "MissingFile",
                table.file.path,
                f"is missing, but {wanted[0]}.scenario_source.{name}.scheme is external",
                "add the file",
                field=f"{wanted[0]}.scenario_source.{name}.scheme",
                value="external",
            )
        elif not wanted and table.file.path in files.present:
            source = files.config.training.scenario_source
            problems.warn(
                "IncompatibleSettings",
                table.file.path,
                f"is not used: training.scenario_source.{name}.scheme is not external",
                f"set that scheme to external in {CONFIG}, or remove the file",
                field=f"training.scenario_source.{name}.scheme",
                value=None if source is None else _scheme(source, name),
            )


def _check_methods(files: CaseFiles, problems: Problems) -> None:
    """Methods of the opening tree matter only where the tree is not given."""
    stages = sorted(files.stages.stages, key=lambda stage: stage.id)
    if not files.has_given_openings:
        _check_points(files, problems)
        wanting = [stage.id for stage in stages if stage.sampling_method == "historical_residuals"]
        if wanting and HISTORY not in files.present:
            problems.error(
                "MissingFile",
                Place(HISTORY, f"stage {wanting[0]}", "sampling_method", "historical_residuals"),
                f"is missing, but stage {listed(wanting)} has sampling_method = 'historical_residuals'",
                "add the file, or give the openings in scenarios/noise_openings.parquet",
            )
        _check_bootstrap(files, [s.id for s in stages if s.sampling_method == "selective"], problems)
    special = [s.id for s in stages if s.sampling_method in ("selective", "historical_residuals")]
    fresh = [phase for phase, source in sources_of(files).items() if "out_of_sample" in _schemes(source)]
    if special and fresh and CONFIG not in files.unusable:
        problems.warn(
            "IncompatibleSettings",
            Place(
                STAGES,
                f"stage {special[0]}",
                "sampling_method",
                next(s.sampling_method for s in stages if s.id == special[0]),
            ),
            f"the method of stage {listed(special)} is for openings; trajectories of {' and '.join(fresh)} with "
            "fresh noise are drawn independently there",
            "nothing, if that is meant",
        )


def _check_bootstrap(files: CaseFiles, selective: list[int], problems: Problems) -> None:
    """Years of the history are equally likely, so there are no clusters of different size to select."""
    estimation = files.config.estimation
    if selective and estimation is not None and estimation.residuals == "bootstrap":
        problems.error(
            "IncompatibleSettings",
            Place(STAGES, f"stage {selective[0]}", "sampling_method", "selective"),
            f"stage {listed(selective)} has sampling_method = 'selective', but estimation.residuals is bootstrap, "
            "which draws years of the history",
            f"use sampling_method = 'saa' there, or other residuals in {CONFIG}",
        )


def _schemes(source: ScenarioFields) -> set[str]:
    return {_scheme(source, name) for name in CLASSES}


def _check_points(files: CaseFiles, problems: Problems) -> None:
    sobol = [s for s in files.stages.stages if s.sampling_method.startswith("qmc_sobol")]
    n_entities = sum(len(members_of(files, name)) for name in CLASSES)
    if sobol and n_entities > MAX_SOBOL_DIMENSIONS:
        problems.error(
            "OutOfRange",
            Place(STAGES, f"stage {sobol[0].id}", "sampling_method", sobol[0].sampling_method),
            f"Sobol points have at most {MAX_SOBOL_DIMENSIONS} dimensions, and the study has {n_entities} noises",
            "give the openings in scenarios/noise_openings.parquet",
        )
    uneven = [s for s in sobol if s.n_openings & (s.n_openings - 1)]
    if uneven:
        problems.warn(
            "OutOfRange",
            Place(
                STAGES, f"stage {uneven[0].id}", files.generation.word("num_openings"), uneven[0].n_openings
            ),
            f"stage {listed(s.id for s in uneven)} has a number of Sobol points that is no power of two, so that they "
            "are not spread evenly",
            f"set {files.generation.word('num_openings')} to a power of two, if evenly spread points are meant",
        )

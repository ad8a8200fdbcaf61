"""What water under way, generation decided ahead and chronological blocks cost an iteration of training.

    python benchmarks/under_way.py [CASE] [--passes 8] [--iterations 12] [--no-store]

Processor time per iteration, beside columns and rows of the stage problems. Time is the number of pivots, which tells
how much there is to decide, times that of a pivot, which grows with the problem's size. Without CASE the template
``medium`` is used. Variants take turns, and the least of seven rounds counts.
"""

from __future__ import annotations

import argparse
import datetime as dt
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from record import publish
from training_split import with_training

import cobre
from cobre.comm import LocalCommunicator
from cobre.core.case import Case, DatedValue
from cobre.core.entities import LeadTime
from cobre.io.examples import write_example
from cobre.sddp.nature import Nature
from cobre.sddp.subproblem import build_stage_problems
from cobre.sddp.training import train

ROUNDS = 7
HOURS = 100.0
"""Travel time of every river."""


def with_rivers(case: Case) -> Case:
    """Every river takes time."""
    start = case.horizon.stages[0].start_date
    hydros = tuple(
        plant if plant.downstream is None else replace(plant, travel_time_hours=HOURS)
        for plant in case.system.hydros
    )
    past = tuple(
        DatedValue(h, start - dt.timedelta(days=5), start, 10.0)
        for h, plant in enumerate(hydros)
        if plant.travel_time_hours
    )
    return replace(
        case,
        system=replace(case.system, hydros=hydros),
        initial=replace(case.initial, defluences=past),
    )


def generation_of_first_stage(case: Case) -> list[float]:
    """MW of every thermal, as the study without lead times plans it on average."""
    tables = cobre.simulate(case, cobre.train(case).policy, scenarios=50).thermals.to_pydict()
    hours = case.horizon.stages[0].hours
    energy = [0.0] * len(case.system.thermals)
    places = {plant.id: t for t, plant in enumerate(case.system.thermals)}
    rows = zip(tables["stage_id"], tables["thermal_id"], tables["generation_mwh"], strict=True)
    for stage, thermal, generation_mwh in rows:
        if stage == case.horizon.stages[0].id:
            energy[places[thermal]] += generation_mwh / 50.0
    return [each / hours for each in energy]


def with_leads(case: Case, every: int = 1) -> Case:
    """Every thermal, or every fourth, is decided a stage ahead.

    What it delivers in the first stage was decided before the study: as much as the study without lead times plans, so
    that both are about the same dispatch. Without it the first stage would be one of deficits.
    """
    first = case.horizon.stages[0]
    past = tuple(
        DatedValue(t, first.start_date, first.end_date, value)
        for t, value in enumerate(generation_of_first_stage(case))
        if t % every == 0
    )
    thermals = tuple(
        replace(plant, lead=LeadTime(stages=1)) if t % every == 0 else plant
        for t, plant in enumerate(case.system.thermals)
    )
    return replace(
        case,
        system=replace(case.system, thermals=thermals),
        initial=replace(case.initial, commitments=past),
    )


def chronological(case: Case) -> Case:
    """The blocks of every stage in order."""
    stages = tuple(replace(stage, is_chronological=stage.n_blocks > 1) for stage in case.horizon.stages)
    return replace(case, horizon=replace(case.horizon, stages=stages))


VARIANTS = {
    "plain": lambda case: case,
    "rivers": with_rivers,
    "a fourth of leads": lambda case: with_leads(case, 4),
    "leads": with_leads,
    "chronological": chronological,
    "all": lambda case: chronological(with_leads(with_rivers(case))),
}


def size(case: Case) -> dict[str, int]:
    """Columns, rows and dimension of the state, of all stages together."""
    nature = Nature.of(case)
    problems = build_stage_problems(case, nature.inflow, nature.transition)
    return {
        "columns": sum(problem.template.n_columns for problem in problems),
        "rows": sum(problem.template.n_rows for problem in problems),
        "state": problems[0].parameters.state_dimension,
    }


def seconds(case: Case, iterations: int) -> tuple[float, float]:
    """Processor time per iteration, without that of building the problems, and pivots of a solve."""
    marks: list[float] = []
    with LocalCommunicator() as comm:
        result = train(comm, case, on_progress=lambda event: marks.append(time.process_time()))
    pivots = result.timings["solver_iterations"] / result.timings["solver_solves"]
    return (marks[-1] - marks[0]) / (iterations - 1), pivots


def main() -> None:
    """Measure and show."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", nargs="?")
    parser.add_argument("--passes", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--no-store", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(options.case) if options.case else Path(folder) / "medium"
        if not options.case:
            write_example(path, "medium")
        plain = with_training(cobre.load_case(path), options.iterations, options.passes)
    cases = {name: change(plain) for name, change in VARIANTS.items()}
    sizes = {name: size(case) for name, case in cases.items()}
    best = dict.fromkeys(cases, float("inf"))
    pivots: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, case in cases.items():
            spent, pivots[name] = seconds(case, options.iterations)
            best[name] = min(best[name], spent)
    figures: dict[str, float] = {}
    for name, found in sizes.items():
        time_ratio, pivot_ratio = best[name] / best["plain"], pivots[name] / pivots["plain"]
        figures[f"{name}: ms of an iteration"] = 1000.0 * best[name]
        figures[f"{name}: pivots of a solve"] = pivots[name]
        figures[f"{name}: time, plain = 1"] = time_ratio
        figures[f"{name}: pivots, plain = 1"] = pivot_ratio
        figures[f"{name}: time of a pivot, plain = 1"] = time_ratio / pivot_ratio
        for key in ("columns", "rows", "state"):
            figures[f"{name}: {key}, plain = 1"] = found[key] / sizes["plain"][key]
    publish("under_way", "see names", figures, is_stored=not options.no_store)


if __name__ == "__main__":
    main()

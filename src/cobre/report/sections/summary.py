"""The outcome in sentences and figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cobre import draw
from cobre.core.wording import duration
from cobre.draw.charts import OTHER, THIS
from cobre.sddp.stopping import REASONS
from cobre.study.gap import gap_sentence, recorded_gap
from cobre.study.queries.runs import RunData


def names(run: RunData, other: RunData | None) -> list[str]:
    """What the runs are called: their cases, and their folders where both are of one case."""
    runs = [run] if other is None else [run, other]
    found = [_case_name(each) for each in runs]
    if len(set(found)) < len(found):
        found = [
            f"{name} ({'/'.join(each.results.folder.absolute().parts[-2:])})"
            for name, each in zip(found, runs, strict=True)
        ]
    return [draw.visible(name, 80) for name in found]


def _case_name(run: RunData) -> str:
    known = [part["case_name"] for part in run.metadata.values() if part and "case_name" in part]
    return str(known[0]) if known else run.results.folder.name


def summary(run: RunData, other: RunData | None) -> str:
    """How the run ended, cards, warnings, and both runs side by side."""
    texts = [*_opening_texts(run), *_warnings(run)]
    if other is not None:
        mine, theirs = names(run, other)
        texts.append(f"Here “{THIS}” is {mine}, “{OTHER}” is {theirs}. Differences are {THIS} minus {OTHER}.")
    sentences = "".join(f"<p>{draw.escape(draw.visible(text, 1000))}</p>" for text in texts)
    return f"{sentences}{draw.card_row(_cards(run))}{_side_by_side(run, other)}"


def _opening_texts(run: RunData) -> list[str]:
    found = []
    if run.training is not None:
        facts = run.training.metadata
        reason = REASONS.get(facts["termination_reason"], facts["termination_reason"])
        n = facts["iterations"]
        found.append(
            f"Training ended after {n} iteration{'' if n == 1 else 's'}: {reason}. "
            f"The lower bound is {draw.number(facts['final_lower_bound'])} $.{_gap(facts)}"
        )
    if run.simulation is not None:
        numbers = run.simulation.statistics
        found.append(
            f"{run.simulation.scenarios:,} simulated scenarios cost {draw.number(numbers['mean_cost'])} ± "
            f"{draw.number(numbers['ci_95'])} $ on average (95 %), the dearest twentieth "
            f"{draw.number(numbers['cvar_95'])} $. "
            f"{100 * numbers['deficit_frequency']:.3g} % of them have a deficit in some stage."
        )
        end_cost = numbers.get("mean_end_cost", 0.0)  # results of earlier versions have none
        if end_cost:
            found.append(
                f"{draw.number(end_cost)} $ of that mean cost follows the last stage, by the cuts that stand there."
            )
    return found


def _gap(facts: Mapping[str, Any]) -> str:
    """A sentence about the gap; results of early versions have no estimate."""
    estimate = recorded_gap(facts.get("gap_estimate"))
    return "" if estimate is None else f" The gap is {gap_sentence(estimate)}."


def _warnings(run: RunData) -> list[str]:
    found = []
    if run.training is not None and not run.training.is_complete:
        found.append("Warning: training was stopped before its end.")
    if run.results.simulation is None:
        found.append("There is no simulation in this folder: only training is shown.")
    elif run.simulation is None:
        found.append("Warning: the simulation was stopped before its end; its tables are not shown.")
    elif run.training is not None and not run.simulation.is_of_case(run.training.metadata.get("case_digest")):
        found.append(
            "Warning: the data of the case has changed since training: bound and simulated cost are not comparable."
        )
    return found


def _cards(run: RunData) -> list[tuple[str, str]]:
    cards = []
    if run.training is not None:
        facts = run.training.metadata
        cards += [
            ("Lower bound", f"{draw.short_number(facts['final_lower_bound'])} $"),
            ("Iterations", draw.number(facts["iterations"])),
            ("Cuts", draw.number(facts["total_cuts"])),
            ("Training time", duration(facts["wall_time_ms"] / 1000.0)),
        ]
    if run.simulation is not None:
        numbers = run.simulation.statistics
        cards += [
            ("Mean cost", f"{draw.short_number(numbers['mean_cost'])} $"),
            ("Deficit risk", f"{100 * numbers['deficit_frequency']:.3g} %"),
            ("Deficit", f"{draw.short_number(numbers['total_deficit_mwh'])} MWh"),
            ("Spillage", f"{draw.short_number(numbers['total_spillage_hm3'])} hm3"),
            ("Scenarios", draw.number(run.simulation.scenarios)),
        ]
    return cards


def _side_by_side(run: RunData, other: RunData | None) -> str:
    if other is None:
        return ""
    mine, theirs = _figures(run), _figures(other)
    names = [name for name in mine if name in theirs]
    a, b = [mine[name] for name in names], [theirs[name] for name in names]
    differences = [x - y for x, y in zip(a, b, strict=True)]
    percents = [100.0 * d / abs(y) if y else float("nan") for d, y in zip(differences, b, strict=True)]
    table = draw.Table(
        ["figure", THIS, OTHER, "difference", "difference in %"], [names, a, b, differences, percents]
    )
    return draw.plain_table("Both runs side by side", table)


def _figures(run: RunData) -> dict[str, float]:
    found = {
        **({} if run.training is None else _training_figures(run.training.metadata)),
        **({} if run.simulation is None else _simulation_figures(run.simulation.statistics)),
    }
    return {name: float(value) for name, value in found.items()}


def _training_figures(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "lower bound in $": facts["final_lower_bound"],
        "iterations": facts["iterations"],
        "cuts": facts["total_cuts"],
        "training time in s": facts["wall_time_ms"] / 1000.0,
    }


def _simulation_figures(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "mean cost in $": numbers["mean_cost"],
        "standard deviation of the cost in $": numbers["std_cost"],
        "mean of the dearest 5 % in $": numbers["cvar_95"],
        "scenarios with a deficit in %": 100 * numbers["deficit_frequency"],
        "mean deficit in MWh": numbers["total_deficit_mwh"],
        "mean spillage in hm3": numbers["total_spillage_hm3"],
        "mean curtailment in MWh": numbers["total_curtailment_mwh"],
    }

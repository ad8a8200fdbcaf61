"""Pictures of a simulation, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cobre import draw
from cobre.draw.charts import fan_figure
from cobre.study.queries.fans import fan_of
from cobre.study.queries.simulated import summary_values

if TYPE_CHECKING:
    from cobre.io.simulation_results import SimulationFiles
    from cobre.study.results import SimulationResult


def simulation_html(result: SimulationResult, files: SimulationFiles | None) -> str:
    """Figures and fans of stored energy and cost; without tables or before the end only what is known."""
    if not result.is_complete:
        return draw.fragment("<p>The simulation was stopped before its end.</p>")
    numbers = result.statistics
    cards = [
        ("Scenarios", draw.number(result.scenarios)),
        ("Mean cost", f"{draw.number(numbers['mean_cost'])} ± {draw.number(numbers['ci_95'])} $"),
        ("Dearest twentieth", f"{draw.number(numbers['cvar_95'])} $"),
        ("Scenarios with a deficit", f"{100 * numbers['deficit_frequency']:.3g} %"),
    ]
    if files is None:
        return draw.fragment(draw.card_row(cards))
    values = summary_values(files, ["stored_energy_final_mwh", "immediate_cost"])
    labels = files.calendar().stage_labels()
    weights = files.probabilities()
    storage, cost = (fan_of(values[name], weights) for name in ("stored_energy_final_mwh", "immediate_cost"))
    parts = [draw.card_row(cards)]
    if values["stored_energy_final_mwh"].any():
        parts.append(fan_figure("Stored energy", "MWh", labels, storage))
    parts.append(fan_figure("Cost of each stage", "$", labels, cost))
    return draw.fragment("".join(parts))

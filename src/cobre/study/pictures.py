"""Pictures of a simulation and of a folder of results, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cobre import draw
from cobre.draw.charts import fan_figure
from cobre.sddp.pictures import training_figures
from cobre.study.queries.fans import fan_of
from cobre.study.queries.simulated import summary_values

if TYPE_CHECKING:
    from cobre.io.simulation_results import SimulationFiles
    from cobre.study.results import Results, SimulationResult

STOPPED = "<p>The simulation was stopped before its end.</p>"


def results_html(results: Results) -> str:
    """What a folder holds: training and simulation."""
    parts = [f"<h3>{draw.name(str(results.folder))}</h3>"]
    if results.training is not None:
        facts = results.training.metadata
        parts.append(
            training_figures(
                results.training.convergence.to_pydict(),
                facts["final_lower_bound"],
                facts["total_cuts"],
                facts["termination_reason"],
            )
        )
    if results.simulation is not None:
        parts.append(results.simulation._figures())
    elif results.has_unfinished_simulation:
        parts.append(STOPPED)
    return draw.fragment("".join(parts))


def simulation_figures(result: SimulationResult, files: SimulationFiles | None) -> str:
    """Figures and fans of stored energy and cost; without tables or before the end only what is known."""
    if not result.is_complete:
        return STOPPED
    numbers = result.statistics
    cards = [
        ("Scenarios", draw.number(result.scenarios)),
        ("Mean cost", f"{draw.number(numbers['mean_cost'])} ± {draw.number(numbers['ci_95'])} $"),
        ("Dearest twentieth", f"{draw.number(numbers['cvar_95'])} $"),
        ("Scenarios with a deficit", f"{100 * numbers['deficit_frequency']:.3g} %"),
    ]
    if files is None:
        return draw.card_row(cards)
    values = summary_values(files, ["stored_energy_final_mwh", "immediate_cost"])
    labels = files.calendar().stage_labels()
    weights = files.probabilities()
    storage, cost = (fan_of(values[name], weights) for name in ("stored_energy_final_mwh", "immediate_cost"))
    parts = [draw.card_row(cards)]
    if values["stored_energy_final_mwh"].any():
        parts.append(fan_figure("Stored energy", "MWh", labels, storage))
    parts.append(fan_figure("Cost of each stage", "$", labels, cost))
    return "".join(parts)

"""What a planner needs of a simulation, on one page: cost, risk, generation, prices, storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from cobre.cli.figures import money
from cobre.cli.sparkline import sparkline
from cobre.cli.wrapping import screen_width, wrap_lines

if TYPE_CHECKING:
    from cobre.arrays import Floats
    from cobre.study import SimulationResult

__all__ = ["show_simulation"]


MAX_ENTITIES = 10
"""Buses and reservoirs shown; the tables have all."""
LABEL = 13
ROUNDING = 1e-6
"""Share of a cost by which sums of the same terms may differ."""
WIDE = 80
"""Columns of a screen without a width of its own; a narrower one shows fewer figures."""
SOURCES = (
    ("hydro", "hydro_mwh"),
    ("thermal", "thermal_mwh"),
    ("non-controllable", "non_controllable_mwh"),
    ("imports", "import_mwh"),
    ("deficit", "deficit_mwh"),
)
BEYOND_DEMAND = (
    ("exports", "export_mwh"),
    ("pumping", "pumping_mwh"),
    ("losses", "losses_mwh"),
    ("excess", "excess_mwh"),
)
"""Demand that is met in addition to the loads of the buses."""


def show_simulation(
    stream: TextIO, result: SimulationResult, lower_bound: float | None = None, *, is_plain: bool = False
) -> None:
    """Print the page; ``lower_bound`` is that of the policy, if it can be compared with expected costs."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, force_terminal=False if is_plain else None)
    width = None if is_plain else screen_width(stream)
    for label, text in page(result, lower_bound, width):
        line = wrap_lines(f"{label:<{LABEL}}{text}", width, hanging=LABEL if label else 0)
        console.print(Text.assemble((line[:LABEL], "dim"), line[LABEL:]), soft_wrap=True)


def page(
    result: SimulationResult, lower_bound: float | None = None, width: int | None = None
) -> list[tuple[str, str]]:
    """Lines of the page: a label, which may be empty, and a text; rows of tables fit ``width`` columns."""
    room = (width or WIDE) - LABEL
    statistics = result.statistics
    lines = [
        ("simulation", f"{result.scenarios:,} scenarios"),
        ("cost", cost_line(result)),
        ("", f"5 % below {money(statistics['p5'])}, 5 % above {money(statistics['p95'])}"),
    ]
    end_cost = statistics.get("mean_end_cost", 0.0)  # results of earlier versions have none
    if end_cost:
        lines.append(("", f"{money(end_cost)} of it follows the last stage, by the cuts that stand there"))
    if lower_bound is not None:
        lines.append(("", bound_line(lower_bound, statistics["mean_cost"], statistics["ci_95"])))
    lines += _energy_lines(result)
    lines += _price_lines(result, room)
    lines += _storage_lines(result, room)
    return lines


def cost_line(result: SimulationResult) -> str:
    """The mean with its interval; all paths of a policy graph have an exact one."""
    statistics = result.statistics
    if result.probabilities is not None:
        return f"{money(statistics['mean_cost'])}, exactly: the scenarios are all paths, with their probabilities"
    return f"{money(statistics['mean_cost'])} ± {money(statistics['ci_95'])} (95 %)"


def bound_line(lower_bound: float, mean: float, half_width: float) -> str:
    """Where the lower bound is, compared with the interval of the simulated cost."""
    rounding = ROUNDING * abs(mean)
    if half_width <= rounding:
        if abs(mean - lower_bound) <= rounding:
            return f"lower bound {money(lower_bound)} equals the mean cost"
        side = "below" if lower_bound < mean else "above"
        return f"lower bound {money(lower_bound)} lies {side} the mean cost"
    if abs(mean - lower_bound) <= half_width:
        return f"lower bound {money(lower_bound)} lies within the interval"
    if lower_bound < mean:
        return f"lower bound {money(lower_bound)} lies below the interval"
    return (
        f"lower bound {money(lower_bound)} lies above the interval: too few scenarios to tell the mean cost"
    )


def _energy_lines(result: SimulationResult) -> list[tuple[str, str]]:
    summary = result.table("stage_summary", names=False)
    weights = result.probabilities
    total = {
        name: _mean(summary[name].to_numpy().reshape(result.scenarios, -1).sum(axis=1), weights)
        for name in summary.column_names[2:]
    }
    statistics, load = result.statistics, total["load_mwh"]
    share = f", {100.0 * total['deficit_mwh'] / load:.2g} % of demand" if load else ""
    lines = [
        (
            "deficit",
            f"in {100.0 * statistics['deficit_frequency']:.1f} % of the scenarios; "
            f"{total['deficit_mwh']:,.1f} MWh on average{share}",
        )
    ]
    if total["spillage_hm3"] > 0.05:
        lines.append(("spillage", f"{total['spillage_hm3']:,.1f} hm3 on average"))
    if total["curtailment_mwh"] > 0.05:
        lines.append(("curtailment", f"{total['curtailment_mwh']:,.1f} MWh on average"))
    if load:
        lines.append(("supply", f"{_shares(total, SOURCES)} of a demand of {load:,.0f} MWh"))
        beyond = _shares(total, BEYOND_DEMAND)
        if beyond:
            lines.append(("", f"beyond demand: {beyond}"))
    return lines


def _mean(values: Floats, weights: Floats | None) -> float:
    """Over scenarios."""
    return float(values.mean()) if weights is None else float((values * weights).sum())


def _shares(total: dict[str, float], columns: tuple[tuple[str, str], ...]) -> str:
    """In percent of the demand, without those that round to nothing."""
    percent = {name: f"{100.0 * total[column] / total['load_mwh']:.1f}" for name, column in columns}
    return ", ".join(f"{name} {value} %" for name, value in percent.items() if float(value) > 0.0)


def _price_lines(result: SimulationResult, room: int) -> list[tuple[str, str]]:
    """Marginal cost by bus: mean and, if there is room, spread over the horizon, and the mean of each season."""
    is_wide = room >= WIDE - LABEL
    whole = result.quantiles("spot_price", by=("bus",), shares=(0.05, 0.95)).to_pylist()
    period = "season" if result.has_seasons else "stage"
    periods = result.quantiles("spot_price", by=("bus", period), shares=()).to_pylist()
    figures_shown = "mean, 5 %, 95 %" if is_wide else "mean"
    lines = [("price", f"marginal cost by bus in $/MWh: {figures_shown}, and its mean by {period}")]
    for row in whole[:MAX_ENTITIES]:
        means = [each["mean"] for each in periods if each["bus_id"] == row["bus_id"]]
        figures = " ".join(
            f"{row[name]:>10,.2f}" for name in (("mean", "p5", "p95") if is_wide else ("mean",))
        )
        beginning = f"{_name(row['bus_name'])} {figures}  "
        lines.append(("", beginning + sparkline(means, width=room - len(beginning))))
    return lines + _more(len(whole), "buses", "buses")


def _storage_lines(result: SimulationResult, room: int) -> list[tuple[str, str]]:
    """Storage at the end of each stage: three quantiles of the largest reservoirs."""
    if "hydros" not in result.tables:
        return []
    rows = result.quantiles("storage_final_hm3", by=("hydro", "stage"), shares=(0.05, 0.5, 0.95)).to_pylist()
    largest: dict[int, float] = {}
    names: dict[int, str] = {}
    for row in rows:
        largest[row["hydro_id"]] = max(largest.get(row["hydro_id"], 0.0), row["p95"])
        names[row["hydro_id"]] = row["hydro_name"]
    shown = sorted((plant for plant in largest if largest[plant] > 0.0), key=lambda plant: -largest[plant])
    lines = [
        ("storage", "at the end of each stage in hm3: quantile, last stage, and all stages from 0 to the top")
    ]
    for plant in shown[:MAX_ENTITIES]:
        for place, quantile in enumerate(("p95", "p50", "p5")):
            values = [row[quantile] for row in rows if row["hydro_id"] == plant]
            name = _name(names[plant] if place == 0 else "")
            percent = quantile[1:].rjust(2)
            beginning = f"{name} {percent} % {values[-1]:>12,.1f}  "
            drawing = sparkline(values, low=0.0, high=largest[plant], width=room - len(beginning))
            lines.append(("", beginning + drawing))
    return lines + _more(len(shown), "reservoirs", "hydros") if shown else []


def _name(name: str, width: int = 14) -> str:
    shown = "".join(character if character.isprintable() else "?" for character in name)
    return (
        shown
        if len(shown) == width
        else f"{shown:<{width}}"
        if len(shown) < width
        else f"{shown[: width - 1]}…"
    )


def _more(count: int, what: str, table: str) -> list[tuple[str, str]]:
    if count <= MAX_ENTITIES:
        return []
    return [("", f"and {count - MAX_ENTITIES} more {what}: see the table {table}")]

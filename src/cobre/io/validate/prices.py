"""Checks of prices: deficit segments, slack penalties, and whether prices are in a sensible order."""

from __future__ import annotations

from collections.abc import Sequence

from cobre.io.problems import Place, Problems
from cobre.io.read.files import CaseFiles
from cobre.io.read.penalties import DeficitSegmentRecord
from cobre.io.validate.naming import called

PENALTIES = "penalties.json"
VIOLATIONS = (
    "turbined_violation_below_cost",
    "outflow_violation_below_cost",
    "outflow_violation_above_cost",
    "generation_violation_below_cost",
    "evaporation_violation_cost",
    "water_withdrawal_violation_cost",
)


def check_prices(files: CaseFiles, problems: Problems) -> None:
    """Report prices that cannot work, warn about those that are probably not meant."""
    if PENALTIES not in files.unusable:
        common = files.penalties.bus.deficit_segments
        _check_segments(common, PENALTIES, "bus", "bus.deficit_segments", problems)
        _check_order(files, problems)
        if files.generation.is_018 and files.hydros.hydros:
            _check_flow_prices(files, problems)
    for bus in files.buses.buses:
        if bus.deficit_segments is not None:
            _check_segments(
                bus.deficit_segments, "system/buses.json", called("bus", bus), "deficit_segments", problems
            )
    for constraint in files.generic_constraints.constraints:
        slack = constraint.slack
        if slack.enabled and not slack.penalty:
            problems.error(
                "PenaltyConsistency",
                Place(
                    "constraints/generic_constraints.json",
                    called("generic constraint", constraint),
                    "slack.penalty",
                    slack.penalty,
                ),
                f"slack is enabled with penalty {slack.penalty}, so breaking the constraint costs nothing",
                "give slack.penalty a value above 0, or disable the slack",
            )
    for contract in files.contracts.contracts:
        if contract.type == "export" and contract.price_per_mwh > 0.0:
            problems.warn(
                "PenaltyConsistency",
                Place(
                    "system/energy_contracts.json",
                    called("contract", contract),
                    "price_per_mwh",
                    contract.price_per_mwh,
                ),
                f"price_per_mwh = {contract.price_per_mwh:g} makes this export a cost",
                "write what is earned as a negative price",
            )


def _check_segments(
    segments: Sequence[DeficitSegmentRecord], file: str, entity: str, field: str, problems: Problems
) -> None:
    depths: list[float | None] = [segment.depth_mw for segment in segments]
    if not depths or depths[-1] is not None:
        problems.error(
            "PenaltyConsistency",
            Place(file, entity, f"{field}.depth_mw", depths[-1] if depths else None),
            f"the last deficit segment has depth_mw = {depths[-1]:g}, so load beyond it could never be met"
            if depths
            else "there is no deficit segment, so load could never stay unserved",
            "end the list with a segment whose depth_mw is null",
        )
    for position, depth in enumerate(depths[:-1]):
        if depth is None:
            problems.error(
                "PenaltyConsistency",
                Place(file, entity, f"{field}[{position}].depth_mw", None),
                f"deficit segment {position} has no depth but is not the last",
                "give it a depth_mw, or move it to the end",
            )
    costs = [segment.cost for segment in segments]
    if costs != sorted(costs):
        problems.warn(
            "PenaltyConsistency",
            Place(file, entity, f"{field}.cost", costs),
            f"deficit segments cost {costs}: a later one is cheaper, so it is used first",
            "order segments from cheap to dear",
        )


def _check_order(files: CaseFiles, problems: Problems) -> None:
    """Deficit above violations above resources above zero; prices that nothing in the case can pay are left out."""
    if not files.thermals.thermals:
        return
    resource = max(thermal.cost_per_mwh for thermal in files.thermals.thermals)
    own = [bus.deficit_segments for bus in files.buses.buses if bus.deficit_segments is not None]
    segments = [*files.penalties.bus.deficit_segments, *(segment for each in own for segment in each)]
    deficit = min((segment.cost for segment in segments), default=None)
    found = []
    if deficit is not None and deficit <= resource:
        found.append(f"deficit ({deficit:g}) is not above the dearest thermal ({resource:g})")
    if files.hydros.hydros:
        prices = {name: getattr(files.penalties.hydro, name) for name in VIOLATIONS}
        found += [f"{name} is {value:g}" for name, value in prices.items() if value <= 0.0]
    if found:
        problems.warn(
            "PenaltyConsistency",
            PENALTIES,
            "; ".join(found) + ": the cheaper one is preferred even where that is not meant",
            "keep deficit above the cost of every plant, and penalties above 0",
            field="deficit_segments.cost",
            value=deficit,
        )


def _check_flow_prices(files: CaseFiles, problems: Problems) -> None:
    """Prices of 0.18 whose order is probably not meant: unserved load, violations of flows, spilled water."""
    hydro = files.penalties.hydro
    deficit = min((segment.cost for segment in files.penalties.bus.deficit_segments), default=None)
    cheap = {name: getattr(hydro, name) for name in ("spillage_cost", "diversion_cost")}
    flows = {name: getattr(hydro, name) for name in VIOLATIONS[:3]}
    found = []
    power = hydro.generation_violation_below_cost
    if deficit is not None and deficit <= power:
        text = f"deficit ({deficit:g}) is not above generation_violation_below_cost ({power:g})"
        found.append(("5b.8", "bus.deficit_segments.cost", deficit, text))
    for name, value in flows.items():
        below = {other: price for other, price in cheap.items() if value <= price}
        if below:
            text = f"{name} ({value:g}) is not above {', '.join(f'{k} ({v:g})' for k, v in below.items())}"
            found.append(
                ("5b.9", f"hydro.{name}", value, text + ": the limit is broken rather than water released")
            )
    for name, value in cheap.items():
        if value <= 0.0:
            found.append(
                ("5b.10", f"hydro.{name}", value, f"{name} is {value:g}: water may be released for nothing")
            )
    for rule, field, value, text in found:
        problems.warn(
            "PenaltyConsistency",
            PENALTIES,
            text,
            "change one of the prices, if that is not meant",
            field=field,
            value=value,
            rule=rule,
        )

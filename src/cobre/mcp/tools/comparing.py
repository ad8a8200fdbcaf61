"""Two runs side by side."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from cobre.mcp.service import Service
from cobre.mcp.texts import clean
from cobre.mcp.tools.base import Answer, Arguments, Definition
from cobre.mcp.tools.results import OUTPUT_DIR

__all__ = ["COMPARISON_TOOLS"]


class CompareRunsArguments(Arguments):
    """Which runs."""

    run_a: str = OUTPUT_DIR
    run_b: str = OUTPUT_DIR


class Difference(Answer):
    """A number of both runs."""

    a: float | None
    b: float | None
    delta: float | None = Field(description="b minus a.")
    delta_pct: float | None


class CostDifference(Difference):
    """A part of the cost, mean of the scenarios."""

    category: str


class FieldDifference(Answer):
    """In what the runs differ."""

    field: str
    run_a_value: Any
    run_b_value: Any


class RunComparison(Answer):
    """Two runs side by side."""

    run_a: str
    run_b: str
    compatible: bool = Field(description="Whether both have the same stages.")
    differences: list[FieldDifference] = Field(description="What else is not the same, such as the data.")
    training: dict[str, Difference] | None
    simulation: dict[str, Difference] | None
    costs: list[CostDifference] = Field(description="The largest difference first.")


def compare_two(service: Service, arguments: CompareRunsArguments) -> RunComparison:
    """Two runs side by side."""
    from cobre.study.queries.comparison import compare_runs

    folders = [service.roots.folder(each) for each in (arguments.run_a, arguments.run_b)]
    found = clean(compare_runs(*folders), service.roots)
    return RunComparison(
        run_a=service.roots.shown(folders[0]), run_b=service.roots.shown(folders[1]), **found
    )


COMPARISON_TOOLS = (
    Definition(
        "cobre_compare_runs",
        "Compare two runs",
        "Bounds, simulated cost and parts of the cost of two runs with their differences, b minus a, and what else is "
        "not the same in both.",
        CompareRunsArguments,
        RunComparison,
        compare_two,
    ),
)

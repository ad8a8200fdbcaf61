"""A chart of the report: the cost of the dearest tenth of the scenarios in each stage.

A section is a function from the numbers of a run to HTML. Run it: python report_chart.py
"""

import tempfile
from pathlib import Path

import numpy as np

import cobre
from cobre import draw
from cobre.draw.charts import lines_figure
from cobre.draw.lines import Line
from cobre.io.examples import write_example
from cobre.report import SECTIONS, write_report
from cobre.study.queries.runs import RunData


def dear_tenth(run: RunData, other: RunData | None) -> str:
    """One chart; empty where nothing was simulated."""
    if run.simulation is None:
        return ""
    cost = run.summary["immediate_cost"]
    dearest = np.argsort(-cost.sum(axis=1), kind="stable")[: max(1, len(cost) // 10)]
    return lines_figure(
        "Cost of each stage",
        "Mean over the tenth of the scenarios that costs most in all, and over all scenarios.",
        draw.Places.points(run.stage_labels, "stage"),
        run.stage_labels,
        [
            Line("dearest tenth", cost[dearest].mean(axis=0).tolist(), 0),
            Line("all scenarios", cost.mean(axis=0).tolist(), 1),
        ],
        "$",
    )


def main() -> None:
    folder = Path(tempfile.mkdtemp()) / "my_case"
    write_example(folder)
    limit = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}
    cobre.train(folder, config_overrides=limit, output=folder / "output")
    cobre.simulate(folder, folder / "output" / "policy", scenarios=20, output=folder / "output")
    page = folder / "report.html"
    write_report(folder / "output", page, sections={**SECTIONS, "dear": ("The dearest tenth", dear_tenth)})
    is_there = '<h2 id="dear-title">The dearest tenth</h2>' in page.read_text()
    print(f"on the page: {is_there}")


if __name__ == "__main__":
    main()

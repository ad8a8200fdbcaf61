"""Draws the picture of README.md from a run of the example study: ``python docs/site/picture.py``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import cobre
from cobre import draw
from cobre.io.examples import write_example
from cobre.study.queries.fans import fan_of
from cobre.study.queries.runs import RunData

PICTURE = Path(__file__).resolve().parents[1] / "pictures" / "stored-energy.svg"


def main() -> None:
    """Train, simulate, draw."""
    with tempfile.TemporaryDirectory() as folder:
        case, output = Path(folder) / "my_case", Path(folder) / "output"
        write_example(case)
        cobre.train(case, output=output)
        cobre.simulate(case, output / "policy", scenarios=500, output=output)
        run = RunData(cobre.load_results(output))
        fan = fan_of(run.summary["stored_energy_final_mwh"] / 1000.0)
        text = draw.line_chart(
            draw.Places.points(run.stage_labels, "stage"),
            [draw.Line("median", fan.at(0.5).tolist(), 0)],
            [
                draw.Band("5 % to 95 %", fan.at(0.05).tolist(), fan.at(0.95).tolist()),
                draw.Band("25 % to 75 %", fan.at(0.25).tolist(), fan.at(0.75).tolist(), is_strong=True),
            ],
            title="Stored energy",
            description="Stored energy at the end of each month: median and ranges over 500 simulated scenarios",
            y_label="GWh",
            includes_zero=True,
        )
    start = text.index(">", text.index("<svg")) + 1
    opening = text[text.index("<svg") : start - 1]
    namespace = "" if "xmlns=" in opening else ' xmlns="http://www.w3.org/2000/svg"'
    style = f'<style>{draw.STYLE}</style><rect width="100%" height="100%" fill="var(--paper)"/>'
    drawn = text[start : text.rindex("</svg>")]
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(f'{opening}{namespace} class="cobre">{style}{drawn}</svg>\n', encoding="utf-8")


if __name__ == "__main__":
    main()

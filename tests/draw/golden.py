"""Small drawings whose text is stored: ``python tests/draw/golden.py`` writes it anew, to be looked at in a browser."""

from __future__ import annotations

from pathlib import Path

from cobre import draw
from cobre.draw.charts import fan_figure

FOLDER = Path(__file__).parent / "golden"
NAN = float("nan")
MONTHS = ["2025-01", "2025-02", "2025-03"]


class Fan:
    """Three stages whose quantiles are easy to tell apart."""

    class Values(list):
        def tolist(self):
            return list(self)

    mean = Values([10.0, 20.0, 15.0])

    def at(self, share):
        return self.Values(value * (0.5 + share) for value in self.mean)


def line(values, title, **options):
    places = draw.Places.points([str(k) for k in range(len(values))], "stage")
    return draw.line_chart(
        places, [draw.Line("a", values)], title=title, description="d", y_label="MW", **options
    )


def bars(layers, title):
    places = draw.Places.columns(MONTHS, "stage")
    return draw.bar_chart(
        places, layers, [draw.Line("load", [3.0, 3.0, 3.0], 6)], title=title, description="d", y_label="GWh"
    )


def heat(values, title, **options):
    places = draw.Places.columns(MONTHS, "stage")
    rows = [f"row {k}" for k in range(len(values))]
    return draw.heat_map(places, rows, values, title=title, description="d", unit="%", **options)


DRAWINGS = {
    "fan": lambda: fan_figure("Storage", "hm3", MONTHS, Fan()),
    "fan_of_two_runs": lambda: fan_figure("Storage", "hm3", MONTHS, Fan(), Fan()),
    "line": lambda: line([1.0, 4.0, 2.0], "line"),
    "line_with_gap": lambda: line([1.0, 2.0, NAN, 3.0, NAN, 4.0, 5.0], "gap"),
    "one_stage": lambda: line([7.0], "one"),
    "zeros": lambda: line([0.0, 0.0], "zeros"),
    "equal": lambda: line([5.0, 5.0], "equal"),
    "nothing_but_nan": lambda: line([NAN, NAN], "nan"),
    "bars": lambda: bars(
        [draw.Layer("hydro", [1.0, 2.0, 1.5]), draw.Layer("export", [-0.5, 0.0, NAN], 3)], "bars"
    ),
    "bars_of_nan": lambda: bars([draw.Layer("hydro", [NAN, NAN, NAN])], "bars"),
    "heat": lambda: heat([[1.0, 2.0, 3.0], [NAN, 5.0, 5.0]], "heat"),
    "heat_of_one_value": lambda: heat([[4.0, 4.0, 4.0]], "heat"),
    "heat_of_differences": lambda: heat([[-1.0, 0.0, 3.0], [NAN, 2.9, -3.0]], "heat", is_signed=True),
    "heat_of_no_difference": lambda: heat([[0.0, 0.0, 0.0]], "heat", is_signed=True),
    "heat_of_nan": lambda: heat([[NAN, NAN, NAN]], "heat"),
    "tree": lambda: draw.tree_map(
        ["a", "b", "c", "d"], [2, 2, None, None], title="rivers", description="d", notes=["n", "n", "n", "n"]
    ),
    "ring": lambda: draw.ring_map(
        ["N", "S", "E"],
        [(0, 1, "N-S"), (1, 2, "S-E")],
        title="network",
        description="d",
        notes=["1 hydro", "", ""],
    ),
    "one_bus": lambda: draw.ring_map(["N"], [], title="network", description="d", notes=[""]),
}


def path_of(name):
    return FOLDER / f"{name}.svg"


def text_of(name):
    """The drawing with one element per line, so that a difference can be read."""
    return DRAWINGS[name]().replace("><", ">\n<") + "\n"


if __name__ == "__main__":
    for each in DRAWINGS:
        path_of(each).write_text(text_of(each), encoding="utf-8")

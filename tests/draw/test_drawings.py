"""Drawings as text: the same numbers give the stored text, and nothing that numbers can be breaks them."""

from __future__ import annotations

import ast
import math
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import cobre.draw
from cobre import draw
from cobre.draw.charts import fan_sentence
from cobre.draw.scale import Scale
from draw.golden import DRAWINGS, NAN, line, path_of, text_of

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]>&lt;",
    "a\x00b\x1b[31m\u202egnp.exe\u2066",
    "\ud800 lone surrogate",
    "سد العالي",
    "👩‍🔬 dam 🌊",
    "x" * 10_000,
]


@pytest.mark.parametrize(
    "name", ["W" * 40, "RESERVOIR_OF_THE_UPPER_RIVER", "水" * 40, "reservoir of the upper river"]
)
def test_labels_of_rows_fit_beside_a_heat_map(name):
    """With 8 px for a capital letter, 11 for the widest and for ideographs, and 7 for a small one."""
    width = {"W": 11, "水": 11}
    (label, *_) = re.findall(r'text-anchor="end">([^<]*)</text>', heat_of(name))
    assert sum(width.get(each, 8 if each.isupper() else 7) for each in label) <= 124 + 8
    assert len(label) >= 9


@pytest.mark.parametrize("name", ["W" * 40, "水电站" * 20, "RESERVOIR_OF_THE_UPPER_RIVER", "n" * 40])
def test_names_fit_into_their_boxes_on_a_ring(name):
    width = {"W": 11, "水": 11, "电": 11, "站": 11}
    text = draw.ring_map([name], [], title="t", description="d", notes=[""])
    label = re.findall(r'text-anchor="middle">([^<]*)</text>', text)[0]
    assert sum(width.get(each, 8 if each.isupper() else 7) for each in label) <= 190
    assert len(label) >= 13


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 12, 13, 40])
def test_boxes_on_a_ring_cover_no_other_one(n):
    root = svg_of(draw.ring_map(["bus"] * n, [], title="t", description="d", notes=[""] * n))
    boxes = [path.get("d") for path in root.iter() if path.get("class") == "box"]
    places = [tuple(map(float, re.match(r"M(\S+) (\S+)h190v34", box).groups())) for box in boxes]
    height = float(root.get("viewBox").split()[3])
    assert all(0 <= x <= 640 - 190 and 0 <= y <= height - 34 for x, y in places)
    for k, (x, y) in enumerate(places):
        assert all(abs(x - other) > 190 or abs(y - below) > 34 for other, below in places[:k])


def heat_of(name):
    places = draw.Places.columns(["a", "b"], "stage")
    return draw.heat_map(places, [name], [[1.0, 2.0]], title="t", description="d", unit="MW")


def svg_of(text):
    return ElementTree.fromstring(text[text.index("<svg") : text.rindex("</svg>") + 6])


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_the_stored_one(name):
    assert text_of(name) == path_of(name).read_text(encoding="utf-8"), (
        "drawings have changed: run python tests/draw/golden.py, look at the files, and commit them"
    )


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_well_formed_and_has_finite_coordinates(name):
    text = DRAWINGS[name]()
    first = text[text.index("<svg") : text.index("</svg>") + 6]
    root = ElementTree.fromstring(first)
    assert root.get("role") == "img"
    assert root[0].tag.endswith("title")
    assert root[0].text
    assert root[1].tag.endswith("desc")
    assert not re.search(r"nan|inf", " ".join(path.get("d", "") for path in root.iter()))


def test_a_point_is_at_the_place_of_its_value():
    """By hand: the area is 550 px wide from 64 and 178 px high down to 200; the axis reaches from 1 to 4."""
    root = svg_of(line([1.0, 4.0, 2.5], "points"))
    (path,) = [each for each in root.iter() if "line" in each.get("class", "")]
    assert path.get("d") == "M64 200L339 22L614 111"


def test_values_of_a_bar_are_stacked():
    places = draw.Places.columns(["a"], "stage")
    layers = [draw.Layer("x", [2.0]), draw.Layer("y", [3.0], 1), draw.Layer("z", [-5.0], 2)]
    root = svg_of(draw.bar_chart(places, layers, title="t", description="d", y_label=""))
    paths = {each.get("class"): each.get("d") for each in root.iter() if "bar" in each.get("class", "")}
    tops = {name: re.findall(r"[MV](?:[\d.]+ )?([\d.]+)", path)[:2] for name, path in paths.items()}
    zero = 22 + 178 / 2  # of an axis from -5 (or less) to 5: the middle
    assert float(tops["bar f0"][0]) == zero
    assert float(tops["bar f0"][1]) == float(tops["bar f1"][0])
    assert float(tops["bar f1"][1]) == pytest.approx(zero - (float(tops["bar f2"][1]) - zero))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 9.7], (0.0, 10.0)),
        ([-3.0, 12.0], (-5.0, 15.0)),
        ([1e-12, 2e-12], (1e-12, 2e-12)),
        ([1e15, 3e15], (1e15, 3e15)),
        ([0.0], (0.0, 1.0)),
        ([-4.0], (-6.0, -2.0)),
    ],
)
def test_an_axis_ends_at_round_numbers(values, expected):
    scale = Scale.over(values)
    assert (scale.low, scale.high) == pytest.approx(expected)
    assert len(set(scale.texts()[0])) == len(scale.ticks)
    assert all(scale.low - 1e-9 <= value <= scale.high + 1e-9 for value in values)


def test_a_fan_of_one_stage_names_no_last_one():
    class Fan:
        mean = np.array([2.0])

        def at(self, share):
            return np.array([4.0 * share])

    assert fan_sentence(Fan(), "MW") == "Median 2 MW; nine of ten scenarios lie between 0.2 and 3.8."


@pytest.mark.parametrize(
    ("values", "texts", "base"),
    [
        (
            [1400.11, 1400.19],
            ["1,400.100", "1,400.120", "1,400.140", "1,400.160", "1,400.180", "1,400.200"],
            "",
        ),
        ([2605944.1, 2605944.9], ["0", "0.2", "0.4", "0.6", "0.8", "1"], "2,605,944.00"),
        ([140698061.0, 140698139.0], ["0", "20", "40", "60", "80"], "140,698,060"),
        ([-5e9 - 90.0, -5e9], ["0", "20", "40", "60", "80", "100"], "-5,000,000,100"),
    ],
)
def test_ticks_of_close_values_differ_and_fit_beside_the_drawing(values, texts, base):
    assert Scale.over(values).texts() == (texts, base)
    drawing = line(values, "close")
    assert (f">MW above {base}<" in drawing) == bool(base)
    longest = max(len(label) for label in re.findall(r'text-anchor="end">([^<]*)</text>', drawing))
    assert longest <= 9
    assert draw.Places.numbers(values, "storage").label == "storage"  # the heading of a column, too


def test_long_series_have_no_more_points_than_pixels():
    path = re.search(r'class="line s0" d="([^"]*)"', line([math.sin(k) for k in range(100_000)], "long"))[1]
    assert path.count("L") == 639
    assert path.startswith("M64 ")
    assert path.split("L")[-1].startswith("614 ")


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_markup_in_names_is_escaped_everywhere(name):
    places = draw.Places.points([name, name], name)
    chart = draw.line_chart(places, [draw.Line(name, [1.0, 2.0])], title=name, description=name, y_label=name)
    heat = draw.heat_map(
        draw.Places.columns([name], "x"), [name], [[1.0]], title="t", description="d", unit=""
    )
    tree = draw.tree_map([name], [None], title="t", description="d", notes=[name])
    ring = draw.ring_map([name], [], title="t", description="d", notes=[name])
    table = draw.Table([name], [[name]])
    whole = "".join(
        draw.figure(name, name, each, [draw.Legend(name, 0)], table) for each in (heat, tree, ring, chart)
    )
    whole.encode("utf-8")
    tags = set(re.findall(r"<([a-z0-9]+)", whole))
    assert "script" not in tags
    assert "img" not in tags
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", whole)
    assert len(whole) < 20_000


def test_zero_width_joiners_are_kept():
    assert draw.visible("👩‍🔬") == "👩‍🔬"


def test_numbers_have_six_digits_and_no_value_is_a_dash():
    shown = [draw.number(value) for value in (1234567.8, 0.1 + 0.2, -2.5, 1e-7, 3e20, NAN, None, 12345678)]
    assert shown == ["1,234,570", "0.3", "-2.5", "1.00000e-07", "3.00000e+20", "–", "–", "12,345,678"]


def test_drawing_imports_nothing_but_the_standard_library():
    folder = Path(cobre.draw.__file__).parent
    imported = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module)
    strangers = {
        name
        for name in imported
        if not name.startswith("cobre.draw") and name.partition(".")[0] not in sys.stdlib_module_names
    }
    assert not strangers


def test_a_value_that_hardly_leaves_the_axis_opens_no_new_step():
    scale = Scale.over([-0.005, 1480.0], includes_zero=True)
    assert (scale.low, scale.high) == (0.0, 1500.0)
    assert Scale.over([-50.0, 1480.0], includes_zero=True).low == -500.0


def test_columns_of_words_are_aligned_to_the_left_with_their_headings():
    text = draw.Table(["year", "bus", "MWh"], [["2026"], ["NORTH"], [1.0]]).to_html("deficit")
    assert '<th scope="col" class="words">bus</th><th scope="col">MWh</th>' in text
    assert '<td class="words"><bdi>NORTH</bdi><td>1' in text

"""Curves as characters, without a terminal."""

from __future__ import annotations

import math

import pytest

from cobre.tui.plot import Series, draw_plot, short_number, thin
from cobre.tui.text import bar, duration, safe


def drawn(*series, width=40, height=10, **options):
    return ["".join(cell.text for cell in row) for row in draw_plot(series, width, height, **options)]


def curve(*values, marker="#"):
    return Series("curve", marker, "", list(enumerate(values)))


def test_an_empty_plot_shows_a_sentence():
    assert drawn(curve()) == ["no iteration yet"]
    assert drawn(curve(None, math.nan)) == ["no iteration yet"]


@pytest.mark.parametrize("is_ascii", [True, False])
@pytest.mark.parametrize("values", [[5.0], [5.0, 5.0, 5.0], [0.0], [1e-12, 1e-12]])
def test_one_point_and_equal_values_lie_in_the_middle(values, is_ascii):
    rows = drawn(curve(*values), is_ascii=is_ascii)
    marks = [number for number, row in enumerate(rows[:-2]) if row[11:].strip()]
    assert marks in ([3], [4])
    assert len(rows) == 10
    assert all(len(row) <= 40 for row in rows)


def test_a_rising_line_rises():
    rows = drawn(curve(0.0, 1.0, 2.0, 3.0), is_ascii=True)
    columns = [row[11:].find("#") for row in rows[:-2] if "#" in row[11:]]
    assert columns == sorted(columns, reverse=True)
    assert len(columns) >= 6
    assert rows[-1].split() == ["0", "3"]
    assert [rows[0].split("|")[0].strip(), rows[7].split("|")[0].strip()] == ["3.15", "-0.15"]


def test_values_that_are_no_numbers_leave_a_gap():
    rows = drawn(curve(1.0, 1.0, math.nan, None, math.inf, 1.0, 1.0), is_ascii=True, width=19, height=8)
    [marked] = [row[11:] for row in rows[:-2] if "#" in row]
    assert marked.replace(" ", "") in ("####", "#####")
    assert "  " in marked.strip("# ") or " " in marked.strip()


def test_a_log_axis_leaves_out_what_is_not_above_zero():
    rows = drawn(curve(-5.0, 0.0, 1.0, 10.0, 100.0, 1000.0), is_ascii=True, is_log=True)
    steps = [number for number, row in enumerate(rows[:-2]) if "#" in row[11:]]
    assert len(steps) == 8  # equal steps on the axis: no row is skipped
    assert drawn(curve(-5.0, -7.0), is_log=True) == ["nothing above 0 to draw on a log axis (press l)"]


def test_a_band_is_shaded_between_its_ends():
    low, high = [(0, 0.0), (1, 0.0)], [(0, 10.0), (1, 10.0)]
    rows = drawn(Series("band", ".", "", low, high), is_ascii=True)
    assert all(set(row[11:]) == {"."} for row in rows[1:7])


def test_the_axis_of_counts_does_not_reach_below_their_floor():
    assert "-" in drawn(curve(0.0, 100.0))[-3].partition("|")[0]
    assert drawn(curve(0.0, 100.0), floor=0.0)[-3].partition("|")[0].strip() == "0"
    assert "-" in drawn(curve(-5.0, 100.0), floor=0.0)[-3].partition("|")[0]
    assert drawn(curve(119.0, 121.0), floor=0.0)[-3].partition("|")[0].strip() == "0"


def test_an_axis_of_whole_numbers_has_no_halves():
    labels = [row.partition("|")[0].strip() for row in drawn(curve(88.0, 2112.0), height=8)]
    assert all("." not in label for label in labels)


@pytest.mark.parametrize("size", [(5, 3), (18, 10), (40, 4)])
def test_too_small_says_so(size):
    assert drawn(curve(1.0, 2.0), width=size[0], height=size[1]) == ["too small to draw"]


def test_a_long_history_is_thinned_without_losing_peaks():
    points = [(float(k), 1.0) for k in range(100_000)]
    points[77_777] = (77_777.0, 50.0)
    points[88_888] = (88_888.0, -50.0)
    found = thin(points, 60)
    assert len(found) <= 120
    assert (77_777.0, 50.0) in found
    assert (88_888.0, -50.0) in found
    assert [x for x, _ in found] == sorted(x for x, _ in found)


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 12345.678, 1e-7, -9.99e8, 1e14, 1e300, -1e-300, 99999.0])
def test_numbers_are_short(value):
    assert len(short_number(value)) <= 9


def test_bars_and_times():
    assert bar(0.5, 8, is_ascii=True) == "####----"
    assert bar(7.0, 4, is_ascii=False) == "████"
    assert [duration(0.25), duration(59.0), duration(3600.0)] == ["250 ms", "59.0 s", "1 h 00 min"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[31mred\x07", "?[31mred?"),
        ("<script>alert(1)</script>", "<script>alert(1)</s..."),
        ("\u202eabc", "?abc"),
        ("x" * 10_000, "x" * 19 + "..."),
        ("a\nb", "a?b"),
    ],
)
def test_control_characters_in_names_are_shown_as_text(name, shown):
    assert safe(name, 22) == shown

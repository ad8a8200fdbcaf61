"""Reports and notebook pictures in a real browser: nothing is fetched, nothing fails, everything can be used."""

from __future__ import annotations

import re

import pytest

import cobre
from browser import chromium
from case_folders import full_case
from cobre.report import write_report
from short_runs import LEVEL_1, iterations

pytestmark = pytest.mark.skipif(bool(chromium.reason_to_skip()), reason=chromium.reason_to_skip() or "-")

SETTINGS = iterations(4, forward_passes=2, cut_selection=LEVEL_1)
HOSTILE = ("<script>document.title = 'owned'</script>", '"><img src=x onerror="document.title=1">', "سد 🌊")
OF_BUSES = ("W" * 10_000, "水电站" * 50, "a\x1b[31m\u202eb\n\x00c")
OF_LINES = ("=cmd|' /C calc'!A0", "javascript:alert(1)", "-2+3")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A report of every kind of entity, one of two runs, and a notebook's pictures; some names are hostile."""
    root = tmp_path_factory.mktemp("pages")
    folder = full_case(root / "case")
    for hydro, name in zip(folder.documents["system/hydros.json"]["hydros"], HOSTILE, strict=True):
        hydro["name"] = name
    for kind, names in (("buses", OF_BUSES), ("lines", OF_LINES)):
        for entity, name in zip(folder.documents[f"system/{kind}.json"][kind], names, strict=False):
            entity["name"] = name
    folder.write()
    case = cobre.load_case(root / "case", SETTINGS)
    trained = cobre.train(case, output=root / "one")
    simulated = cobre.simulate(case, trained.policy, scenarios=20, output=root / "one")
    cobre.simulate(case, cobre.train(case, output=root / "two").policy, scenarios=10, output=root / "two")
    write_report(root / "one", root / "report.html")
    write_report(root / "one", root / "both.html", root / "two")
    shown = [case, trained, trained.policy, simulated, cobre.validate(root / "case")]
    body = "".join(f"<h2>{k}</h2>{each._repr_html_()}" for k, each in enumerate(shown))
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>notebook</title></head>'
    notebook = f"{head}<body><main><h1>Notebook</h1>{body}</main></body></html>"
    (root / "notebook.html").write_text(notebook, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = chromium.Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", ["report", "both", "notebook"])
def test_a_page_opens_without_console_errors_or_requests(browser, pages, name):
    browser.emulate()
    browser.complaints(), browser.requests()
    browser.open(pages / f"{name}.html")
    assert browser.complaints() == []
    assert browser.requests() == [(pages / f"{name}.html").as_uri()]
    assert browser.run("return document.title") not in ("owned", "1")
    browser.picture(f"{name}-light")


@pytest.mark.parametrize("name", ["report", "both", "notebook"])
def test_every_chart_has_its_table(browser, pages, name):
    browser.open(pages / f"{name}.html")
    counts = browser.run(
        "return [...document.querySelectorAll('figure')].map((f) =>"
        "[f.querySelectorAll('.plot svg').length, f.querySelectorAll('table tbody tr').length])"
    )
    assert len(counts) >= (5 if name == "notebook" else 25)
    assert all(charts == 1 and rows >= 1 for charts, rows in counts)


@pytest.mark.skipif(chromium.AXE is None, reason="axe-core is not installed: run make test-browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["report", "both", "notebook"])
def test_axe_finds_nothing(browser, pages, name, scheme):
    browser.emulate(prefers_color_scheme=scheme)
    browser.open(pages / f"{name}.html", "" if name == "notebook" else "#plant=hydro-0")
    if name != "notebook":
        browser.wait("document.querySelector('#plant-view figure') !== null")
    # One table of each kind: axe looks at every cell, and all tables are made by the same function.
    browser.run("document.querySelectorAll('details').forEach((d, k) => { d.open = k % 20 === 0; })")
    browser.picture(f"{name}-{scheme}-open")
    assert browser.violations() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_background(browser, pages, scheme):
    browser.emulate(prefers_color_scheme=scheme)
    browser.open(pages / "report.html")
    browser.picture(f"report-{scheme}")
    ink, paper = (
        browser.run(f"return getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor")
    )
    light, dark = sorted((luminance(ink), luminance(paper)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) > 7.0
    assert (luminance(paper) < 0.1) == (scheme == "dark")


def luminance(colour):
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_forced_colours_and_print_keep_the_charts(browser, pages):
    browser.open(pages / "report.html")
    browser.emulate(forced_colors="active")
    browser.picture("report-forced")
    stroke = browser.run("return getComputedStyle(document.querySelector('.line.s0')).stroke")
    assert stroke != "none"
    browser.emulate(media="print")
    browser.picture("report-print")
    assert browser.run("return getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.run("return document.querySelector('figure svg').getBoundingClientRect().width") > 300
    # The shade that tells of more to scroll to leaves no marks on paper.
    shade = "return getComputedStyle(document.querySelector('figure .plot')).backgroundImage"
    assert browser.run(shade) == "none"
    plants = "return getComputedStyle(document.querySelector('#plants')).display"
    assert browser.run(plants) == "none"  # nobody has chosen one
    assert browser.pdf().startswith(b"%PDF")
    browser.emulate()


def test_no_text_of_a_drawing_is_cut_off(browser, pages):
    browser.open(pages / "report.html")
    cut = browser.run("""return [...document.querySelectorAll('figure svg text')].filter(text => {
        const own = text.getBoundingClientRect(), all = text.ownerSVGElement.getBoundingClientRect();
        const isBeside = own.left < all.left - 1 || own.right > all.right + 1;
        return isBeside || own.top < all.top - 1 || own.bottom > all.bottom + 1;
    }).map(text => text.textContent)""")
    assert cut == []


@pytest.mark.parametrize("name", ["report", "both", "notebook"])
def test_long_names_break_and_cover_nothing(browser, pages, name):
    browser.emulate()
    browser.open(pages / f"{name}.html")
    wide = browser.run("""return [...document.querySelectorAll(
        'figcaption h3, figcaption p, summary, .legend li, .cards dd')].filter(each => {
        const box = (each.closest('figure') ?? document.body).getBoundingClientRect();
        const range = document.createRange();
        range.selectNodeContents(each);
        return range.getBoundingClientRect().right > box.right + 1;
    }).map(each => each.textContent.slice(0, 60))""")
    assert wide == []
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")


def test_a_name_that_looks_like_a_formula_is_copied_as_text(browser, pages):
    browser.open(pages / "report.html")
    copied = browser.run("""return csvOf([...document.querySelectorAll('table')].find(
        table => table.caption.textContent === 'Use of lines'))""")
    head, *rows = copied.split("\n")
    assert head == f"stage,'{OF_LINES[0]},{OF_LINES[1]}"
    assert not any("'" in row for row in rows)
    assert browser.run("return ['-2+3', '@a', '-1.5', '-1e-05', '\u2013', '12', '+1'].map(harmless)") == [
        "'-2+3", "'@a", "-1.5", "-1e-05", "\u2013", "12", "'+1",
    ]  # fmt: skip


def test_the_other_run_has_a_different_line_style(browser, pages):
    browser.open(pages / "both.html")
    entries = browser.run("""return [...document.querySelectorAll('figure')].find(
        figure => figure.querySelector('h3').textContent === 'Duration of marginal costs')
        .querySelectorAll('.legend li')""")
    looks = [
        browser.run(
            "const style = getComputedStyle(arguments[0].querySelector('path')); "
            "return [style.stroke, style.strokeDasharray, style.strokeWidth].join()",
            entry,
        )
        for entry in entries
    ]
    assert len(looks) == 6
    assert len(set(looks)) == 6


def test_a_narrow_screen_does_not_scroll_sideways(browser, pages):
    browser.emulate()
    browser.resize(390)
    browser.open(pages / "report.html")
    browser.picture("report-narrow")
    widths = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert widths[0] <= widths[1]


def test_arrow_keys_and_the_pointer_read_values_from_the_table(browser, pages):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser.open(pages / "report.html")
    figure = "document.querySelector('#training figure')"
    browser.run(f"{figure}.querySelector('.plot svg').focus()")
    chart = browser.run(f"return {figure}.querySelector('.plot svg')")
    ActionChains(browser.driver).send_keys(Keys.END, Keys.ARROW_LEFT).perform()
    row = browser.run(f"return [...{figure}.querySelector('tbody').rows[2].cells].map((c) => c.textContent)")
    readout = browser.run(f"return {figure}.querySelector('.readout').textContent")
    assert readout.startswith(f"iteration {row[0]} — lower bound: {row[1]};")
    ActionChains(browser.driver).move_to_element_with_offset(
        chart, -chart.size["width"] // 2 + 4, 0
    ).perform()
    first = browser.run(f"return {figure}.querySelector('tbody').rows[0].cells[1].textContent")
    assert f"lower bound: {first};" in browser.run(f"return {figure}.querySelector('.readout').textContent")


def test_a_legend_hides_and_shows_a_line(browser, pages):
    browser.open(pages / "report.html")
    figure = "document.querySelector('#training figure')"
    browser.run(f"{figure}.querySelector('.legend button').click()")
    hidden = browser.run(f"return getComputedStyle({figure}.querySelector('.plot .line.s0')).visibility")
    assert hidden == "hidden"
    browser.run(f"{figure}.querySelector('.legend button').click()")
    shown = browser.run(f"return getComputedStyle({figure}.querySelector('.plot .line.s0')).visibility")
    assert shown == "visible"


def test_a_plant_is_found_by_search_and_by_link(browser, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser.open(pages / "report.html")
    browser.driver.find_element(By.ID, "plant-search").send_keys("onerror", Keys.ENTER)
    browser.wait("document.querySelectorAll('#plant-view figure').length === 6")
    title = browser.run("return document.querySelector('#plant-view h3').textContent")
    assert title == HOSTILE[1]
    browser.picture("report-plant")
    browser.open(pages / "both.html", "#plant=thermal-0")
    browser.wait("document.querySelectorAll('#plant-view figure').length === 2")
    assert browser.complaints() == []
    assert browser.run("return document.title") not in ("owned", "1")


def test_a_page_of_a_plant_draws_what_its_table_says(browser, pages):
    """The storage of the largest reservoir is drawn twice: beforehand, and by the script."""
    browser.open(pages / "report.html", "#plant=hydro-0")
    browser.wait("document.querySelectorAll('#plant-view figure').length === 6")
    drawn = {
        place: browser.run(
            """const figure = [...document.querySelectorAll(`${arguments[0]} figure`)].find(
                each => each.querySelector('h3').textContent.startsWith('Storage of <script>'));
            return [...figure.querySelectorAll('.plot .band, .plot .line')].map(
                path => [path.className.baseVal, path.getAttribute('d')])""",
            place,
        )
        for place in ("#water", "#plant-view")
    }
    assert len(drawn["#water"]) >= 4
    for (kind, before), (same, late) in zip(drawn["#water"], drawn["#plant-view"], strict=True):
        assert kind == same
        numbers = [[float(each) for each in re.findall(r"-?[\d.]+", path)] for path in (before, late)]
        assert len(numbers[0]) > 20 or "s6" in kind
        assert numbers[0] == pytest.approx(numbers[1], abs=0.11)
    empty = browser.run("return [...document.querySelectorAll('#plant-view .plot path:not([d])')].length")
    assert empty == 0


def test_without_scripts_all_sections_but_plants_can_be_read(browser, pages):
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.open(pages / "report.html")
    text = browser.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": "document.body.innerText"})
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    shown = text["result"]["value"]
    for heading in (
        "Bounds by iteration",
        "Stored energy",
        "Probability of a deficit",
        "The pages of plants need scripts",
    ):
        assert heading in shown

"""The report of a run: its numbers are those of the files, its names are text, and it never changes by itself."""

from __future__ import annotations

import json
import platform
import re

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import cobre
import short_runs
from case_folders import example_case, full_case
from cobre.errors import CobreError
from cobre.report import html_report, write_report
from report.pages import Page, plant_page, six_digits, value_of
from short_runs import LEVEL_1, iterations

N = 7
SETTINGS = iterations(3, forward_passes=2, cut_selection=LEVEL_1)


def run_in(folder, settings=SETTINGS, scenarios=N, **options):
    return short_runs.run_in(folder, settings, scenarios, **options)


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """Every kind of entity, three blocks, twelve stages."""
    return run_in(full_case(tmp_path_factory.mktemp("full")).write())


@pytest.fixture(scope="module")
def text(output):
    return html_report(cobre.load_results(output))


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def rows_of(output, table):
    """All rows of a simulated table, read without this program's reader."""
    found = ds.dataset(output / "simulation" / table, format="parquet").to_table()
    return {name: found[name].to_numpy(zero_copy_only=False) for name in found.column_names}


def hours_of(output):
    import csv

    with (output / "training" / "dictionaries" / "stages.csv").open(newline="") as file:
        return {(int(r["stage_id"]), int(r["block_id"])): float(r["hours"]) for r in csv.DictReader(file)}


def mean_over_hours(output, table, key, column):
    """``[stage]``: of the first entity, by scenario, weighted by the hours of blocks."""
    rows, hours = rows_of(output, table), hours_of(output)
    total = {stage: sum(h for (s, _), h in hours.items() if s == stage) for stage in range(12)}
    places = zip(rows["stage_id"].tolist(), rows["block_id"].tolist(), strict=True)
    weights = np.array([hours[s, b] / total[s] for s, b in places])
    return [by_scenario(rows, rows[key] == 0, column, s, weights) for s in range(12)]


def by_scenario(rows, where, column, stage, weights=None):
    """Values of the scenarios in one stage: blocks added up, or averaged with ``weights``."""
    chosen = where & (rows["stage_id"] == stage)
    values = rows[column][chosen] * (1.0 if weights is None else weights[chosen])
    return np.array([values[rows["scenario_id"][chosen] == s].sum() for s in range(N)])


def assert_fan(page, caption, labels, expected):
    """``expected [stage]``: the values of all scenarios."""
    shown = {head: page.column(caption, head) for head in ("mean", "5 %", "50 %", "95 %")}
    for label, values in zip(labels, expected, strict=True):
        assert shown["mean"][label] == pytest.approx(six_digits(values.mean()), rel=2e-6, abs=1e-12)
        for head, share in (("5 %", 0.05), ("50 %", 0.5), ("95 %", 0.95)):
            wanted = six_digits(np.quantile(values, share))
            assert shown[head][label] == pytest.approx(wanted, rel=2e-6, abs=1e-12)


@pytest.fixture(scope="module")
def labels(output):
    return [f"2026-{month:02d}" for month in range(1, 13)]


def test_bounds_are_those_of_the_convergence_file(page, output):
    history = pq.read_table(output / "training" / "convergence.parquet").to_pydict()
    shown = page.column("Bounds by iteration", "lower bound")
    assert shown == {str(k + 1): six_digits(bound) for k, bound in enumerate(history["lower_bound"])}
    low = page.column("Bounds by iteration", "95 % interval of the mean cost: low")
    for k, (upper, half) in enumerate(zip(history["upper_bound"], history["ci_95"], strict=True)):
        assert low[str(k + 1)] == pytest.approx(upper - half, rel=1e-5)


@pytest.mark.parametrize("plant", [0, 1, 2])
def test_storage_of_a_plant_is_that_of_the_hydros_table(text, output, labels, plant):
    rows = rows_of(output, "hydros")
    where = (rows["hydro_id"] == plant) & (rows["block_id"] == 0)
    expected = [by_scenario(rows, where, "storage_final_hm3", stage) for stage in range(12)]
    name = {0: "Upper", 1: "Lower", 2: "SIDE"}[plant]
    found = plant_page(text, f"hydro-{plant}")
    caption = next(each for each in found.tables if each.lower() == f"storage of {name.lower()}")
    assert_fan(found, caption, labels, expected)


def test_flows_through_turbines_are_averaged_by_hours(text, output, labels):
    expected = mean_over_hours(output, "hydros", "hydro_id", "turbined_m3s")
    assert_fan(plant_page(text, "hydro-0"), "Turbined flow", labels, expected)


def test_generation_by_stage_is_that_of_the_tables(page, output, labels):
    hydros, buses = rows_of(output, "hydros"), rows_of(output, "buses")
    shown = page.column("Generation by stage", "hydro")
    demand = page.column("Generation by stage", "demand")
    for stage, label in enumerate(labels):
        energy = hydros["generation_mwh"][hydros["stage_id"] == stage].sum() / N / 1000
        assert shown[label] == pytest.approx(energy, rel=1e-5)
        load = buses["load_mwh"][buses["stage_id"] == stage].sum() / N / 1000
        assert demand[label] == pytest.approx(load, rel=1e-5)


def test_prices_are_averaged_by_hours_of_blocks(page, output, labels):
    expected = mean_over_hours(output, "buses", "bus_id", "spot_price")
    caption = next(each for each in page.tables if re.fullmatch(r"Marginal cost at \w+", each))
    assert_fan(page, caption, labels, expected)


def test_the_duration_curve_counts_hours(page, output):
    rows, hours = rows_of(output, "buses"), hours_of(output)
    mine = rows["bus_id"] == 0
    places = zip(rows["stage_id"][mine].tolist(), rows["block_id"][mine].tolist(), strict=True)
    weights = np.array([hours[place] for place in places])
    prices = rows["spot_price"][mine]
    head = page.tables["Duration of marginal costs"][0]
    shown = page.column("Duration of marginal costs", head[1])
    assert shown["0"] == pytest.approx(prices.max(), rel=1e-5)
    assert shown["100"] == pytest.approx(prices.min(), rel=1e-5)
    for percent in (10, 50, 90):
        at_least = weights[prices >= shown[f"{percent}"] * (1 - 1e-5)].sum() / weights.sum()
        above = weights[prices > shown[f"{percent}"] * (1 + 1e-5)].sum() / weights.sum()
        assert above - 1e-9 <= percent / 100 <= at_least + 1e-9


def test_costs_over_scenarios_are_those_of_the_summary(page, output):
    costs = pq.read_table(output / "simulation" / "scenario_summary.parquet")["discounted_immediate_cost"]
    shown = page.column("Cost over scenarios", "cost")
    for percent in (0, 25, 50, 100):
        assert shown[str(percent)] == six_digits(np.quantile(costs.to_numpy(), percent / 100))


def test_deficit_by_year_and_bus_is_that_of_the_buses_table(page, output):
    rows = rows_of(output, "buses")
    head, *shown = page.tables["Deficit by year and bus; buses without any are left out"]
    deficit = np.array([rows["deficit_mwh"][rows["scenario_id"] == s].sum() for s in range(N)])
    load = np.array([rows["load_mwh"][rows["scenario_id"] == s].sum() for s in range(N)])
    whole = next(row for row in shown if row[1] == "all buses")
    above = [head.index(each) for each in head if each.startswith("above")]
    expected = [100 * np.mean(deficit / load > max(each, 1e-9)) for each in (0, 0.01, 0.05, 0.1)]
    assert [float(whole[k]) for k in above] == pytest.approx(expected, rel=1e-5)
    assert float(whole[head.index("mean deficit in MWh")].replace(",", "")) == pytest.approx(
        deficit.mean(), rel=1e-5
    )


def test_a_slice_of_the_future_cost_is_what_the_policy_evaluates(page, output):
    policy = cobre.load_results(output).policy
    rows = rows_of(output, "hydros")
    caption = next(each for each in page.tables if each.startswith("Future cost after 2026-01 along"))
    name = caption.rpartition(" along ")[2]
    entity = next(key for key, plant in policy.plants.items() if plant == name)
    state = []
    for each in policy.state_names:
        part, _, plant = each.partition(":")
        column = "storage_final_hm3" if part == "storage" else "incremental_inflow_m3s"
        chosen = (rows["hydro_id"] == int(plant)) & (rows["stage_id"] == 0) & (rows["block_id"] == 0)
        state.append(rows[column][chosen].mean())
    component = policy.state_names.index(f"storage:{entity}")
    for storage, cost in list(page.column(caption, "future cost").items())[::8]:
        state[component] = float(storage.replace(",", ""))
        assert cost == pytest.approx(policy.evaluate(0, state), rel=1e-4)


def test_every_figure_has_its_table(text):
    figures = re.findall(r"<figure>.*?</figure>", text)
    assert len(figures) > 25
    assert all("<table>" in figure and "<svg" in figure for figure in figures)


def test_a_page_refers_to_nothing_outside(page):
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed")
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith("#")
    assert "url(" not in page.text
    assert "@import" not in page.text


def test_equal_results_give_equal_bytes(output, text, tmp_path):
    write_report(output, tmp_path / "a.html")
    assert (tmp_path / "a.html").read_bytes() == text.encode()


def test_both_layouts_give_the_same_page(text, tmp_path):
    full_case(tmp_path).write()
    other = run_in(tmp_path, {**SETTINGS, "exports": {"layout": "by_table"}})
    of_this_run = re.compile(
        r'<section id="(?:provenance|training)".*?</section>|Training time.*?</dd>|<title>Report.*?</h1>',
        re.DOTALL,
    )
    found = html_report(cobre.load_results(other))
    assert of_this_run.sub("", found) == of_this_run.sub("", text)


def test_no_gap_is_drawn_between_a_risk_adjusted_bound_and_a_mean_cost(text, page):
    assert "The gap is not shown: the lower bound is risk-adjusted, the mean cost is not" in text
    assert "Gap by iteration" not in page.tables


def test_without_a_simulation_training_is_shown(tmp_path):
    example_case(tmp_path).write()
    page = Page(html_report(cobre.load_results(run_in(tmp_path, scenarios=0))))
    assert {"Bounds by iteration", "Gap by iteration"} <= page.tables.keys()
    assert any(each.startswith("Water value") for each in page.tables)
    assert any("There is no simulation" in text for text in page.texts)
    anchors = [attributes["id"] for tag, attributes in page.tags if tag == "section"]
    assert anchors == ["summary", "training", "policy", "provenance"]


def test_a_study_of_one_stage_and_one_scenario_has_a_page(tmp_path):
    from simulation.hand_cases import thermal_dispatch

    case = thermal_dispatch()
    policy = cobre.train(case, output=tmp_path).policy
    cobre.simulate(case, policy, output=tmp_path, scenarios=1)
    page = Page(html_report(cobre.load_results(tmp_path)))
    assert "Generation by stage" in page.tables
    assert not any(re.search(r"\b(?:nan|inf)\b", text, re.I) for text in page.texts)


def test_markup_in_names_is_escaped(tmp_path):
    names = [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "\u202eabc\u0007",
        "x" * 10_000,
        "سد 🌊",
    ]
    folder = full_case(tmp_path)
    for kind, key in (("hydros", "hydros"), ("buses", "buses"), ("lines", "lines"), ("thermals", "thermals")):
        for entity, name in zip(folder.documents[f"system/{kind}.json"][key], names, strict=False):
            entity["name"] = f"{name} {entity['id']}"
    folder.write()
    text = html_report(cobre.load_results(run_in(tmp_path, scenarios=3)))
    whole = Page(text)
    pages = [whole, *(plant_page(text, f"hydro-{k}") for k in range(3))]
    for each in pages:
        assert not any("onerror" in attributes or tag == "img" for tag, attributes in each.tags)
        assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", each.text)
    scripts = [attributes for tag, attributes in whole.tags if tag == "script"]
    assert all(attributes.get("type") == "text/plain" for attributes in scripts[:-1])
    assert any("alert(1)" in text for text in whole.texts)
    assert len(text) < 3_000_000


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    folder = tmp_path_factory.mktemp("other")
    full_case(folder).write()
    return run_in(
        folder,
        {**SETTINGS, "simulation": {"scenario_source": {"seed": 5, "inflow": {"scheme": "out_of_sample"}}}},
    )


def test_two_runs_stand_side_by_side_with_their_differences(output, other, labels):
    page = Page(html_report(cobre.load_results(output), cobre.load_results(other)))
    head, *rows = page.tables["Both runs side by side"]
    assert head == ["figure", "this run", "other run", "difference", "difference in %"]
    mean = next(row for row in rows if row[0] == "mean cost in $")
    costs = [cobre.load_results(each).simulation.mean_cost for each in (output, other)]
    assert [float(cell.replace(",", "")) for cell in mean[1:4]] == [
        six_digits(costs[0]), six_digits(costs[1]), six_digits(costs[0] - costs[1])
    ]  # fmt: skip
    caption = "Stored energy"
    assert "difference of means" in page.tables[caption][0]
    stored = [
        pq.read_table(each / "simulation" / "stage_summary.parquet").to_pydict() for each in (output, other)
    ]
    means = [
        np.mean([e for e, s in zip(each["stored_energy_final_mwh"], each["stage_id"], strict=True) if s == 4])
        / 1000
        for each in stored
    ]
    shown = page.column(caption, "difference of means")[labels[4]]
    assert shown == pytest.approx(means[0] - means[1], rel=1e-4)


def test_lines_of_the_other_run_lie_where_its_bars_would_end(output):
    page = Page(html_report(cobre.load_results(output), cobre.load_results(output)))
    caption = "Generation by stage"
    both = page.column(caption, "other run: hydro and thermal")
    parts = [page.column(caption, name) for name in ("hydro", "other run: thermal")]
    assert both == {stage: pytest.approx(parts[0][stage] + parts[1][stage], rel=1e-4) for stage in both}


def test_every_pair_of_columns_of_two_runs_has_its_difference(output, other):
    page = Page(html_report(cobre.load_results(output), cobre.load_results(other)))
    n = 0
    for caption, (head, *rows) in page.tables.items():
        pairs = [(each, each.removeprefix("other run: ")) for each in head if each.startswith("other run: ")]
        for heading, name in pairs:
            if name not in head or name == "50 %":
                continue
            named = f"{name}: difference" if f"{name}: difference" in head else "difference of means"
            assert named in head, (caption, heading)
            for row in rows:
                cells = [row[head.index(each)] for each in (name, heading, named)]
                if "–" not in cells:
                    mine, theirs, difference = map(value_of, cells)
                    room = 2e-5 * max(abs(mine), abs(theirs)) + 1e-12
                    assert difference == pytest.approx(mine - theirs, abs=room), (caption, row)
                    n += 1
    assert n > 500
    for caption in ("Cuts by iteration", "Generation by stage", "Cost by stage and kind"):
        assert any(each.endswith(": difference") for each in page.tables[caption][0]), caption


def test_maps_of_two_runs_are_followed_by_one_of_their_differences(output, other, labels):
    page = Page(html_report(cobre.load_results(output), cobre.load_results(other)))
    for caption, heads in (
        ("Mean value of water: difference", 3),
        ("Mean marginal cost by bus: difference", 3),
        ("Use of lines: difference", 1),
    ):
        assert len(page.tables[caption][0]) > heads, caption
    tables = [rows_of(each, "hydros") for each in (output, other)]
    plant = next(iter(tables[0]["hydro_id"]))
    means = []
    for rows in tables:
        where = (rows["hydro_id"] == plant) & (rows["stage_id"] == 4) & (rows["block_id"] == 0)
        means.append(rows["water_value_per_hm3"][where].mean())
    name = {hydro.id: hydro.name for hydro in cobre.load_case(output.parent).system.hydros}[plant]
    shown = page.column("Mean value of water: difference", name)[labels[4]]
    assert shown == pytest.approx(means[0] - means[1], rel=1e-4)


def test_provenance_has_the_settings_and_the_machine(output, page):
    metadata = json.loads((output / "training" / "metadata.json").read_text())
    settings = dict(page.tables["training: settings"][1:])
    assert settings["training.stopping_rules.0.type"] == "iteration_limit"
    assert settings["training.stopping_rules.0.limit"] == "3"
    assert settings["training.forward_passes"] == str(metadata["settings"]["training"]["forward_passes"])
    assert settings["policy.boundary"] == "null"
    facts = {row[0]: row[1] for row in page.tables["training"][1:]}
    assert facts["platform"].split()[0] == platform.system()
    assert facts["python_version"] == platform.python_version()


def test_runs_of_different_stages_are_refused(output, tmp_path):
    from simulation.hand_cases import one_hydro

    cobre.train(one_hydro(), output=tmp_path)
    with pytest.raises(CobreError, match="cannot be compared") as caught:
        html_report(cobre.load_results(output), cobre.load_results(tmp_path))
    assert caught.value.kind == "IncompatibleRuns"
    assert caught.value.context["field"] == "stages"
    json.dumps(caught.value.to_dict())


def test_bounds_of_a_longer_run_are_shown_to_their_end():
    from cobre.sddp.pictures import convergence_figure

    mine = {"iteration": [1, 2], "lower_bound": [1.0, 2.0], "upper_bound": [4.0, 3.0], "ci_95": [0.5, 0.25]}
    longer = {"iteration": [1, 2, 3, 4], "lower_bound": [5.0, 6.0, 7.0, 8.0]}
    page = Page(convergence_figure(mine, longer))
    shown = page.tables["Bounds by iteration"][1:]
    assert [row[0] for row in shown] == ["1", "2", "3", "4"]
    assert [row[1] for row in shown] == ["1", "2", "–", "–"]
    assert [row[3] for row in shown] == ["5", "6", "7", "8"]
    assert "The lower bound is 2 $ after 2 iterations" in page.text


def test_yearly_prices_of_both_runs_have_their_difference(output, other):
    page = Page(html_report(cobre.load_results(output), cobre.load_results(other)))
    head, row = page.tables["Mean marginal cost by year and bus"]
    name = head[1]
    mine, theirs, difference = (
        float(row[head.index(each)].replace(",", ""))
        for each in (name, f"other run: {name}", f"{name}: difference")
    )
    assert difference == pytest.approx(mine - theirs, abs=1e-3 * max(1.0, abs(mine)))
    assert len(page.tables["Mean marginal cost by bus"][0]) == 1 + len(head[1:]) // 3

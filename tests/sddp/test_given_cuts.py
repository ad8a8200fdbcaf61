"""Warm start and boundary cuts on studies whose optimum is known from the whole tree as one LP."""

from __future__ import annotations

import datetime as dt
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

import cobre
from cobre.cli.planner_page import page
from cobre.comm import run
from cobre.errors import ValidationError
from cobre.report import html_report
from cobre.sddp.given_cuts import match_boundary, match_policy
from cobre.sddp.policy import Policy
from cobre.sddp.stage_cuts import StageCuts
from cobre.sddp.workspace import state_names_of
from sddp.specs import StageSpec
from sddp.studies import study
from sddp.trained import bounds, digest, optimum, settings, trained

LAGS = {"lags": [0.6], "residual_ratio": 0.8, "past": [22.0]}


def stages(n, **others):
    return [StageSpec((200.0, 100.0), 3, **others)] * n


def cut_to(case, n):
    """The first ``n`` stages of a study."""
    return with_stages(case, case.horizon.stages[:n])


def with_stages(case, chosen):
    ids = [stage.id for stage in chosen]
    scenarios = replace(
        case.scenarios, inflow=rows_of(case.scenarios.inflow, ids), lags=rows_of(case.scenarios.lags, ids)
    )
    kept = [index for index, stage in enumerate(case.horizon.stages) if stage.id in ids]
    tables = columns_of(case.tables, case.horizon, kept)
    horizon = replace(case.horizon, stages=tuple(chosen))
    return replace(case, horizon=horizon, scenarios=scenarios, tables=tables)


def columns_of(tables, horizon, kept):
    """Tables ``[entity, stage]`` and ``[entity, stage-block]`` of the stages that are ``kept``; no hydro has planes."""
    blocks = np.concatenate([np.arange(10**6)[horizon.blocks_of(index)] for index in kept])
    places = {horizon.n_stages: kept, sum(len(stage.blocks) for stage in horizon.stages): blocks}

    def cut(value, name):
        if is_dataclass(value):
            found = {field.name: cut(getattr(value, field.name), field.name) for field in fields(value)}
            return replace(value, **found)
        is_table = isinstance(value, np.ndarray) and value.ndim == 2 and name != "planes"
        return value[:, places[value.shape[1]]] if is_table and value.shape[1] in places else value

    return cut(tables, "tables")


def rows_of(table, stage_ids):
    keep = np.isin(table.stage_id, stage_ids)
    return replace(table, **{field.name: getattr(table, field.name)[keep] for field in fields(table)})


@pytest.fixture(scope="module")
def whole():
    """The study of four stages, trained to its optimum."""
    case = study(stages(4, discount=0.95), hydro=LAGS, training=settings(60, 3))
    return case, trained(case)


def matched(policy, case):
    return match_policy(policy, case, state_names_of(case))


def boundary_of(policy, case, source_stage=None, *, is_strict=False):
    return match_boundary(policy, case, state_names_of(case), source_stage, is_strict=is_strict)


def test_a_study_with_boundary_cuts_reaches_the_optimum_of_its_tree(whole):
    case, result = whole
    first_half = cut_to(case, 2)
    boundary, notes = boundary_of(result.policy, first_half)
    assert notes == ()
    expected = optimum(first_half, boundary)
    found = trained(first_half, boundary=boundary)
    assert found.final_lower_bound == pytest.approx(expected, rel=1e-7)
    assert expected > 1.5 * optimum(first_half)


def test_the_first_half_with_the_value_of_the_second_costs_what_both_cost():
    case = study(stages(4, discount=0.95), training=settings(60, 3))
    boundary, _ = boundary_of(trained(case).policy, cut_to(case, 2))
    found = trained(cut_to(case, 2), boundary=boundary)
    assert found.final_lower_bound == pytest.approx(optimum(case), rel=1e-6)


def test_with_a_boundary_the_upper_bound_counts_what_follows_the_last_stage():
    case = study([StageSpec((200.0, 100.0), 1, discount=0.9)] * 4, training=settings(40))
    boundary, _ = boundary_of(trained(case).policy, cut_to(case, 2))
    found = trained(cut_to(case, 2), boundary=boundary)
    assert found.final_upper_bound == pytest.approx(optimum(case), rel=1e-7)
    assert found.final_gap == pytest.approx(0.0, abs=1e-7)


def test_boundary_cuts_stay_whatever_selection_drops(whole):
    case, result = whole
    boundary, _ = boundary_of(result.policy, cut_to(case, 2))
    selection = replace(case.config.training.cut_selection, method="level1", check_frequency=1)
    training = replace(settings(5, 3), cut_selection=selection)
    first_half = cut_to(case, 2)
    first_half = replace(first_half, config=replace(first_half.config, training=training))
    last = trained(first_half, boundary=boundary).policy.stages[-1]
    np.testing.assert_array_equal(last.active, boundary.cuts.active)
    np.testing.assert_array_equal(last.coefficients, boundary.cuts.rows[:, 1:])


def test_a_policy_with_a_boundary_is_simulated_with_it(whole):
    case, result = whole
    first_half = cut_to(case, 2)
    boundary, _ = boundary_of(result.policy, first_half)
    policy = trained(first_half, boundary=boundary).policy
    with_value = cobre.simulate(first_half, policy, scenarios=30)
    without = cobre.simulate(first_half, trained(first_half).policy, scenarios=30)
    burned = [each.table("thermals")["generation_mwh"].to_numpy().sum() for each in (with_value, without)]
    assert burned[0] > 1.2 * burned[1]  # to save water for later


def test_simulated_costs_count_what_follows_the_last_stage(whole, tmp_path):
    """As the lower bound does, and as the public Cobre 0.18 writes it."""
    case, result = whole
    first_half = cut_to(case, 2)
    boundary, _ = boundary_of(result.policy, first_half)
    trained_on = trained(first_half, boundary=boundary)
    simulated = cobre.simulate(first_half, trained_on.policy, scenarios=400, output=tmp_path)
    paid, following = np.zeros(400), np.zeros(400)
    for row in simulated.table("costs", names=False).to_pylist():
        paid[row["scenario_id"]] += row["discount_factor"] * row["immediate_cost"]
        if row["stage_id"] == first_half.horizon.stages[-1].id:
            following[row["scenario_id"]] = row["discount_factor"] * row["future_cost"]
    assert following.min() > 0.0
    costs = simulated.scenario_summary["discounted_immediate_cost"].to_numpy()
    np.testing.assert_allclose(costs, paid + following, rtol=1e-9)
    statistics = simulated.statistics
    assert statistics["mean_cost"] == pytest.approx(costs.mean(), rel=1e-12)
    assert statistics["mean_end_cost"] == pytest.approx(following.mean(), rel=1e-9)
    assert abs(costs.mean() - trained_on.final_lower_bound) <= 3.0 * costs.std(ddof=1) / 20.0
    shown = [text for _, text in page(simulated, trained_on.final_lower_bound, 80)]
    assert any("of it follows the last stage" in text for text in shown)
    assert "of that mean cost follows the last stage" in html_report(cobre.load_results(tmp_path))
    assert (
        cobre.simulate(first_half, trained(first_half).policy, scenarios=3).statistics["mean_end_cost"] == 0.0
    )


def test_a_warm_start_from_its_own_policy_begins_at_the_optimum(whole):
    case, result = whole
    found = matched(result.policy, case)
    assert found.notes == ()
    again = bounds(trained(replace_limit(case, 1), first_cuts=found.stages))
    assert again[0] == pytest.approx(optimum(case), rel=1e-6)


def test_a_warm_start_from_a_policy_with_another_boundary_says_so(whole):
    case, result = whole
    first_half = cut_to(case, 2)
    boundary, _ = boundary_of(result.policy, first_half)
    policy = trained(replace_limit(first_half, 1), boundary=boundary).policy
    [note] = matched(policy, first_half).notes
    assert "the cuts of policy.boundary changed" in note
    names = state_names_of(first_half)
    assert match_policy(policy, first_half, names, boundary=boundary).notes == ()


def replace_limit(case, iterations):
    training = replace(case.config.training, stopping_rules=settings(iterations).stopping_rules)
    return replace(case, config=replace(case.config, training=training))


def test_a_warm_start_with_dearer_plants_reaches_the_new_optimum_and_warns(whole):
    case, result = whole
    thermal = case.tables.thermal
    dearer = replace(
        case, tables=replace(case.tables, thermal=replace(thermal, cost_per_mwh=thermal.cost_per_mwh * 1.5))
    )
    found = matched(result.policy, dearer)
    [note] = found.notes
    assert "limits, costs or loads" in note
    assert "lower bound may be too high" in note
    warm = bounds(trained(dearer, first_cuts=found.stages))
    expected = optimum(dearer)
    assert warm[-1] == pytest.approx(expected, rel=1e-6)
    assert warm[0] > bounds(trained(replace_limit(dearer, 1)))[0]


def test_a_policy_of_fewer_stages_serves_a_longer_study():
    longer = study(stages(4), training=settings(60, 3))
    result = trained(cut_to(longer, 3))
    found = matched(result.policy, longer)
    assert [None if cuts is None else len(cuts.rows) for cuts in found.stages] == [180, 180, 0, None]
    [note] = (note for note in found.notes if "the stages, blocks" in note)
    assert "changed: hydro." not in note, "limits of other stages are not other limits"
    assert "given by stage and were not compared" in note
    warm = trained(longer, first_cuts=found.stages)
    assert warm.final_lower_bound == pytest.approx(optimum(longer), rel=1e-6)


def test_a_policy_that_goes_on_after_the_study_is_used_with_a_warning(whole):
    case, result = whole
    found = matched(result.policy, cut_to(case, 3))
    assert [None if cuts is None else len(cuts.rows) for cuts in found.stages] == [180, 180, None]
    assert any("was trained to 2030-05-01, the study ends on 2030-04-01" in note for note in found.notes)


def test_stages_are_matched_by_their_dates_not_by_their_place(whole):
    case, result = whole
    later = with_stages(case, case.horizon.stages[1:])
    found = matched(result.policy, later)
    np.testing.assert_array_equal(found.stages[0].rows[:, 0], result.policy.stages[1].intercepts)
    assert found.stages[2] is None


def without_components(policy, names):
    keep = [j for j, name in enumerate(policy.state_names) if name not in names]
    cut = [replace(each, coefficients=each.coefficients[:, keep]) for each in policy.stages]
    return Policy(tuple(cut), len(keep), tuple(policy.state_names[j] for j in keep), policy.calendar)


def renamed(policy, old, new):
    names = tuple(new if name == old else name for name in policy.state_names)
    return replace(policy, state_names=names)


def test_a_component_that_the_policy_lacks_counts_nothing_and_is_reported(whole):
    case, result = whole
    found = matched(without_components(result.policy, {"inflow_lag1:1"}), case)
    place = state_names_of(case).index("inflow_lag1:1")
    assert not found.stages[0].rows[:, 1 + place].any()
    assert found.stages[0].rows[:, 1].any()
    [note] = found.notes
    assert "knows nothing of inflow_lag1:1" in note


def test_a_strict_boundary_refuses_a_missing_component(whole):
    case, result = whole
    policy = without_components(result.policy, {"inflow_lag1:1"})
    _, notes = boundary_of(policy, cut_to(case, 2))
    assert "inflow_lag1:1" in notes[0]
    with pytest.raises(ValidationError, match=r"strict is true.*inflow_lag1:1"):
        boundary_of(policy, cut_to(case, 2), is_strict=True)


def test_a_component_that_the_case_lacks_is_refused_if_cuts_depend_on_it(whole):
    case, result = whole
    foreign = renamed(result.policy, "storage:0", "storage:17")
    with pytest.raises(ValidationError, match="the case has no storage:17"):
        matched(foreign, case)
    with pytest.raises(ValidationError, match="the case has no storage:17"):
        boundary_of(foreign, cut_to(case, 2))


def test_components_are_matched_by_name_not_by_place(whole):
    case, result = whole
    policy = result.policy
    order = [1, 0, *range(2, policy.state_dimension)]
    turned = replace(
        policy,
        stages=tuple(replace(each, coefficients=each.coefficients[:, order]) for each in policy.stages),
        state_names=tuple(policy.state_names[j] for j in order),
    )
    np.testing.assert_array_equal(matched(turned, case).stages[0].rows, matched(policy, case).stages[0].rows)


def test_a_policy_about_other_plants_is_refused(whole):
    case, result = whole
    other = replace(result.policy, state_names=tuple(f"{name}9" for name in result.policy.state_names))
    with pytest.raises(ValidationError, match="no reservoir in common"):
        matched(other, case)


def test_a_boundary_needs_a_stage_that_ends_with_the_study(whole):
    case, result = whole
    moved = cut_to(case, 2)
    last = replace(moved.horizon.stages[-1], end_date=dt.date(2030, 3, 9))
    moved = replace(moved, horizon=replace(moved.horizon, stages=(moved.horizon.stages[0], last)))
    with pytest.raises(ValidationError, match="no stage that ends with the study, on 2030-03-09"):
        boundary_of(result.policy, moved)
    with pytest.raises(
        ValidationError, match="stage 0 of the policy ends on 2030-02-01, the study on 2030-03-01"
    ):
        boundary_of(result.policy, cut_to(case, 2), 0)
    with pytest.raises(ValidationError, match="has stages 0 to 3"):
        boundary_of(result.policy, cut_to(case, 2), 4)


def test_a_boundary_where_the_other_study_ends_is_refused(whole):
    case, result = whole
    with pytest.raises(ValidationError, match="no cut for the end of the study"):
        boundary_of(result.policy, case)


def test_a_policy_without_names_and_dates_is_matched_by_place(whole):
    case, result = whole
    bare = Policy(result.policy.stages, result.policy.state_dimension)
    np.testing.assert_array_equal(
        matched(bare, case).stages[0].rows, matched(result.policy, case).stages[0].rows
    )
    boundary, _ = boundary_of(bare, cut_to(case, 2), 1)
    assert len(boundary.cuts.rows) == 180
    with pytest.raises(ValidationError, match="no dates and 4 stages, the case 2"):
        matched(bare, cut_to(case, 2))
    with pytest.raises(ValidationError, match=r"it has no dates[\s\S]*source_stage"):
        boundary_of(bare, cut_to(case, 2))
    small = Policy((StageCuts(np.zeros(1), np.zeros((1, 1)), np.ones(1, bool)),) * 4, 1)
    with pytest.raises(ValidationError, match="has 1 of them, the case 4"):
        matched(small, case)


def _on_ranks(comm, case, policy, folder):
    given = {"warm_start": policy, "boundary": policy} if comm.rank == 0 else {}
    result = cobre.train(case, comm=comm, output=folder, **given)
    return digest(result)


def test_warm_start_and_boundary_reach_every_rank(whole, tmp_path):
    case, result = whole
    first_half = replace_limit(cut_to(case, 2), 4)
    notes = []
    alone = cobre.train(first_half, warm_start=result.policy, boundary=result.policy, on_note=notes.append)
    assert any("180 cuts of the given policy price what follows the last stage" in note for note in notes)
    assert any("training starts with 180 cuts" in note for note in notes)
    arguments = (first_half, result.policy, tmp_path)
    assert run(_on_ranks, num_workers=3, args=arguments) == [digest(alone)] * 3


def test_a_policy_keeps_its_boundary_and_calendar_in_the_file(whole, tmp_path):
    case, result = whole
    first_half = replace_limit(cut_to(case, 2), 2)
    policy = cobre.train(first_half, boundary=result.policy, output=tmp_path).policy
    loaded = Policy.load(tmp_path / "policy")
    assert loaded == policy
    assert len(loaded.stages[-1].intercepts) == 180
    assert loaded.calendar == ((0, "2030-02-01"), (1, "2030-03-01"))

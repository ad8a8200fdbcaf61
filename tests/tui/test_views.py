"""Views as rows of characters, without a terminal."""

from __future__ import annotations

from cobre.study import RunState
from cobre.tui.views import Look, convergence, dashboard, furthest, iteration


def progress(number):
    return {
        "type": "progress",
        "phase": "training",
        "iteration": number,
        "iteration_limit": 10_000,
        "lower_bound": 100.0,
        "upper_bound": 200.0,
        "ci_95": 50.0,
        "gap": None,
        "wall_time_ms": 10 * number,
        "iteration_time_ms": 10,
    }


def folded(*events):
    state = RunState()
    state.fold(events)
    assert not state.n_foreign
    return state


def text_of(rows):
    return "\n".join("".join(cell.text for cell in row) for row in rows)


def test_the_band_of_a_long_run_is_drawn_from_end_to_end():
    state = folded(*map(progress, range(1, 5001)))
    rows = text_of(convergence(state, Look(80, 22, is_ascii=True))).splitlines()
    assert ". 95 %" in rows[0]
    shaded = [row[11:] for row in rows[1:-2] if set(row[11:]) == {"."}]
    assert len(shaded) > 5
    assert {len(row) for row in shaded} == {69}


def test_time_that_is_part_of_a_pass_stands_below_it():
    facts = {"forward_ms": 4, "forward_sync_ms": 1, "backward_ms": 6, "cut_sync_ms": 3, "selection_ms": 0}
    state = folded(progress(1), {"type": "iteration", "iteration": 1, **facts})
    names = [row[2:15].strip() for row in text_of(iteration(state, Look(80, 22))).splitlines()[1:6]]
    assert names == ["forward", "- sync", "backward", "- cut sync", "selection"]


def test_between_training_and_simulation_no_time_is_left_to_tell():
    state = folded(progress(1), {"type": "terminated", "reason": "iteration_limit"})
    assert "training has ended; what follows is not known yet" in text_of(dashboard(state, Look(80, 22)))


def test_a_gap_that_is_not_shown_is_explained_in_words():
    event = {**progress(1), "gap_estimate": {"status": "risk_adjusted", "gap": None, "largest_gap": None}}
    assert "the lower bound is risk-adjusted, the mean cost is not" in text_of(
        dashboard(folded(event), Look(80, 22))
    )


def test_the_time_of_a_checkpoint_is_no_part_of_the_iteration_before_it():
    facts = {"forward_ms": 4, "backward_ms": 6, "selection_ms": 0, "other_ms": 0}
    saved = {"type": "checkpoint", "iteration": 1, "path": "p", "time_ms": 10}
    state = folded(progress(1), {"type": "iteration", "iteration": 1, **facts}, saved)
    rows = text_of(iteration(state, Look(80, 22))).splitlines()
    assert rows[0] == "iteration 1: 10 ms, and 10 ms for the checkpoint"
    shares = [int(row.split()[-2]) for row in rows if row.endswith(" %")]
    assert sum(shares) == 100


def test_time_on_an_axis_has_the_unit_that_fits():
    for last_ms, unit in ((800, "seconds"), (90_000, "seconds"), (600_000, "minutes"), (36_000_000, "hours")):
        events = [{**progress(n), "wall_time_ms": n * last_ms // 4} for n in range(1, 5)]
        rows = text_of(convergence(folded(*events), Look(80, 22, by_time=True))).splitlines()
        assert unit in rows[-1]
        shown = last_ms / {"seconds": 1e3, "minutes": 6e4, "hours": 3.6e6}[unit]
        assert float(rows[-1].split()[-1]) == shown


def test_a_rule_is_told_whole_on_the_smallest_screen():
    detail = "the bound moved by 0.00099 in 10 iterations; ends below 0.001"
    rule = {"rule": "bound_stalling", "triggered": True, "detail": detail, "share": 1.0}
    state = folded(progress(1), {"type": "iteration", "iteration": 1, "rules": [rule]})
    assert detail in text_of(dashboard(state, Look(80, 22)))


def test_rows_are_moved_no_further_than_there_are_any():
    facts = {"forward_ms": 4, "cuts_active": 60, "cuts_per_stage": [1] * 60}
    events = [
        each for n in range(1, 101) for each in (progress(n), {"type": "iteration", "iteration": n, **facts})
    ]
    state, look = folded(*events), Look(80, 22)
    assert furthest(1, state, look) == 0
    last = furthest(2, state, look)
    first_rows = text_of(iteration(state, Look(80, 22, offset=last)))
    assert first_rows == text_of(iteration(state, Look(80, 22, offset=last + 1)))
    assert first_rows != text_of(iteration(state, Look(80, 22, offset=last - 1)))
    assert furthest(3, state, look) == 60 - 9

"""Views as rows of characters, without a terminal."""

from __future__ import annotations

from cobre.study import RunState
from cobre.tui.views import Look, convergence, dashboard, iteration


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

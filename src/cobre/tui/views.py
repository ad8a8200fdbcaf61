"""The six views: the state of a run as rows of cells. Independent of the terminal and of Textual."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cobre.study import IterationState, RunState
from cobre.study.gap import why_not_shown
from cobre.tui.plot import Cell, Row, Series, draw_plot, thin
from cobre.tui.text import act, bar, duration, line, percent, safe, short

__all__ = ["TITLES", "VIEWS", "Look", "furthest", "status_row"]

NO_FACTS = "this source does not have it: open the folder of the run, cobre tui DIR"
PARTS = (
    ("forward", "forward_ms"),
    ("- sync", "forward_sync_ms"),
    ("backward", "backward_ms"),
    ("- cut sync", "cut_sync_ms"),
    ("selection", "selection_ms"),
    ("bound", "bound_ms"),
    ("other", "other_ms"),
)
TIME_UNITS = (("seconds", 1e3), ("minutes", 6e4), ("hours", 3.6e6))
STATUS_STYLES = {"running": "bold green", "paused": "bold yellow", "failed": "bold red", "died": "bold red"}


@dataclass(frozen=True)
class Look:
    """How the views are to be drawn."""

    width: int
    height: int
    is_ascii: bool = False
    has_colour: bool = True
    is_log: bool = False
    by_time: bool = False
    offset: int = 0
    """First row of a table, from its end."""
    against: RunState | None = None
    """Another run to overlay."""

    @property
    def is_marked(self) -> bool:
        """Whether curves are drawn with their markers: dots of braille differ by colour alone."""
        return self.is_ascii or not self.has_colour


def status_row(state: RunState, word: str, width: int) -> Row:
    """The first line: case, status, iteration, bounds, time."""
    last = state.last
    parts: list[str | tuple[str, str]] = [
        (f" {safe(state.started.get('case', 'run'), 24)} ", "bold reverse"),
        " ",
    ]
    parts.append((word.upper(), STATUS_STYLES.get(word, "bold")))
    if last is not None:
        limit = f"/{state.iteration_limit}" if state.iteration_limit else ""
        parts.append(f"  iteration {last.iteration}{limit}")
        parts.append((f"  lower {short(last.lower_bound)}", "green"))
        parts.append((f"  cost {short(last.upper_bound)}", "yellow"))
        parts.append(f"  {duration(last.wall_time_ms / 1000)}")
    if state.n_missing:
        parts.append(("  LAGGING", "bold red"))
    return _fit(line(*parts), width)


def _fit(row: Row, width: int) -> Row:
    """As many whole parts of a row as fit."""
    found: Row = []
    for cell in row:
        if sum(len(each.text) for each in found) + len(cell.text) > width:
            break
        found.append(cell)
    return found


def dashboard(state: RunState, look: Look) -> list[Row]:
    """View 0: phase, rules and how near each is, time left, simulation, checkpoint, acts, warnings."""
    started = state.started
    rows = [
        line(("phase       ", "dim"), state.phase or "not started yet"),
        line(
            ("study       ", "dim"),
            f"{started.get('stages', '-')} stages, {started.get('hydros', '-')} hydros, "
            f"{started.get('thermals', '-')} thermals, {started.get('buses', '-')} buses",
        ),
        line(
            ("ranks       ", "dim"),
            f"{started.get('ranks', '-')} over {safe(started.get('backend', '-'), 12)}, threads of each: "
            f"{safe(started.get('threads_per_rank', '-'), 6)}",
        ),
        *_gap_rows(state),
        line(("left        ", "dim"), _time_left(state)),
        line(),
        line(("stopping rules", "bold")),
    ]
    for rule in state.rules:
        share = rule.get("share")
        shown = bar(share if isinstance(share, int | float) else None, 20, is_ascii=look.is_ascii)
        named, detail = f"  {safe(rule.get('rule'), 16):<16} {shown}", str(rule.get("detail"))
        if len(named) + 1 + len(detail) <= look.width:
            rows.append(line(f"{named} {safe(detail, look.width - 40)}"))
        else:
            rows += [line(named), line(f"    {safe(detail, look.width - 4)}")]
    if not state.rules:
        rows.append(line(("  " + NO_FACTS if state.iterations else "  none yet", "dim")))
    rows.append(line())
    rows.extend(_simulation_rows(state, look))
    rows.extend(_ending_rows(state, look))
    return rows


def _gap_rows(state: RunState) -> list[Row]:
    found = state.gap_estimate
    if not found:
        return []
    gap = found.get("gap") if found.get("gap") is not None else found.get("largest_gap")
    sign = "" if found.get("gap") is not None else "below "
    shown = f"{sign}{percent(gap)}" if gap is not None else why_not_shown(safe(found.get("status"), 20))
    return [line(("gap         ", "dim"), shown)]


def _time_left(state: RunState) -> str:
    if state.is_over:
        return "nothing: it has ended"
    if state.phase == "simulation":
        if not state.scenarios_complete:
            return "not known yet"
        left = state.simulation_ms * (state.scenarios_total / state.scenarios_complete - 1.0)
        return f"about {duration(left / 1000)}"
    if state.terminated is not None:
        return "training has ended; what follows is not known yet"
    seconds = state.time_left_s()
    return "not known yet" if seconds is None else f"up to about {duration(seconds)}"


def _simulation_rows(state: RunState, look: Look) -> list[Row]:
    if not state.scenarios_total:
        return []
    share = state.scenarios_complete / state.scenarios_total
    shown = bar(share, 20, is_ascii=look.is_ascii)
    count = f"{state.scenarios_complete:,} of {state.scenarios_total:,} scenarios"
    return [line(("simulation  ", "dim"), f"{shown} {count}")]


def _ending_rows(state: RunState, look: Look) -> list[Row]:
    rows: list[Row] = []
    if state.checkpoint is not None:
        rows.append(line(("checkpoint  ", "dim"), f"after iteration {state.checkpoint.get('iteration')}"))
    if state.terminated is not None:
        rows.append(line(("training    ", "dim"), f"ended by {safe(state.terminated.get('reason'), 20)}"))
    if state.simulated is not None:
        rows.append(line(("mean cost   ", "dim"), short(state.simulated.get("mean_cost"))))
    if state.error is not None:
        rows.append(line(("error       ", "dim"), (safe(state.error.get("message"), look.width - 14), "red")))
    for each in state.controls[-3:]:
        error = each.get("error")
        what = act(each) if error is None else f"{each.get('action')}: {error}"
        rows.append(line(("control     ", "dim"), safe(what, look.width - 14)))
    rows.extend(
        line(("warning     ", "dim"), (safe(text, look.width - 14), "yellow")) for text in state.warnings[-3:]
    )
    if state.n_foreign:
        rows.append(line(("left out    ", "dim"), f"{state.n_foreign} lines that are no events"))
    return rows


def convergence(state: RunState, look: Look) -> list[Row]:
    """View 1: lower bound, mean cost and its 95 % interval."""
    unit_ms = _time_unit(state, look)[1] if look.by_time else None
    series = _bounds(state.iterations, look, unit_ms)
    if look.against is not None:
        series = [*_bounds(look.against.iterations, look, unit_ms, is_other=True), *series]
    legend = line(" ")
    for each in series:
        legend += line((f"{each.marker} {each.name}   ", each.style))
    scale = "log" if look.is_log else "linear"
    legend.append(Cell(f"[{scale} y, x by {'time' if look.by_time else 'iteration'}]", "dim"))
    label = _time_unit(state, look)[0] if look.by_time else "iteration"
    plot = draw_plot(
        series, look.width, look.height - 1, is_log=look.is_log, is_ascii=look.is_marked, x_label=label
    )
    return [legend, *plot]


def _time_unit(state: RunState, look: Look) -> tuple[str, float]:
    """What the axis of time counts, and how many milliseconds that are."""
    runs = [state] if look.against is None else [state, look.against]
    longest = max((each.last.wall_time_ms for each in runs if each.last is not None), default=0.0)
    return next((unit for unit in TIME_UNITS if longest < 120 * unit[1]), TIME_UNITS[-1])


def _bounds(
    iterations: Sequence[IterationState], look: Look, unit_ms: float | None, *, is_other: bool = False
) -> list[Series]:
    def place(each: IterationState) -> float:
        return float(each.iteration) if unit_ms is None else each.wall_time_ms / unit_ms

    def points(value: Callable[[IterationState], float | None]) -> list[tuple[float, float | None]]:
        return thin([(place(each), value(each)) for each in iterations], max(1, look.width))

    prefix = "other " if is_other else ""
    lower, upper = (lambda each: each.lower_bound), (lambda each: each.upper_bound)
    styles, markers = (("blue", "magenta"), "ox") if is_other else (("green", "yellow"), "#*")
    curves = [
        Series(f"{prefix}mean cost", markers[1], styles[1], points(upper)),
        Series(f"{prefix}lower bound", markers[0], styles[0], points(lower)),
    ]
    if is_other or not any(each.ci_95 for each in iterations):
        return curves
    # Both ends of the band at the same iterations, at most two for each column.
    step = -(-len(iterations) // (2 * max(1, look.width)))
    shown = [*iterations[: -1 : max(1, step)], *iterations[-1:]]
    low, high = ([(place(each), _shifted(each, sign)) for each in shown] for sign in (-1.0, 1.0))
    return [Series("95 %", ".", "dim yellow", low, high), *curves]


def _shifted(each: IterationState, sign: float) -> float | None:
    if each.upper_bound is None or each.ci_95 is None:
        return None
    return each.upper_bound + sign * each.ci_95


def iteration(state: RunState, look: Look) -> list[Row]:
    """View 2: where the time of the last iteration went, and a table of iterations."""
    last = _with_facts(state)
    if last is None:
        return [line(NO_FACTS if state.iterations else "no iteration yet")]
    rows = _parts(last, look)
    table = [_row(each) for each in state.iterations]
    return rows + _table(
        ("iter", "lower", "cost", "time", "forward", "backward", "solves", "cuts"), table, look, len(rows)
    )


def _parts(last: IterationState, look: Look) -> list[Row]:
    """Where the time of an iteration went. Its checkpoint comes after it: their shares are of both together."""
    facts: Mapping[str, Any] = last.facts or {}
    saving = f", and {duration(last.checkpoint_ms / 1000)} for the checkpoint" if last.checkpoint_ms else ""
    rows = [line((f"iteration {last.iteration}: {duration(last.iteration_time_ms / 1000)}{saving}", "bold"))]
    total = max(1.0, last.iteration_time_ms + last.checkpoint_ms)
    parts = [(name, facts.get(key)) for name, key in PARTS] + [("checkpoint", last.checkpoint_ms)]
    for name, ms in parts:
        if isinstance(ms, int | float):
            shown = bar(ms / total, 30, is_ascii=look.is_ascii)
            rows.append(line(f"  {name:<13}{shown} {duration(ms / 1000):>11} {100 * ms / total:5.0f} %"))
    rows.append(
        line(
            f"  {facts.get('lp_solves', '-')} linear programs, {facts.get('simplex_iterations', '-')} simplex "
            f"iterations, peak memory {short(facts.get('peak_memory_mb'))} MB"
        )
    )
    rows.append(line())
    return rows


def _row(each: IterationState) -> tuple[str, ...]:
    facts: Mapping[str, Any] = each.facts or {}
    return (
        str(each.iteration),
        short(each.lower_bound),
        short(each.upper_bound),
        duration(each.iteration_time_ms / 1000),
        _milliseconds(facts.get("forward_ms")),
        _milliseconds(facts.get("backward_ms")),
        short(facts.get("lp_solves")),
        short(facts.get("cuts_active")),
    )


def _milliseconds(value: object) -> str:
    return duration(value / 1000) if isinstance(value, int | float) else "-"


def _table(titles: Sequence[str], rows: Sequence[tuple[str, ...]], look: Look, used: int) -> list[Row]:
    """The newest rows that fit, or older ones after scrolling."""
    room = _room(look, used)
    end = len(rows) - min(look.offset, max(0, len(rows) - room))
    shown = rows[max(0, end - room) : end]
    head = "".join(f"{title:>9} " for title in titles)
    return [line((head, "bold")), *(line("".join(f"{cell:>9} " for cell in row)) for row in shown)]


def _room(look: Look, used: int) -> int:
    """Rows of the table of iterations that fit below ``used`` others and its head."""
    return max(1, look.height - used - 1)


def furthest(view: int, state: RunState, look: Look) -> int:
    """How far the rows of a view can be moved."""
    last = _with_facts(state)
    if last is None or last.facts is None:
        return 0
    if VIEWS[view] is iteration:
        return max(0, len(state.iterations) - _room(look, len(_parts(last, look))))
    if VIEWS[view] is cuts:
        by_stage = last.facts.get("cuts_per_stage")
        return max(0, len(by_stage) - _stages_shown(look)) if isinstance(by_stage, list) else 0
    return 0


def _stages_shown(look: Look) -> int:
    return max(4, look.height // 2 - 2)


def cuts(state: RunState, look: Look) -> list[Row]:
    """View 3: how many cuts there are, by stage and over time."""
    last = _with_facts(state)
    if last is None or last.facts is None:
        return [line(NO_FACTS if state.iterations else "no iteration yet")]
    facts = last.facts
    removed = sum(int((each.facts or {}).get("cuts_removed") or 0) for each in state.iterations)
    rows = [
        line(
            (f"active {facts.get('cuts_active', '-')}", "bold"),
            f"   total {facts.get('cuts_total', '-')}   removed {removed}   added {facts.get('cuts_added', '-')}",
        ),
        line(),
    ]
    by_stage = facts.get("cuts_per_stage")
    if isinstance(by_stage, list) and by_stage:
        most, room = max(1, *by_stage), _stages_shown(look)
        first = min(max(0, len(by_stage) - room), look.offset)
        for stage, count in list(enumerate(by_stage))[first : first + room]:
            shown = bar(count / most, look.width - 26, is_ascii=look.is_ascii)
            rows.append(line(f"stage {stage:>4} {shown} {count:>8}"))
        if len(by_stage) > room:
            rows.append(
                line((f"stages {first} to {first + room - 1} of {len(by_stage)}: j and k move", "dim"))
            )
    rows.append(line())
    rows.append(line(("active cuts over iterations", "dim")))
    rows += _history(state, "cuts_active", look, look.height - len(rows))
    return rows


def resources(state: RunState, look: Look) -> list[Row]:
    """View 4: memory."""
    last = _with_facts(state)
    facts = {} if last is None or last.facts is None else last.facts
    if "memory_mb" not in facts:
        return [line(NO_FACTS if state.iterations else "no iteration yet")]
    ranks = state.started.get("ranks") or 1
    rows = [
        line(("resident     ", "dim"), f"{short(facts['memory_mb'])} MB of all {ranks} ranks"),
        line(("peak         ", "dim"), f"{short(facts.get('peak_memory_mb'))} MB"),
        line(("cuts         ", "dim"), f"{short(facts.get('cuts_memory_mb'))} MB on the first rank"),
        line(),
        line(("resident memory in MB over iterations", "dim")),
    ]
    return rows + _history(state, "memory_mb", look, look.height - len(rows))


def communication(state: RunState, look: Look) -> list[Row]:
    """View 5: what talking to other ranks costs."""
    last = _with_facts(state)
    if last is None or last.facts is None or "wait_ms" not in last.facts:
        return [line(NO_FACTS if state.iterations else "no iteration yet")]
    facts = last.facts
    rows = []
    for name, key in (
        ("forward sync", "forward_sync_ms"),
        ("cut sync", "cut_sync_ms"),
        ("moving data", "move_ms"),
        ("waiting", "wait_ms"),
    ):
        rows.append(line((f"{name:<14}", "dim"), f"{duration(float(facts.get(key) or 0) / 1000):>11}"))
    rows.append(line((f"{'overhead':<14}", "dim"), f"{percent(_overhead(last)):>11}"))
    rows += [line(), line(("overhead in % over iterations", "dim"))]
    points = [
        (float(each.iteration), None if (share := _overhead(each)) is None else 100.0 * share)
        for each in state.iterations
    ]
    series = [Series("overhead", "#", "cyan", thin(points, look.width))]
    return rows + draw_plot(
        series, look.width, look.height - len(rows), is_ascii=look.is_ascii, x_label="iteration", floor=0.0
    )


def _overhead(each: IterationState) -> float | None:
    if each.facts is None or not each.iteration_time_ms:
        return None
    spent = float(each.facts.get("move_ms") or 0) + float(each.facts.get("wait_ms") or 0)
    return min(1.0, spent / each.iteration_time_ms)


def _history(state: RunState, key: str, look: Look, height: int) -> list[Row]:
    points: list[tuple[float, float | None]] = []
    for each in state.iterations:
        value = None if each.facts is None else each.facts.get(key)
        points.append((float(each.iteration), float(value) if isinstance(value, int | float) else None))
    series = [Series(key, "#", "cyan", thin(points, look.width))]
    return draw_plot(series, look.width, height, is_ascii=look.is_ascii, x_label="iteration", floor=0.0)


def _with_facts(state: RunState) -> IterationState | None:
    """The newest iteration of which it is known what it did."""
    return next((each for each in reversed(state.iterations) if each.facts is not None), None)


View = Callable[[RunState, Look], list[Row]]
VIEWS: tuple[View, ...] = (dashboard, convergence, iteration, cuts, resources, communication)
TITLES = ("dashboard", "convergence", "iteration", "cuts", "resources", "communication")

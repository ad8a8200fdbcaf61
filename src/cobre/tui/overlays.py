"""Windows over a view: keys, stopping rules, cuts of a stage, paths of trajectories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.scrollbar import ScrollBarRender
from textual.widgets import Input, Label, Static

from cobre.study import RunState
from cobre.tui.plot import Series, draw_plot
from cobre.tui.text import safe, short

__all__ = ["HELP", "CutsOverlay", "HelpOverlay", "PathsOverlay", "RulesOverlay"]

HELP = """\
0-5, Tab, Shift+Tab   views: dashboard, convergence, iteration, cuts,
                      resources, communication
t                     convergence: x by iteration or by time
l                     convergence: y linear or logarithmic
o                     convergence: the run of --against, on or off
j k g G               move in tables and stages: down, up, first, last
p                     pause after this iteration, or go on
c                     cuts of a stage
s                     compare forward paths
r                     change stopping rules
e                     write the policy so far (snapshot)
q                     leave; the run goes on
Ctrl+C                leave, and stop the run after this iteration
? Esc                 this page; close a page
"""
COMPONENTS = 4
"""Components of the state that a table of cuts has room for."""
SETTINGS = [
    setting.split(".")
    for setting in (
        "iteration_limit.limit",
        "time_limit.seconds",
        "bound_stalling.iterations",
        "bound_stalling.tolerance",
    )
]


class _PlainBar(ScrollBarRender):
    """A scroll bar whose ends lie on whole rows: blanks on a background, and no block characters."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8


class _Scroll(VerticalScroll):
    """Scrolls, in ASCII too."""

    def on_mount(self) -> None:
        """Draw the bar as the screen is drawn."""
        if self.screen.has_class("ascii"):
            self.vertical_scrollbar.renderer = _PlainBar  # type: ignore[misc]  # as its documentation says


class _Overlay(ModalScreen[None]):
    """A page that Escape closes; ``q`` as well, which leaves the app only where no page is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close"),
        Binding("question_mark", "dismiss", "close", show=False),
        Binding("q", "dismiss", "close", show=False),
    ]
    heading = ""

    def body(self) -> ComposeResult:
        """What the page shows."""
        yield Static("")

    def compose(self) -> ComposeResult:
        """A frame, the title, and the page."""
        with Vertical(classes="page"):
            yield Label(Text(self.heading, style="bold"))
            with _Scroll():
                yield from self.body()
            yield Label(Text("Esc closes", style="dim"))


class HelpOverlay(_Overlay):
    """The keys."""

    heading = "keys"

    def body(self) -> ComposeResult:
        """One line each."""
        yield Static(Text(HELP))


class RulesOverlay(_Overlay):
    """The settings of the stopping rules, to be changed; Enter sends what has changed."""

    AUTO_FOCUS = "Input"
    heading = "stopping rules: Enter applies after this iteration"

    def __init__(self, state: RunState, apply: Callable[[str, Mapping[str, float]], None]) -> None:
        super().__init__()
        self._apply = apply
        self._now: dict[tuple[str, str], str] = {}
        for rule in state.rules:
            values = rule.get("values")
            for name, value in (values if isinstance(values, Mapping) else {}).items():
                self._now[str(rule.get("rule")), name] = (
                    f"{value:g}" if isinstance(value, float) else str(value)
                )

    def body(self) -> ComposeResult:
        """One field for each setting."""
        for rule, name in SETTINGS:
            yield Label(Text(f"{rule}.{name}"))
            yield Input(value=self._now.get((rule, name), ""), placeholder="not set", id=f"{rule}-{name}")

    def on_input_submitted(self) -> None:
        """Send what has changed, rule by rule."""
        changed: dict[str, dict[str, float]] = {}
        for rule, name in SETTINGS:
            field = self.query_one(f"#{rule}-{name}", Input)
            text = field.value.strip()
            if not text or text == self._now.get((rule, name), ""):
                continue
            try:
                number = float(text)
            except ValueError:
                field.value = ""
                field.placeholder = f"{safe(text, 20)} is no number"
                field.focus()
                return
            changed.setdefault(rule, {})[name] = int(number) if number.is_integer() else number
        self.dismiss()
        for rule, values in changed.items():
            self._apply(rule, values)


class _AnswerOverlay(_Overlay):
    """What the run answers to a question."""

    def body(self) -> ComposeResult:
        """What will be replaced by the answer."""
        yield Static("asking the run ...", id="answer")

    def _show(self, answer: Mapping[str, Any]) -> None:
        if self.is_mounted:
            problem = answer.get("problem")
            text = self._text(answer) if problem is None else Text(safe(problem, 300))
            self.query_one("#answer", Static).update(text)

    def _text(self, answer: Mapping[str, Any]) -> Text:
        """What the page shows of an answer without a problem."""
        return Text(str(answer))


class CutsOverlay(_AnswerOverlay):
    """The newest cuts of a stage; j and k change the stage."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "next stage"),
        Binding("k,up", "move(-1)", "stage before"),
    ]
    heading = "cuts of a stage: j and k change the stage"

    def __init__(
        self, fetch: Callable[[int, Callable[[Mapping[str, Any]], None]], None], n_stages: int
    ) -> None:
        super().__init__()
        self._fetch = fetch
        self._n_stages = n_stages
        self._stage = 0

    def on_mount(self) -> None:
        """Ask for the first stage."""
        self.action_move(0)

    def action_move(self, by: int) -> None:
        """Ask for another stage."""
        self._stage = min(max(0, self._stage + by), max(0, self._n_stages - 1))
        self._fetch(self._stage, self._show)

    def _text(self, answer: Mapping[str, Any]) -> Text:
        names = answer["state_names"]
        lines = [
            f"stage {answer['stage']}: {answer['active']} active of {answer['total']} cuts, newest first"
        ]
        lines.append("")
        shown = [f"{safe(name.replace('inflow_lag', 'lag'), 11):>12}" for name in names[:COMPONENTS]]
        lines.append(f"{'iter':>5} {'in':>3} {'intercept':>10}" + "".join(shown))
        for cut in answer["cuts"]:
            values = "".join(f"{short(value):>12}" for value in cut["coefficients"][:COMPONENTS])
            active = "yes" if cut["is_active"] else "no"
            lines.append(f"{cut['iteration']:>5} {active:>3} {short(cut['intercept']):>10}{values}")
        if len(names) > COMPONENTS:
            lines.append(f"... and {len(names) - COMPONENTS} more components of the state")
        return Text("\n".join(lines), no_wrap=True)


class PathsOverlay(_AnswerOverlay):
    """Stored volume by stage of trajectories of the last iteration, with their costs."""

    heading = "forward paths of the last iteration: stored volume in hm3 by stage"

    def __init__(
        self, fetch: Callable[[Callable[[Mapping[str, Any]], None]], None], *, is_ascii: bool
    ) -> None:
        super().__init__()
        self._fetch = fetch
        self._is_ascii = is_ascii

    def on_mount(self) -> None:
        """Ask."""
        self._fetch(self._show)

    def _text(self, answer: Mapping[str, Any]) -> Text:
        styles, markers = ("green", "yellow", "cyan", "magenta", "blue"), "#*ox+"
        paths = answer["paths"][: len(markers)]
        series = [
            Series(str(path["scenario"]), marker, style, list(enumerate(path["storage_hm3"])))
            for path, marker, style in zip(paths, markers, styles, strict=False)
        ]
        text = Text(no_wrap=True)
        for row in draw_plot(series, 68, 12, is_ascii=self._is_ascii, x_label="stage"):
            for cell in row:
                text.append(cell.text, style=cell.style)
            text.append("\n")
        for path, marker, style in zip(paths, markers, styles, strict=False):
            text.append(
                f"{marker} trajectory {path['scenario']:>4}  cost {short(path['cost'])}\n", style=style
            )
        return text

"""The app: draws the views of a run, and sends what the keys ask for."""

from __future__ import annotations

import datetime as dt
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from cobre.errors import CobreError
from cobre.study import Control, Policy, RunState
from cobre.tui.overlays import CutsOverlay, HelpOverlay, PathsOverlay, RulesOverlay
from cobre.tui.plot import Row
from cobre.tui.source import Reader, Source
from cobre.tui.text import act, safe
from cobre.tui.views import TITLES, VIEWS, Look, furthest, status_row

__all__ = ["RunApp"]

REDRAW_S = 0.1
NOTE_S = 8.0
"""How long a note stays in the last line."""
SMALLEST = (80, 24)
NEWEST_CUTS = 50
Answer = Callable[[Mapping[str, Any]], None]


class RunApp(App[None]):
    """Watches one run."""

    CSS_PATH = None
    CSS = """
    Screen { overflow: hidden; }
    #status, #footer { height: 1; }
    #body { height: 1fr; }
    .page { width: 76; height: auto; max-height: 22; border: round $primary; padding: 0 1; background: $surface; }
    .page VerticalScroll { height: auto; max-height: 18; }
    ModalScreen { align: center middle; }
    Input { border: none; height: 1; padding: 0; background: $boost; }
    Input:focus { text-style: reverse; }
    .ascii .page { border: ascii $primary; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"view({number})", TITLES[number], show=False)
            for number in range(len(VIEWS))
        ),
        Binding("tab", "next_view(1)", "next view", priority=True, show=False),
        Binding("shift+tab", "next_view(-1)", "view before", priority=True, show=False),
        Binding("t", "switch_x", "x axis"),
        Binding("l", "switch_y", "y axis"),
        Binding("o", "overlay", "other run"),
        Binding("j,down", "scroll_by(-1)", "down", show=False),
        Binding("k,up", "scroll_by(1)", "up", show=False),
        Binding("g", "scroll_to('first')", "first", show=False),
        Binding("G", "scroll_to('last')", "last", show=False),
        Binding("p", "pause", "pause"),
        Binding("c", "cuts", "cuts"),
        Binding("s", "paths", "paths"),
        Binding("r", "rules", "rules"),
        Binding("e", "snapshot", "snapshot"),
        Binding("question_mark", "help", "keys"),
        Binding("q", "leave", "leave"),
        Binding("ctrl+c", "interrupt", "stop the run", priority=True, show=False),
    ]

    def __init__(
        self,
        source: Source,
        *,
        is_ascii: bool = False,
        against: RunState | None = None,
        view: int = 1,
    ) -> None:
        has_colour = "NO_COLOR" not in os.environ
        # With the colours of the terminal Textual filters all of them, and does not turn them into greys.
        super().__init__(ansi_color=None if has_colour else True)
        self.state = RunState()
        self.note = ""
        self._noted_at = 0.0
        self.view = view
        self._source = source
        self._reader: Reader | None = None
        self._against = against
        self._look = Look(80, 22, is_ascii=is_ascii, has_colour=has_colour, against=against)
        self.is_interrupted = False
        """Whether the run was told to stop."""
        self._n_controls = 0
        self._opened_at = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        """A line of status, the view, and a line of keys."""
        yield Static("", id="status")
        yield Static("", id="body")
        yield Static("", id="footer")

    def on_mount(self) -> None:
        """Begin to read."""
        if self._look.is_ascii:
            self.add_class("ascii")
        self._reader = Reader(self._source)
        self.set_interval(REDRAW_S, self.refresh_view)
        self.call_later(self.refresh_view)

    def on_unmount(self) -> None:
        """Read no more."""
        if self._reader is not None:
            self._reader.close()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.refresh_view()

    @property
    def word(self) -> str:
        """The status in a word."""
        reader = self._reader
        if reader is None or not reader.is_ended:
            return self.state.status
        if reader.failure is not None and not self.state.is_over:
            return "failed"
        if self._source.is_replay:
            return "replay complete"
        return self.state.status if self.state.is_over else "died"

    def refresh_view(self) -> None:
        """Take up new events and draw if anything has changed, from the first message to the last."""
        if self._reader is None or not self.is_running:
            return
        events = self._reader.take()
        self.state.fold(events)
        self._tell_controls()
        if self.note and time.monotonic() - self._noted_at > NOTE_S:
            self.note = ""
        size = self.size
        drawn = (len(events) and object(), size, self.view, self._look, self.word, self.note)
        if drawn == self._drawn:
            return
        self._drawn = drawn
        self._draw(size.width, size.height)

    def _draw(self, width: int, height: int) -> None:
        # Screens that lie over this one have no such widgets.
        base = self.screen_stack[0]
        body, status, footer = (base.query_one(f"#{name}", Static) for name in ("body", "status", "footer"))
        if width < SMALLEST[0] or height < SMALLEST[1]:
            need = (
                f"this terminal has {width} x {height} characters; {SMALLEST[0]} x {SMALLEST[1]} are needed"
            )
            body.update(Text(need))
            status.update(Text(""))
            footer.update(Text("q leaves"))
            return
        look = replace(self._look, width=width, height=height - 2)
        status.update(_text([status_row(self.state, self.word, width)]))
        failure = self._reader.failure if self._reader is not None else None
        if failure is not None and not self.state.iterations:
            body.update(Text("\n".join(safe(each, 20 * width) for each in failure.splitlines()), "red"))
        else:
            body.update(_text(VIEWS[self.view](self.state, look)[: look.height]))
        footer.update(Text(*self._last_line(width), no_wrap=True))

    def _last_line(self, width: int) -> tuple[str, str]:
        """A note while there is one; then why the run failed, where it did; otherwise the keys of the views."""
        error = self.state.error if self.state.status == "failed" else None
        if self.note:
            return f" {self.note}", "cyan"
        if error is not None and self.view != 0:
            return f" {safe(error.get('message'), width - 2)}", "red"
        return self._footer(width), "dim"

    def _footer(self, width: int) -> str:
        views = " ".join(
            f"[{number}]{title}" if number == self.view else f"{number} {title}"
            for number, title in enumerate(TITLES)
        )
        return f"? keys {views}"[:width]

    def _tell_controls(self) -> None:
        """Show the outcome of a request."""
        controls = self.state.controls
        if len(controls) > self._n_controls and str(controls[-1].get("timestamp")) >= self._opened_at:
            newest = controls[-1]
            error = newest.get("error")
            self._note(f"{newest.get('action')}: {error}" if error else act(newest, self._source.folder()))
        self._n_controls = len(controls)

    def action_view(self, number: int) -> None:
        """Show a view."""
        self.view, self._look = number, replace(self._look, offset=0)
        self.refresh_view()

    def action_next_view(self, by: int) -> None:
        """Show the next view, or in a page with fields go to the next field."""
        if isinstance(self.screen, RulesOverlay):
            (self.screen.focus_next if by > 0 else self.screen.focus_previous)()
            return
        self.action_view((self.view + by) % len(VIEWS))

    def action_switch_x(self) -> None:
        """Convergence by iteration, or by time."""
        self._look = replace(self._look, by_time=not self._look.by_time)
        self.refresh_view()

    def action_switch_y(self) -> None:
        """Convergence on a linear, or a logarithmic axis."""
        self._look = replace(self._look, is_log=not self._look.is_log)
        self.refresh_view()

    def action_overlay(self) -> None:
        """Show or hide the other run."""
        if self._against is None:
            self._say("there is no other run: start with --against DIR")
            return
        self._look = replace(self._look, against=None if self._look.against else self._against)
        self.refresh_view()

    def action_scroll_by(self, by: int) -> None:
        """Move in a table: older rows are further up; in stages the other way round."""
        step = -by if self.view == 3 else by
        last = self._furthest()
        self._look = replace(self._look, offset=min(last, max(0, min(last, self._look.offset) + step)))
        self.refresh_view()

    def action_scroll_to(self, end: str) -> None:
        """Move to the first or the last row."""
        is_far = (end == "last") if self.view == 3 else (end == "first")
        self._look = replace(self._look, offset=self._furthest() if is_far else 0)
        self.refresh_view()

    def _furthest(self) -> int:
        return furthest(
            self.view, self.state, replace(self._look, width=self.size.width, height=self.size.height - 2)
        )

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(self._page(HelpOverlay()))

    def action_pause(self) -> None:
        """Pause the run, or let it go on."""
        action = "resume" if self.state.status == "paused" else "pause"
        self._send(action, {})

    def action_snapshot(self) -> None:
        """Write the policy so far into the output folder."""
        folder = self._source.folder()
        if folder is None or self.state.last is None:
            self._say("a snapshot needs a live run and its folder: cobre tui DIR")
            return
        path = (
            folder / "snapshots" / "iteration_{iteration}"
        )  # the run is further on when it takes up the request
        self._send("snapshot", {"path": str(path.absolute())})

    def action_rules(self) -> None:
        """Change stopping rules."""
        if self._control() is None:
            return

        def apply(rule: str, values: Mapping[str, float]) -> None:
            self._send("set_rule", {"rule": rule, "values": dict(values)})

        self.push_screen(self._page(RulesOverlay(self.state, apply)))

    def action_cuts(self) -> None:
        """Look at the cuts of a stage: of the live run, or of the policy that it left."""
        n_stages = int(self.state.started.get("stages") or 1)
        folder = self._source.folder()
        if self.state.is_over and folder is not None:

            def fetch(stage: int, show: Answer) -> None:
                self._in_background(lambda: _policy_cuts(Policy.load(folder / "policy"), stage), show)

        else:
            control = self._control()
            if control is None:
                return
            asked = control

            def fetch(stage: int, show: Answer) -> None:
                self._in_background(lambda: asked.cuts(stage), show)

        self.push_screen(self._page(CutsOverlay(fetch, n_stages)))

    def action_paths(self) -> None:
        """Compare forward paths of the live run."""
        control = self._control()
        if control is None:
            return
        asked = control
        overlay = PathsOverlay(
            lambda show: self._in_background(asked.paths, show), is_ascii=self._look.is_marked
        )
        self.push_screen(self._page(overlay))

    def action_leave(self) -> None:
        """Leave; the run goes on."""
        self.exit()

    def action_interrupt(self) -> None:
        """Leave, and stop the run after its iteration."""
        try:
            self._source.stop()
            self.is_interrupted = True
        except CobreError:
            pass  # there is nothing to stop
        self.exit()

    def _page(self, overlay: Any) -> Any:
        overlay.set_class(self._look.is_ascii, "ascii")
        return overlay

    def _note(self, text: str) -> None:
        self.note, self._noted_at = safe(text, max(20, self.size.width - 2)), time.monotonic()

    def _say(self, text: str) -> None:
        self._note(text)
        self.refresh_view()

    def _control(self) -> Control | None:
        try:
            return self._source.control()
        except CobreError as error:
            self._say(error.message)
            return None

    def _send(self, action: str, arguments: dict[str, Any]) -> None:
        """Ask the run for something; its events report the outcome. A run that starts may not listen yet."""
        control = self._control()
        if control is None:
            return
        self._say(f"{action}: after this iteration")

        def tell(answer: Mapping[str, Any]) -> None:
            if "problem" in answer:
                self._say(str(answer["problem"]))

        self._in_background(lambda: control.request(action, arguments, wait=False), tell)

    def _in_background(self, ask: Callable[[], Mapping[str, Any]], show: Answer) -> None:
        """Show an answer that may take an iteration to come; leaving does not wait for it."""

        def work() -> None:
            try:
                answer = ask()
            except CobreError as error:
                answer = {"problem": error.message}
            if self.is_running:
                self.call_later(show, answer)

        threading.Thread(target=work, name="cobre-tui-question", daemon=True).start()


def _policy_cuts(policy: Policy, stage: int) -> dict[str, Any]:
    """The newest cuts of a finished run, as a live one tells them."""
    cuts = policy.stages[stage]
    n = len(cuts.intercepts)
    return {
        "stage": stage,
        "state_names": list(policy.state_names),
        "total": n,
        "active": int(cuts.active.sum()),
        "cuts": [
            {
                "iteration": "-",
                "is_active": bool(cuts.active[k]),
                "intercept": float(cuts.intercepts[k]),
                "coefficients": cuts.coefficients[k].tolist(),
            }
            for k in range(n - 1, max(-1, n - 1 - NEWEST_CUTS), -1)
        ],
    }


def _text(rows: list[Row]) -> Text:
    text = Text(no_wrap=True)
    for number, row in enumerate(rows):
        if number:
            text.append("\n")
        for cell in row:
            text.append(cell.text, style=cell.style)
    return text

"""The state of a run, computed from its events as plain data. Gaps, repeats and unknown lines do no harm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cobre.study.remaining import RemainingTime

__all__ = ["IterationState", "RunState", "RunStatus"]

RunStatus = Literal["waiting", "running", "paused", "complete", "partial", "failed"]
MOST_WARNINGS = 200


@dataclass(frozen=True, slots=True)
class IterationState:
    """One iteration: its bounds, and its other figures where the source has them."""

    iteration: int
    lower_bound: float | None
    upper_bound: float | None
    ci_95: float | None
    gap: float | None
    wall_time_ms: float
    iteration_time_ms: float
    facts: Mapping[str, Any] | None = None
    """The event ``iteration``; None where there was none."""
    checkpoint_ms: float = 0.0


@dataclass
class RunState:
    """What is known of a run."""

    started: dict[str, Any] = field(default_factory=dict)
    """The event ``started``; empty if there was none."""
    phase: Literal["training", "simulation"] | None = None
    status: RunStatus = "waiting"
    iterations: list[IterationState] = field(default_factory=list)
    iteration_limit: int | None = None
    gap_estimate: dict[str, Any] | None = None
    scenarios_complete: int = 0
    scenarios_total: int = 0
    simulation_ms: float = 0.0
    checkpoint: dict[str, Any] | None = None
    controls: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    terminated: dict[str, Any] | None = None
    simulated: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    n_missing: int = 0
    """Iterations that no event told of, and lines that were left out."""
    n_foreign: int = 0
    """Lines that are no events."""
    _last_number: int | None = None
    _changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Values of stopping rules that were changed since the last iteration told how near they are."""

    @property
    def last(self) -> IterationState | None:
        """The newest iteration."""
        return self.iterations[-1] if self.iterations else None

    @property
    def rules(self) -> list[Mapping[str, Any]]:
        """How near each stopping rule is, from the newest iteration that reports it, and what was changed since."""
        told: list[Mapping[str, Any]] = []
        for each in reversed(self.iterations):
            if each.facts is not None and isinstance(each.facts.get("rules"), list):
                told = [rule for rule in each.facts["rules"] if isinstance(rule, Mapping)]
                break
        return [rule for rule in told if rule.get("rule") not in self._changes] + [
            {"rule": name, "triggered": False, "share": None, "values": values, "detail": _detail(values)}
            for name, values in self._changes.items()
        ]

    @property
    def is_over(self) -> bool:
        """Whether the run has told its end."""
        return self.status in ("complete", "partial", "failed")

    def time_left_s(self) -> float | None:
        """Until a limit of iterations or of time ends training, if one is known; it may end sooner."""
        if self.last is None:
            return None
        found = []
        if self.iteration_limit is not None:
            remaining = RemainingTime()
            for each in self.iterations:
                remaining.learn(each.iteration_time_ms / 1000.0)
            found.append(remaining.until(self.iteration_limit))
        for rule in self.rules:
            seconds = rule.get("values", {}).get("seconds") if rule.get("rule") == "time_limit" else None
            if isinstance(seconds, int | float):
                found.append(max(0.0, seconds - self.last.wall_time_ms / 1000.0))
        return min(found, default=None)

    def fold(self, events: Iterable[object]) -> None:
        """Take up events, in order; what is none is counted and left."""
        for event in events:
            take = getattr(self, f"_take_{event.get('type')}", None) if isinstance(event, Mapping) else None
            if take is None or not isinstance(event, Mapping):
                self.n_foreign += 1
                continue
            self._check_number(event.get("seq"))
            try:
                take(event)
            except (KeyError, TypeError, ValueError):
                self.n_foreign += 1

    def _check_number(self, number: object) -> None:
        if not isinstance(number, int):
            return
        if self._last_number is not None and number > self._last_number + 1:
            self.n_missing += number - self._last_number - 1
        self._last_number = number

    def _take_started(self, event: Mapping[str, Any]) -> None:
        phases = list(event["phases"])
        if "training" in phases and event["resumed_from"] is None:
            self.iterations.clear()
        if "training" in phases:
            self.terminated = self.checkpoint = None
        self.controls, self.warnings = [], []
        self._changes.clear()
        self.scenarios_complete = self.scenarios_total = 0
        self.simulated = self.error = None
        self.started, self.status = dict(event), "running"
        self.phase = "training" if "training" in phases else "simulation"
        self._last_number = event["seq"]

    def _take_progress(self, event: Mapping[str, Any]) -> None:
        if self.status == "waiting":
            self.status = "running"
        if event.get("phase") == "simulation":
            self.phase = "simulation"
            self.scenarios_complete = int(event["scenarios_complete"])
            self.scenarios_total = int(event["scenarios_total"])
            self.simulation_ms = float(event["elapsed_ms"])
            return
        found = IterationState(
            int(event["iteration"]),
            _number(event["lower_bound"]),
            _number(event["upper_bound"]),
            _number(event.get("ci_95")),
            _number(event.get("gap")),
            float(event["wall_time_ms"]),
            float(event["iteration_time_ms"]),
        )
        while self.iterations and self.iterations[-1].iteration >= found.iteration:
            self.iterations.pop()  # a restarted run goes back to its checkpoint
        if self.iterations and found.iteration > self.iterations[-1].iteration + 1:
            self.n_missing += found.iteration - self.iterations[-1].iteration - 1
        self.iterations.append(found)
        self.phase = "training"
        limit = event.get("iteration_limit")
        self.iteration_limit = int(limit) if limit is not None else None
        estimate = event.get("gap_estimate")
        self.gap_estimate = dict(estimate) if isinstance(estimate, Mapping) else None

    def _take_iteration(self, event: Mapping[str, Any]) -> None:
        if self.last is not None and self.last.iteration == int(event["iteration"]):
            self._change_last(facts=dict(event))
            self._changes.clear()

    def _take_checkpoint(self, event: Mapping[str, Any]) -> None:
        self.checkpoint = dict(event)
        if self.last is not None and self.last.iteration == int(event["iteration"]):
            self._change_last(checkpoint_ms=float(event["time_ms"]))

    def _change_last(self, **values: Any) -> None:
        last = self.iterations[-1]
        parts = {name: getattr(last, name) for name in last.__slots__}
        self.iterations[-1] = IterationState(**{**parts, **values})

    def _take_control(self, event: Mapping[str, Any]) -> None:
        self.controls.append(dict(event))
        if event.get("error") is None and not self.is_over:
            if event["action"] == "set_rule":
                self._take_change(str(event["arguments"]["rule"]), event["arguments"]["values"])
            elif event["action"] == "pause":
                self.status = "paused"
            elif event["action"] in ("resume", "stop"):
                self.status = "running"

    def _take_change(self, rule: str, values: Mapping[str, Any]) -> None:
        limit = int(values["limit"]) if rule == "iteration_limit" else self.iteration_limit
        before = next((each.get("values") for each in self.rules if each.get("rule") == rule), None)
        self._changes[rule] = {**(before if isinstance(before, Mapping) else {}), **values}
        self.iteration_limit = limit

    def _take_warning(self, event: Mapping[str, Any]) -> None:
        self.warnings.append(str(event["message"]))
        del self.warnings[:-MOST_WARNINGS]

    def _take_terminated(self, event: Mapping[str, Any]) -> None:
        self.terminated = dict(event)

    def _take_simulation_finished(self, event: Mapping[str, Any]) -> None:
        self.simulated = dict(event)

    def _take_finished(self, event: Mapping[str, Any]) -> None:
        status = event["status"]
        if status in ("complete", "partial", "failed"):
            self.status = status
        self.error = None if event["error"] is None else dict(event["error"])

    def _take_result(self, event: Mapping[str, Any]) -> None:
        if self.is_over:
            return
        self.status = "complete" if event["success"] else "failed"
        errors = event.get("errors")
        self.error = dict(errors[0]) if errors else None


def _detail(values: Mapping[str, Any]) -> str:
    return "changed: " + ", ".join(f"{name} = {value}" for name, value in values.items())


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None

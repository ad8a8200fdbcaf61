"""Steering a run: requests are taken up between two iterations, by all ranks together."""

from __future__ import annotations

import datetime as dt
import math
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from cobre.comm import GroupMember
from cobre.core.config import BoundStalling, IterationLimit, StoppingRule, TimeLimit, rule_name
from cobre.errors import CobreError
from cobre.sddp.agreement import agree
from cobre.sddp.events import ControlTaken, OnDetail
from cobre.sddp.interruption import StopRequest
from cobre.sddp.sharing import share

__all__ = ["ACTIONS", "ControlDesk", "ControlPoint", "Request", "changed_rules", "check_request"]

STILL_PAUSED_S = 1.0
"""While a run is paused, its ranks make a collective this often, so that none waits until it fails."""
ACTIONS: Mapping[str, Mapping[str, bool]] = {
    "pause": {},
    "resume": {},
    "stop": {},
    "snapshot": {"path": True},
    "set_rule": {"rule": True, "values": True},
    "cuts": {"stage": True},
    "paths": {},
}
"""What can be asked for: the arguments of each action, and whether they are required."""
QUESTIONS = ("cuts", "paths")
"""Actions that change nothing: they are answered, and are no events."""
RULES: Mapping[str, Mapping[str, type]] = {
    "iteration_limit": {"limit": int},
    "time_limit": {"seconds": float},
    "bound_stalling": {"iterations": int, "tolerance": float},
}
"""Rules that can be changed while a run is at work, and the types of their settings."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a run."""

    number: int
    action: str
    arguments: Mapping[str, Any]


class ControlDesk(Protocol):
    """Where requests arrive, on the first rank."""

    def pending(self) -> int:
        """How many wait."""

    def take(self) -> list[Request]:
        """All that wait, in the order in which they came."""

    def answer(self, request: Request, outcome: Mapping[str, Any]) -> None:
        """Send the answer to the client."""

    def wait(self, seconds: float) -> None:
        """Return when a request waits, or after so much time."""


def check_request(action: object, arguments: object) -> tuple[str, dict[str, Any]]:
    """The action and its arguments; raises if they are not valid."""
    if not isinstance(action, str) or action not in ACTIONS:
        raise _refused(f"there is no action {action!r}", f"choose from {', '.join(ACTIONS)}")
    given = dict(arguments) if isinstance(arguments, Mapping) else {}
    known = ACTIONS[action]
    if not isinstance(arguments, Mapping) or set(given) - set(known) or set(known) - set(given):
        raise _refused(
            f"{action} cannot take the arguments {arguments!r}",
            f"pass {', '.join(known)}" if known else "pass none",
        )
    if action == "snapshot" and not (isinstance(given["path"], str) and given["path"].startswith("/")):
        raise _refused(f"snapshot needs an absolute path, not {given['path']!r}", "name a new folder")
    if action == "cuts" and not _is_whole(given["stage"]):
        raise _refused(f"{given['stage']!r} is no stage", "pass the number of a stage, from 0 on")
    if action == "set_rule":
        given["values"] = _rule_values(given["rule"], given["values"])
    return action, given


def _rule_values(rule: object, values: object) -> dict[str, Any]:
    if not isinstance(rule, str) or rule not in RULES:
        raise _refused(f"the rule {rule!r} cannot be changed", f"choose from {', '.join(RULES)}")
    known = RULES[rule]
    if not isinstance(values, Mapping) or not values or set(values) - set(known):
        raise _refused(f"{rule} cannot take {values!r}", f"pass {' or '.join(known)}")
    found: dict[str, Any] = {}
    for name, value in values.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        is_fit = is_number and value > 0 and (known[name] is float or float(value).is_integer())
        if not is_fit:
            kind = "a whole number of 1 or more" if known[name] is int else "a number above 0"
            raise _refused(f"{rule}.{name} cannot be {value!r}", f"pass {kind}")
        found[name] = known[name](value)
    return found


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _refused(message: str, suggestion: str) -> CobreError:
    return CobreError(message, kind="IncompatibleSettings", suggestion=suggestion)


def changed_rules(
    rules: Sequence[StoppingRule], name: str, values: Mapping[str, Any]
) -> tuple[StoppingRule, ...]:
    """``rules`` with new settings of one of them; a rule that is not among them is added."""
    if any(rule_name(rule) == name for rule in rules):
        return tuple(replace(rule, **values) if rule_name(rule) == name else rule for rule in rules)
    kinds: dict[str, Callable[..., StoppingRule]] = {
        "iteration_limit": IterationLimit,
        "time_limit": TimeLimit,
        "bound_stalling": BoundStalling,
    }
    missing = [setting for setting in RULES[name] if setting not in values]
    if missing:
        raise _refused(f"the run has no rule {name} yet", f"give {' and '.join(missing)} as well")
    return (*rules, kinds[name](**values))


class ControlPoint:
    """Where all ranks take up requests together.

    ``perform`` carries out what is special to training or to a simulation, on every rank, and returns what the answer
    says; it may raise a `CobreError`, the same one on every rank.
    """

    def __init__(
        self,
        comm: GroupMember,
        stop: StopRequest,
        desk: ControlDesk | None,
        phase: Literal["training", "simulation"],
        perform: Callable[[Request], Mapping[str, Any]],
        on_detail: OnDetail | None = None,
    ) -> None:
        self._comm = comm
        self._stop = stop
        self._desk = desk
        self._phase: Literal["training", "simulation"] = phase
        self._perform = perform
        self._on_detail = on_detail
        self._is_paused = False
        self.taken: list[ControlTaken] = []
        """What was done, in order; the same on every rank but for the times."""
        self.paused_s = 0.0
        """How long all pauses took."""

    def pending(self) -> int:
        """How many requests wait here: none where there is no desk."""
        return self._desk.pending() if self._desk is not None else 0

    def settle(self, n_requests: int, stop_signal: int, iteration: int | None) -> int:
        """Collective: carry out what is asked, and return when the run is not paused; the signal to stop on, or 0.

        All ranks know from a collective that there are ``n_requests``, and which signal one of them got. A request to
        stop acts as SIGTERM does.
        """
        began = time.perf_counter()
        was_paused = False
        while True:
            if n_requests:
                mine = self._desk.take() if self._desk is not None else None
                for request in share(self._comm, mine):
                    if self._carry_out(request, iteration):
                        stop_signal = int(signal.SIGTERM)
            if stop_signal or not self._is_paused:
                break
            was_paused = True
            if self._desk is not None:
                self._desk.wait(STILL_PAUSED_S)
            n_requests, stop_signal = self._meet()
        self._is_paused = False
        if was_paused:
            self.paused_s += time.perf_counter() - began
        return stop_signal

    def _meet(self) -> tuple[int, int]:
        """Collective: how many requests there are, and the signal that a rank got."""
        shared = agree(self._comm, {**self._stop.counts(), "requests": self.pending()})
        return int(shared["requests"]), StopRequest.signal_of(shared)

    def _carry_out(self, request: Request, iteration: int | None) -> bool:
        """Carry out a request and report it; whether it is to stop."""
        outcome: Mapping[str, Any] = {}
        error: CobreError | None = None
        try:
            if request.action == "pause":
                self._is_paused = True
            elif request.action == "resume":
                if not self._is_paused:
                    raise _refused("the run is not paused", "pause it first")
                self._is_paused = False
            elif request.action != "stop":
                outcome = self._perform(request)
        except CobreError as refused:
            error = refused
        if request.action not in QUESTIONS:
            self._note(request, iteration, outcome, error)
        if self._desk is not None:
            failure = None if error is None else error.to_dict()
            self._desk.answer(
                request, {"iteration": iteration, "phase": self._phase, **outcome, "error": failure}
            )
        return request.action == "stop"

    def _note(
        self, request: Request, iteration: int | None, outcome: Mapping[str, Any], error: CobreError | None
    ) -> None:
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        text = None if error is None else error.message
        done = ControlTaken(
            request.action, request.arguments, self._phase, iteration, now, dict(outcome), text
        )
        self.taken.append(done)
        if self._on_detail is not None:
            self._on_detail(done)

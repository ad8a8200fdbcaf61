"""Tests that mostly sleep, some of them at the same time.

One that is marked ``waits`` takes the next such tests of its file along: each runs in a thread, with the arguments
it would have had, and what came of it is reported when its own turn comes.
"""

from __future__ import annotations

import inspect
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

MARK = "waits"
TAKEN = 12
AT_ONCE = 6
APART_S = 0.25  # so that the processes of one have started when those of the next do
OUTCOMES = pytest.StashKey[dict[str, BaseException | None]]()
LENT = {"tmp_path", "sockets_path"}
"""What a test lends to those that run beside it; of its folder each has a part."""
COMPANY = pytest.StashKey[list[str]]()


def run(item: pytest.Function) -> None:
    """Do as the test says, or as it said while it ran beside another one."""
    outcomes = item.session.stash.setdefault(OUTCOMES, {})
    if item.nodeid not in outcomes:
        company = _company(item, outcomes)
        calls = [(each.obj, _arguments(each, item)) for each in company]
        item.stash[COMPANY] = [each.nodeid for each in company]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            running = []
            for place, call in enumerate(calls):
                time.sleep(APART_S if place else 0)
                running.append(pool.submit(_outcome, *call))
        outcomes.update(zip(item.stash[COMPANY], (each.result() for each in running), strict=True))
    failure = outcomes.pop(item.nodeid)
    if failure is not None:
        raise failure


def _outcome(test: Any, arguments: dict[str, Any]) -> BaseException | None:
    try:
        test(**arguments)
    except BaseException as failure:  # a skip is one, too
        return failure
    return None


def _company(item: pytest.Function, outcomes: dict[str, BaseException | None]) -> list[pytest.Function]:
    """This test and the next ones that were selected, can run beside it and have not."""
    items = item.session.items
    others = [
        each
        for each in items[items.index(item) + 1 :]
        if isinstance(each, pytest.Function)
        and each.path == item.path
        and each.get_closest_marker(MARK)
        and not any(each.get_closest_marker(name) for name in ("skip", "skipif", "xfail"))
        and each.nodeid not in outcomes
        and _names(each) & LENT <= _names(item)
    ]
    return [item, *others[: TAKEN - 1]]


def _names(item: pytest.Function) -> set[str]:
    return set(inspect.signature(item.obj).parameters)


def _arguments(item: pytest.Function, host: pytest.Function) -> dict[str, Any]:
    """What ``item`` is called with while ``host`` runs: its parameters, and a folder of its own in the host's."""
    arguments = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    unknown = _names(item) - arguments.keys() - LENT
    if unknown:
        pytest.fail(
            f"{item.nodeid} is marked {MARK!r}: it takes parameters and {sorted(LENT)}, not {sorted(unknown)}"
        )
    arguments |= {name: host.funcargs[name] for name in LENT & _names(item)}
    if "tmp_path" in arguments:
        arguments["tmp_path"] /= re.sub(r"\W+", "_", item.name)
        arguments["tmp_path"].mkdir()
    return arguments

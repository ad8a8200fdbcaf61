"""The functions that take long, for programs that run an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from functools import update_wrapper
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from cobre.errors import CobreError
from cobre.sddp.result import TrainingResult
from cobre.study.results import SimulationResult
from cobre.study.simulation import simulate
from cobre.study.training import train

P = ParamSpec("P")
T = TypeVar("T")
Awaited = Callable[P, Coroutine[Any, Any, T]]


def _with_parameters_of(
    verb: Callable[P, T],
) -> Callable[[Callable[..., Coroutine[Any, Any, T]]], Awaited[P, T]]:
    """Give a coroutine the signature of ``verb``, which is what ``help`` and editors show."""

    def dress(run: Callable[..., Coroutine[Any, Any, T]]) -> Awaited[P, T]:
        update_wrapper(run, verb, assigned=("__annotations__",), updated=())
        return run

    return dress


@_with_parameters_of(train)
async def train_async(*args: Any, **options: Any) -> TrainingResult:
    """`train` in a thread of its own, to be awaited. ``progress_callback`` is called in that thread.

    Cancelling it ends training after the iteration that runs, as a callback that raises would: a folder of results
    keeps its checkpoints and has no ``_SUCCESS``.
    """
    return await _run(train, args, options)


@_with_parameters_of(simulate)
async def simulate_async(*args: Any, **options: Any) -> SimulationResult:
    """`simulate` in a thread of its own, to be awaited. ``progress_callback`` is called in that thread.

    Cancelling it ends the simulation after the scenarios that run, without ``_SUCCESS``.
    """
    return await _run(simulate, args, options)


async def _run(verb: Callable[..., T], args: tuple[Any, ...], options: dict[str, Any]) -> T:
    """The result of ``verb`` in a thread. A cancellation is raised when that thread has ended."""
    given = signature(verb).bind(*args, **options)
    callback = given.arguments.get("progress_callback")
    is_cancelled = threading.Event()

    def report(event: Any) -> None:
        if is_cancelled.is_set():
            raise CobreError("cancelled by the program that awaited it")
        if callback is not None:
            callback(event)

    given.arguments["progress_callback"] = report
    loop, context = asyncio.get_running_loop(), copy_context()
    # A future and no task: a loop that ends cancels all tasks, and the thread would not be waited for.
    running = loop.run_in_executor(None, lambda: context.run(verb, *given.args, **given.kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        is_cancelled.set()
        await asyncio.wait([running])
        running.exception()  # whatever ended the thread, the cancellation is what the caller asked for
        raise

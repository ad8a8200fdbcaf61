"""The long verbs for programs that run an event loop."""

from __future__ import annotations

import asyncio
from typing import Any

from cobre.sddp.result import TrainingResult
from cobre.study.results import SimulationResult
from cobre.study.simulation import simulate
from cobre.study.training import train


async def train_async(*args: Any, **options: Any) -> TrainingResult:
    """`train` in a thread of its own, to be awaited. ``progress_callback`` is called in that thread."""
    return await asyncio.to_thread(train, *args, **options)


async def simulate_async(*args: Any, **options: Any) -> SimulationResult:
    """`simulate` in a thread of its own, to be awaited. ``progress_callback`` is called in that thread."""
    return await asyncio.to_thread(simulate, *args, **options)

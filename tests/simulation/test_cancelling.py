"""A run that is awaited and cancelled: its work ends, and its folder is free when the cancellation is raised."""

from __future__ import annotations

import asyncio
import inspect

import pytest

import cobre
from short_runs import iterations, trained_example

DEADLINE_S = 90
ENDLESS = 1_000_000
MANY = 300
"""Events of a run that was not ended."""
SETTINGS = {
    "training": {
        "forward_passes": 1,
        "stopping_rules": [{"type": "iteration_limit", "limit": ENDLESS}],
    },
    "simulation": {"io_channel_capacity": 1},
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return trained_example(tmp_path_factory.mktemp("study") / "case", iterations(1))


async def cancelled_after_two_events(verb, *args, **options):
    """The events of a run that is cancelled when it has reported twice, and the run's task."""
    events = []
    loop, is_running = asyncio.get_running_loop(), asyncio.Event()

    def report(event):
        events.append(event)
        assert len(events) < MANY, "the run goes on"
        if len(events) == 2:
            loop.call_soon_threadsafe(is_running.set)

    task = asyncio.create_task(verb(*args, progress_callback=report, **options))
    async with asyncio.timeout(DEADLINE_S):
        await is_running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    n_events = len(events)
    await asyncio.sleep(0.2)
    assert len(events) == n_events
    return events


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_cancelled_simulation_ends_and_frees_its_folder(study, tmp_path, n_workers):
    asyncio.run(
        cancelled_after_two_events(
            cobre.simulate_async,
            study,
            None,
            n_workers,
            config_overrides=SETTINGS,
            output=tmp_path,
            scenarios=ENDLESS,
        )
    )
    assert not (tmp_path / "simulation/_SUCCESS").exists()
    assert list(tmp_path.rglob(".*")) == []
    again = cobre.simulate(study, config_overrides=SETTINGS, output=tmp_path, scenarios=2)
    assert again.costs.num_rows == 24


def test_a_cancelled_training_ends_and_its_folder_has_the_reason(study, tmp_path):
    asyncio.run(
        cancelled_after_two_events(cobre.train_async, study, config_overrides=SETTINGS, output=tmp_path)
    )
    metadata = (tmp_path / "training/metadata.json").read_text(encoding="utf-8")
    assert '"status": "failed"' in metadata
    assert "cancelled" in metadata
    assert not (tmp_path / "training/_SUCCESS").exists()


def test_a_callback_given_by_position_is_called(study):
    events = []
    short = {"training": {"forward_passes": 1, "stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}
    asyncio.run(cobre.train_async(study, 1, "auto", short, events.append))
    assert [event.iteration for event in events] == [1, 2]


@pytest.mark.parametrize(
    ("awaited", "verb"), [(cobre.train_async, cobre.train), (cobre.simulate_async, cobre.simulate)]
)
def test_help_shows_the_parameters_of_the_awaited_verb(awaited, verb):
    assert inspect.signature(awaited) == inspect.signature(verb)
    assert inspect.iscoroutinefunction(awaited)
    assert "to be awaited" in awaited.__doc__

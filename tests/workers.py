"""How ``pytest -n N`` shares the tests among its workers.

The tests of a file stay in one worker: they share fixtures, launches of ranks, and threads (`together`). Files of
tests that start processes come first; the short ones that start none fill the gaps at the end.
"""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from xdist.scheduler import LoadScopeScheduling

WITHOUT_PROCESSES = ("core", "files", "io", "sddp", "solver", "stochastic")
"""Folders whose tests start no or few processes."""
SAME_WORKER = {"tests/cli/test_doctor.py": "segments", "tests/comm/test_shm_startup.py": "segments"}
"""Files that must not run at the same time: ``cobre doctor --clean`` removes what a killed rank has left."""


class ByFile(LoadScopeScheduling):
    """All tests of a file to the worker that is free first, in the order in which the files were collected."""

    def __init__(self, config: pytest.Config, log) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return SAME_WORKER.get(file, file)


def put_processes_first(items: list[pytest.Item]) -> None:
    """The order in which workers take the files."""
    items.sort(key=lambda item: _starts_few_processes(item.nodeid))


def _starts_few_processes(nodeid: str) -> bool:
    return any(folder in PurePosixPath(nodeid).parts[:2] for folder in WITHOUT_PROCESSES)

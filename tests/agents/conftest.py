"""One study for all tests of the server for agents that only read it."""

from __future__ import annotations

import pytest

from agents import served


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Read it, and write nothing into it that another test may see."""
    return served.write_study(tmp_path_factory.mktemp("agents").resolve())

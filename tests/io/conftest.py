from __future__ import annotations

import pytest

from case_folders import full_case


@pytest.fixture
def case(tmp_path):
    """A study with everything that is modelled, in memory until it is written."""
    return full_case(tmp_path / "case")

"""Trajectories of every scheme against those of the public Cobre 0.18, value by value."""

from __future__ import annotations

import json

import pytest

import cobre
from public_sampling import CASES, STORED, TABLES, by_place, write


@pytest.mark.parametrize("name", CASES)
def test_simulated_inflows_loads_and_sources_are_those_of_the_public_program(name, tmp_path):
    expected = json.loads(STORED.read_text())[name]
    folder = write(tmp_path / "case", name)
    simulated = cobre.simulate(folder, cobre.train(folder).policy)
    for table in TABLES:
        found = by_place(table, simulated.table(table).to_pylist())
        assert [len(stages) for stages in found] == [12] * 4
        for scenario, stages in enumerate(found):
            for stage, values in enumerate(stages):
                place = (table, scenario, stage)
                assert values == pytest.approx(expected[table][scenario][stage], rel=1e-9, abs=1e-9), place

"""Groups of scenarios: what they add up does not depend on them, and they fit the memory that they may take."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest

import cobre
from cobre.comm import LocalCommunicator
from cobre.sddp.simulation.chunk import collect
from cobre.sddp.simulation.engine import Engine
from cobre.sddp.simulation.outcome import sum_in_order
from cobre.sddp.simulation.running import CHUNK_BYTES, CHUNK_SCENARIOS, chunk_size
from cobre.sddp.simulation.tables import tables_of
from simulation.bits import settings, write_study

UNLIMITED = 10**9


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 300])
@pytest.mark.parametrize("n_terms", [1, 2, 9, 200])
def test_a_sum_has_the_bits_of_adding_from_left_to_right(n, n_terms):
    terms = np.random.default_rng(n_terms).normal(size=(n, n_terms)) * 10.0 ** np.arange(n_terms).clip(0, 20)
    expected = [functools.reduce(operator.add, row) for row in terms.tolist()]
    for each in (terms, np.asfortranarray(terms), np.repeat(terms, 2, axis=1)[:, ::2]):
        assert sum_in_order(each).tolist() == expected


@pytest.fixture(scope="module")
def engine_and_tables(tmp_path_factory):
    case = cobre.load_case(write_study(tmp_path_factory.mktemp("study") / "case"), settings("by_scenario"))
    policy = cobre.train(case).policy
    with LocalCommunicator() as comm:
        yield Engine(comm, case, policy, 40), tables_of(case)


def test_a_chunk_takes_as_much_memory_as_it_may(engine_and_tables):
    engine, tables = engine_and_tables
    scenarios = range(20)
    chunk = collect(scenarios, engine.run(scenarios), tables)
    own = sum(
        column.nbytes
        for table in chunk.tables
        for stage in table.stages
        for column in stage.values()
        if column.ndim == 2
    )
    found = chunk_size(tables, engine.views, UNLIMITED, UNLIMITED) * own / len(scenarios)
    assert 0.9 * CHUNK_BYTES < found <= CHUNK_BYTES


def test_a_chunk_has_no_more_scenarios_than_there_are_or_may_wait(engine_and_tables):
    engine, tables = engine_and_tables
    assert chunk_size(tables, engine.views, None, 3) == 3
    assert chunk_size(tables, engine.views, 5, UNLIMITED) == 5
    assert chunk_size(tables, engine.views, None, UNLIMITED) <= CHUNK_SCENARIOS
    assert chunk_size(tables, engine.views, UNLIMITED, UNLIMITED) > 1


def test_quantities_that_a_stage_has_not_are_the_same_for_all_scenarios(engine_and_tables):
    """One row for all: neither computed nor encoded for each scenario."""
    engine, tables = engine_and_tables
    scenarios = range(3)
    chunk = collect(scenarios, engine.run(scenarios), tables)
    costs = next(table for table in chunk.tables if table.schema.name == "costs")
    for name, columns in (
        ("filling_target_cost", engine.views[0].problem.columns.hydro.filling_below),
        ("thermal_cost", engine.views[0].problem.columns.network.thermal),
    ):
        is_there = bool((columns >= 0).any())
        assert costs.stages[0][name].ndim == 1 + is_there, name
    assert (engine.views[0].problem.columns.hydro.filling_below < 0).all()

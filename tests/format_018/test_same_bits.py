"""A study with every element of 0.18: the same bits on every backend and for every order of its files."""

from __future__ import annotations

import random

import pytest

import cobre
from format_018.mixtures import with_time
from format_018.random_cases import case_with
from sddp.trained import digest
from shuffling import shuffled

SEED = 0
SHORT = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 3}]}}


def every_element():
    case = case_with(SEED)
    for _ in range(3):
        case.add_thermal(35.0, 20.0)
    return with_time(case, SEED)


def test_it_has_every_kind_of_time():
    documents = every_element().documents
    assert any(each.get("block_mode") for each in documents["stages.json"]["stages"])
    assert any("travel_time_hours" in each for each in documents["system/hydros.json"]["hydros"])
    assert any("anticipated_config" in each for each in documents["system/thermals.json"]["thermals"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return every_element().write(tmp_path_factory.mktemp("format_018") / "case")


@pytest.fixture(scope="module")
def alone(folder):
    return digest(cobre.train(folder, config_overrides=SHORT))


@pytest.mark.parametrize(("backend", "n_ranks", "threads"), [("shm", 2, 1), ("tcp", 3, 1), ("shm", 2, 2)])
def test_any_backend_ranks_and_threads(folder, alone, backend, n_ranks, threads):
    result = cobre.train(folder, n_ranks, backend=backend, config_overrides=SHORT, threads=threads)
    assert digest(result) == alone


def test_a_run_that_is_continued_by_other_ranks(folder, alone, tmp_path):
    begun = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}
    cobre.train(folder, config_overrides=begun, output=tmp_path / "out")
    options = {"backend": "shm", "output": tmp_path / "out", "resume": tmp_path / "out"}
    assert digest(cobre.train(folder, 2, config_overrides=SHORT, **options)) == alone


@pytest.mark.parametrize("seed", range(2))
def test_any_order_of_entities_and_rows(tmp_path, alone, seed):
    chance = random.Random(seed)
    case = every_element()
    case.documents = {name: shuffled(each, chance) for name, each in case.documents.items()}
    case.tables = case.all_tables()
    for rows in case.tables.values():
        chance.shuffle(rows)
    assert digest(cobre.train(case.write(tmp_path / "case"), config_overrides=SHORT)) == alone

"""Nothing in a study depends on the order of entities, rows or columns in files."""

from __future__ import annotations

import copy
import random

import pytest

from case_folders import full_case
from cobre.core.digest import digest
from cobre.io.loading import load, validate
from shuffling import shuffled


@pytest.mark.parametrize("seed", range(5))
def test_a_shuffled_case_is_the_same_study_to_the_bit(tmp_path, seed):
    chance = random.Random(seed)
    plain = full_case(tmp_path / "plain" / "case")
    mixed = full_case(tmp_path / "mixed" / "case")
    mixed.documents = {name: shuffled(each, chance) for name, each in plain.documents.items()}
    group = mixed.documents["scenarios/correlation.json"]["profiles"]["default"]["correlation_groups"][0]
    group["entities"].reverse()
    group["matrix"] = [row[::-1] for row in reversed(group["matrix"])]
    for name, columns in mixed.tables.items():
        order = list(range(len(next(iter(columns.values())))))
        chance.shuffle(order)
        mixed.tables[name] = {key: [values[row] for row in order] for key, values in columns.items()}
    assert mixed.documents != plain.documents
    assert digest(load(mixed.write())) == digest(load(plain.write()))


def test_messages_do_not_depend_on_the_order_either(tmp_path):
    chance = random.Random(1)
    plain = full_case(tmp_path / "plain")
    plain.documents["system/thermals.json"]["thermals"][1]["bus_id"] = 9
    plain.documents["system/lines.json"]["lines"][0]["target_bus_id"] = 9
    mixed = full_case(tmp_path / "mixed")
    mixed.documents = {name: shuffled(copy.deepcopy(each), chance) for name, each in plain.documents.items()}
    assert set(validate(plain.write()).errors) == set(validate(mixed.write()).errors)

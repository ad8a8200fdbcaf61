from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from cobre.core.digest import digest


@dataclass(frozen=True)
class Holder:
    value: Any


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (0.0, -0.0),
        (1, 1.0),
        (True, 1),
        ("1", 1),
        (None, 0),
        ((1, 2), (2, 1)),
        ((1, (2,)), (1, 2)),
        ("ab", "a"),
        (np.array([1.0]), np.array([1])),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        ({"a": 1}, {"b": 1}),
    ],
)
def test_one_changed_bit_changes_the_digest(first, second):
    assert digest(Holder(first)) != digest(Holder(second))


def test_the_same_is_the_same():
    assert digest(Holder(np.array([np.nan, 1.0]))) == digest(Holder(np.array([np.nan, 1.0])))
    assert digest({"a": 1, "b": 2.5}) == digest({"b": 2.5, "a": 1})
    columns_first = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert digest(columns_first) == digest(np.arange(6.0).reshape(2, 3))


def test_an_unknown_thing_is_refused():
    with pytest.raises(TypeError, match="object"):
        digest(Holder(object()))

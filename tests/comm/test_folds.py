"""Folds are compared with NumPy's own arithmetic, step by step in rank order, on bytes."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.comm import InvalidBufferSize, ReduceOp
from cobre.comm.arguments import fold_in_rank_order

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
COMPLEX = ["c8", "c16"]
LENGTHS = [1, 2, 7, 511, 512, 513, 2048, 4099]


def _rows(dtype: str, ranks: int, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng([ranks, count])
    raw = rng.integers(0, 256, size=(ranks, count * np.dtype(dtype).itemsize), dtype=np.uint8)
    if dtype == "?":
        raw &= 1
    return [row.view(dtype) for row in raw]


def _sum(acc, row):
    with np.errstate(all="ignore"):
        return (acc + row).astype(acc.dtype)


def _min(acc, row):
    return np.where((row < acc) | (np.isnan(row) & ~np.isnan(acc)), row, acc)


def _max(acc, row):
    return np.where((row > acc) | (np.isnan(row) & ~np.isnan(acc)), row, acc)


def _expect(rows, step):
    acc = rows[0].copy()
    for row in rows[1:]:
        acc = step(acc, row)
    return acc


def _fold(rows, op):
    out = np.empty_like(rows[0])
    fold_in_rank_order(rows, out, op)
    return out


@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_and_order(dtype, ranks, count):
    rows = _rows(dtype, ranks, count)
    assert _fold(rows, "sum").tobytes() == _expect(rows, _sum).tobytes()
    assert _fold(rows, "min").tobytes() == np.minimum.reduce(rows).tobytes()
    assert _fold(rows, "max").tobytes() == np.maximum.reduce(rows).tobytes()


@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_of_any_bits_fold_to_the_same_bits_as_one_step_at_a_time(dtype, ranks, count):
    rows = _rows(dtype, ranks, count)  # random bits: NaNs, infinities and subnormals among them
    assert _fold(rows, ReduceOp.MIN).tobytes() == _expect(rows, _min).tobytes()
    assert _fold(rows, ReduceOp.MAX).tobytes() == _expect(rows, _max).tobytes()
    got, wanted = _fold(rows, ReduceOp.SUM), _expect(rows, _sum)
    nan = np.isnan(wanted)
    assert (np.isnan(got) == nan).all()
    assert got[~nan].tobytes() == wanted[~nan].tobytes()


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_sum_by_parts(dtype):
    rng = np.random.default_rng(5)
    rows = [(rng.normal(size=1009) + 1j * rng.normal(size=1009)).astype(dtype) for _ in range(5)]
    assert _fold(rows, "sum").tobytes() == _expect(rows, _sum).tobytes()
    with pytest.raises(TypeError, match="no order"):
        _fold(rows, "min")


def test_bool_sums_to_or_and_any_nonzero_byte_is_true():
    rows = [np.array([0, 1, 0, 7], "u1").view("?"), np.array([0, 0, 2, 1], "u1").view("?")]
    assert _fold(rows, "sum").view("u1").tolist() == [0, 1, 1, 1]
    assert _fold(rows, "max").view("u1").tolist() == [0, 1, 1, 1]
    assert _fold(rows, "min").view("u1").tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(("dtype", "bits"), [("f2", "u2"), ("f4", "u4"), ("f8", "u8")])
@pytest.mark.parametrize("count", [1, 7, 2048, 4099])
def test_of_two_nans_a_sum_keeps_the_lower_rank_s_and_makes_it_quiet(dtype, bits, count):
    quiet_bit = {"u2": 1 << 9, "u4": 1 << 22, "u8": 1 << 51}[bits]
    infinity = int(np.array([np.inf], dtype).view(bits)[0])
    first = np.full(count, infinity | 5, bits).view(dtype)  # signalling
    second = np.full(count, infinity | quiet_bit | 9, bits).view(dtype)
    one = np.ones(count, dtype)
    for rows, payload in (
        ([first, second], 5),
        ([second, first], 9),
        ([one, first], 5),
        ([first, one, second], 5),
    ):
        assert (_fold(rows, "sum").view(bits) == (infinity | quiet_bit | payload)).all()
    for rows in ([first, second], [one, first, second]):  # MIN and MAX keep the very bits
        assert (_fold(rows, "min").view(bits) == (infinity | 5)).all()
        assert (_fold(rows, "max").view(bits) == (infinity | 5)).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_equal_zeros_keep_the_lower_rank_s_sign(dtype):
    plus, minus = np.zeros(9, dtype), -np.zeros(9, dtype)
    for op in ("min", "max"):
        assert _fold([plus, minus], op).tobytes() == plus.tobytes()
        assert _fold([minus, plus], op).tobytes() == minus.tobytes()


def test_every_float16_sum_rounds_as_numpy_s():
    values = np.arange(1 << 16, dtype="u2").view("f2")
    for other in (0.1, 65504.0, 6e-8, -1.0, 2049.0):
        rows = [values, np.full_like(values, other)]
        got, wanted = _fold(rows, "sum"), _expect(rows, _sum)
        finite = ~np.isnan(wanted)
        assert got[finite].tobytes() == wanted[finite].tobytes()


def test_order_matters_and_is_the_ranks():
    rows = [np.array([1e16]), np.array([1.0]), np.array([-1e16])]
    assert _fold(rows, "sum")[0] == 0.0
    assert _fold([rows[0], rows[2], rows[1]], "sum")[0] == 1.0


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_result_may_replace_any_input(place):
    rows = _rows("i8", 3, 5001)
    wanted = _expect(rows, _sum)
    fold_in_rank_order(rows, rows[place], "sum")
    assert rows[place].tobytes() == wanted.tobytes()


def test_unaligned_memory_folds():
    rows = [np.frombuffer(bytearray(8 * 600 + 1), "f8", offset=1) for _ in range(2)]
    rows[0][:] = np.arange(600)
    rows[1][:] = 0.5
    out = np.frombuffer(bytearray(8 * 600 + 3), "f8", offset=3)
    fold_in_rank_order(rows, out, "sum")
    assert out.tobytes() == (np.arange(600) + 0.5).tobytes()


def test_parts_created_on_access_stay_alive():
    class Fresh:
        def __len__(self):
            return 3

        def __getitem__(self, rank):
            if rank > 2:
                raise IndexError
            return np.full(1 << 16, float(rank + 1))

    out = np.empty(1 << 16)
    fold_in_rank_order(Fresh(), out, "sum")
    assert (out == 6.0).all()


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(InvalidBufferSize):
        fold_in_rank_order([np.zeros(3), np.zeros(4)], np.zeros(3), "sum")
    with pytest.raises(TypeError):
        fold_in_rank_order([np.zeros(3), np.zeros(3, "f4")], np.zeros(3), "sum")
    with pytest.raises(ValueError, match="no parts"):
        fold_in_rank_order([], np.zeros(3), "sum")

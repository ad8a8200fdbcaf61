"""The checks that every backend calls. What they must refuse is in the kit; here is how they say it."""

from __future__ import annotations

import array
import ctypes
import mmap
import sys

import ml_dtypes
import numpy as np
import pytest

from cobre.comm import InvalidBufferSize, InvalidRoot, arguments


def test_a_wrong_size_is_refused_with_numbers_and_a_remedy():
    with pytest.raises(InvalidBufferSize) as caught:
        arguments.check_allgatherv(np.zeros(2), np.zeros(9), [4, 3, 2, 1], [0, 4, 7, 9], 2, 4)
    assert str(caught.value) == (
        "recv holds 9 elements but the counts need 10 (allgatherv, rank 2 of 4)\n"
        "  fix: allocate numpy.empty(10, dtype='float64')"
    )
    assert (caught.value.operation, caught.value.expected, caught.value.actual) == ("allgatherv", 10, 9)


@pytest.mark.parametrize(
    "counts",
    [[2, 3], (2, 3), np.array([2, 3]), np.array([2, 3], dtype=np.uint8), np.array([2, 3], dtype=">i4"),
     array.array("i", [2, 3]), range(2, 4), [np.int16(2), 3], np.array([9, 2, 9, 3])[1::2]],
    ids=lambda c: f"{type(c).__name__}",
)  # fmt: skip
def test_counts_may_be_any_sequence_or_integer_array(counts):
    assert arguments.check_allgatherv(np.zeros(3), np.zeros(5), counts, [0, 2], 1, 2) == ([2, 3], [0, 2])


@pytest.mark.parametrize(
    "counts",
    [[2.0, 3], ["2", 3], [None, 3], np.array([2.0, 3.0]), np.array([True, False]), np.array([[2, 3]]), {2, 3}, 5, None,
     {2: 1, 3: 1}, pytest.param(iter([2, 3]), id="iterator"), "23"],
    ids=repr,
)  # fmt: skip
def test_counts_of_another_kind_are_type_errors_that_name_the_fix(counts):
    with pytest.raises(TypeError, match=r"counts(.|\n)*fix: "):
        arguments.check_allgatherv(np.zeros(3), np.zeros(5), counts, [0, 2], 1, 2)


@pytest.mark.parametrize("huge", [2**32, 2**62, 2**63 - 1, 2**63, 10**30, -(2**63), -(10**30)])
def test_numbers_beyond_any_memory_are_refused_without_overflow(huge):
    for counts, displs in (([2, huge], [0, 2]), ([2, 3], [0, huge]), ([huge, huge], [huge, huge])):
        with pytest.raises(InvalidBufferSize):
            arguments.check_allgatherv(np.zeros(3), np.zeros(5), counts, displs, 1, 2)
    with pytest.raises(InvalidRoot) as caught:
        arguments.check_broadcast(np.zeros(1), huge, 0, 2)
    assert caught.value.root == huge


def test_a_uint64_count_above_the_signed_range_is_too_large_not_negative():
    with pytest.raises(InvalidBufferSize, match="more than any memory"):
        arguments.check_allgatherv(
            np.zeros(3), np.zeros(5), np.array([2, 2**64 - 1], dtype=np.uint64), [0, 2], 1, 2
        )


@pytest.mark.parametrize(
    ("buffer", "signature"),
    [
        (bytearray(b"ab"), "uint8"),
        (b"ab", "uint8"),
        (memoryview(b"abcd").cast("i"), "int32"),
        (array.array("d", [1.0]), "float64"),
        (array.array("q", [1]), "int64"),
        ((ctypes.c_float * 2)(), "float32"),
        (np.zeros(2, dtype="?"), "bool"),
        (np.zeros(2, dtype=np.longlong), "int64"),
        (np.zeros(2, dtype="c16"), "complex128"),
        (np.zeros(2, dtype=">f8" if sys.byteorder == "little" else "<f8"), "byte-swapped float64"),
        (np.float32(3), "float32"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_any_buffer_is_taken_with_its_own_dtype(buffer, signature):
    assert arguments.dtype_signature(buffer) == signature


def test_a_memory_map_is_a_buffer():
    with mmap.mmap(-1, 64) as mapping:
        arguments.fold_in_rank_order([bytes(range(64)), bytes(range(64))], mapping, "max")
        assert mapping[:] == bytes(range(64))


def test_a_buffer_is_released_after_the_call():
    growing = bytearray(8)
    arguments.check_broadcast(growing, 0, 0, 1)
    with pytest.raises(TypeError):
        arguments.check_allreduce(growing, np.zeros(8), "sum", 0, 1)
    growing.append(1)  # BufferError if anything still exported it


@pytest.mark.parametrize(
    "buffer",
    [[1.0, 2.0], 3.0, None, "text", np.array([object()]), np.array(["a"]), np.array([b"a"]), np.zeros(1, "M8[s]"),
     np.zeros(1, "V8"), np.zeros(1, [("a", "O")]), np.zeros(1, [("a", "S3"), ("b", "f8")])],
    ids=lambda b: type(b).__name__ + str(getattr(b, "dtype", "")),
)  # fmt: skip
def test_unsupported_buffers_are_type_errors_that_name_the_fix(buffer):
    with pytest.raises(TypeError, match="\n  fix: "):
        arguments.check_broadcast(buffer, 0, 0, 1)


@pytest.mark.parametrize("strided", [np.zeros((4, 4))[:, 1], np.zeros((3, 4)).T, np.zeros(6)[::-1]])
def test_strides_are_refused(strided):
    with pytest.raises(TypeError, match="not C-contiguous"):
        arguments.check_broadcast(strided, 0, 0, 1)
    with pytest.raises(TypeError, match="not C-contiguous"):
        arguments.check_broadcast(memoryview(strided), 0, 0, 1)


def test_only_the_root_s_buffer_may_be_read_only():
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    assert arguments.check_broadcast(frozen, 1, 1, 2) == 1
    with pytest.raises(TypeError, match="buf is read-only"):
        arguments.check_broadcast(frozen, 0, 1, 2)
    with pytest.raises(TypeError, match="recv is read-only"):
        arguments.check_allreduce(np.zeros(3), frozen, "sum", 0, 2)
    with pytest.raises(TypeError, match="recv is read-only"):
        arguments.check_allgatherv(np.zeros(3), frozen, [3, 0], [0, 3], 0, 2)
    arguments.check_allreduce(frozen, np.zeros(3), "sum", 0, 2)


RECORD = np.dtype([("id", "i4"), ("flow", "f8", (2,)), ("nested", [("a", "?"), ("b", "c8")])])


@pytest.mark.parametrize(
    "other",
    [
        np.dtype([("id", "i4"), ("flow", "f8", (2,)), ("nested", [("a", "?"), ("z", "c8")])]),
        np.dtype([("id", "u4"), ("flow", "f8", (2,)), ("nested", [("a", "?"), ("b", "c8")])]),
        np.dtype([("id", "i4"), ("flow", "f8", (1, 2)), ("nested", [("a", "?"), ("b", "c8")])]),
        np.dtype([("flow", "f8", (2,)), ("id", "i4"), ("nested", [("a", "?"), ("b", "c8")])]),
        np.dtype([("id", ">i4" if sys.byteorder == "little" else "<i4"), *RECORD.descr[1:]]),
        np.dtype(RECORD.descr, align=True),
    ],
    ids=["field name", "field kind", "field shape", "field order", "byte order", "padding"],
)
def test_records_that_differ_anywhere_are_different(other):
    assert arguments.dtype_signature(np.zeros(1, RECORD)) == arguments.dtype_signature(
        np.zeros(5, np.dtype(RECORD.descr))
    )
    assert arguments.dtype_signature(np.zeros(1, RECORD)) != arguments.dtype_signature(np.zeros(1, other))
    with pytest.raises(TypeError, match="recv holds record"):
        arguments.check_allgatherv(np.zeros(1, RECORD), np.zeros(1, other), [1], [0], 0, 1)


def test_of_several_faults_the_same_one_is_reported_whatever_the_backend():
    frozen = np.zeros(1)
    frozen.flags.writeable = False
    with pytest.raises(TypeError, match="send holds float32"):
        arguments.check_allgatherv(np.zeros(9, "f4"), frozen, [1, 2], [-1, 0], 0, 2)
    with pytest.raises(InvalidBufferSize, match="counts has 3 entries"):
        arguments.check_allgatherv(np.zeros(9, "f4"), frozen, [1, 2, 3], [-1], 0, 2)
    with pytest.raises(ValueError, match="not a reduction"):
        arguments.check_allreduce(np.zeros(3), np.zeros(2), "mean", 0, 2)


@pytest.mark.parametrize("op", ["mean", "SUM", "", None, 0, b"sum"])
def test_unknown_reductions_are_value_errors(op):
    with pytest.raises(ValueError, match="use ReduceOp"):
        arguments.check_allreduce(np.zeros(1), np.zeros(1), op, 0, 1)


def test_in_place_is_exactly_the_part_or_the_whole():
    recv = np.zeros(10)
    arguments.check_allgatherv(recv[3:7], recv, [3, 4, 3], [0, 3, 7], 1, 3)
    arguments.check_allreduce(recv, recv, "sum", 1, 3)
    arguments.check_allgatherv(recv[5:5], recv, [3, 0, 3], [0, 3, 7], 1, 3)
    for send in (recv[2:6], recv[4:8]):
        with pytest.raises(ValueError, match="share memory"):
            arguments.check_allgatherv(send, recv, [3, 4, 3], [0, 3, 7], 1, 3)
    with pytest.raises(ValueError, match="share memory"):  # in a gap: still the same memory
        arguments.check_allgatherv(recv[8:10], recv, [3, 2, 2], [0, 3, 5], 1, 3)
    both = np.zeros(11)
    with pytest.raises(ValueError, match="share memory"):
        arguments.check_allreduce(both[:10], both[1:], "sum", 0, 2)


def test_a_list_that_shrinks_while_it_is_read_is_an_error_not_a_crash():
    counts = []

    class Shrinks:
        def __index__(self):
            counts.clear()
            return 1

    counts += [Shrinks(), 1, 1, 1]
    with pytest.raises(TypeError, match="changed while it was read"):
        arguments.check_allgatherv(np.zeros(1), np.zeros(4), counts, [0, 1, 2, 3], 0, 4)


def test_an_item_that_frees_itself_and_fails_is_an_error_not_a_crash():
    counts = []

    class Vanishes:
        def __index__(self):
            counts.clear()
            raise TypeError("gone")

    counts.append(Vanishes())
    with pytest.raises(TypeError, match="Vanishes"):
        arguments.check_allgatherv(np.zeros(1), np.zeros(1), counts, [0], 0, 1)


def test_arrays_that_reading_the_counts_changes_are_read_afterwards():
    recv = np.zeros(100)

    class Shrinks:
        def __index__(self):
            recv.resize(1, refcheck=False)
            return 100

    with pytest.raises(InvalidBufferSize, match="recv holds 1 element"):
        arguments.check_allgatherv(np.zeros(100), recv, [Shrinks()], [0], 0, 1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ZeroDivisionError])
def test_exceptions_of_the_caller_s_objects_are_passed_on(error):
    class Raises:
        def __index__(self):
            raise error("mine")

    with pytest.raises(error, match="mine"):
        arguments.check_broadcast(np.zeros(1), Raises(), 0, 1)
    with pytest.raises(error, match="mine"):
        arguments.check_allgatherv(np.zeros(1), np.zeros(1), [Raises()], [0], 0, 1)


def test_the_length_of_counts_is_checked_before_they_are_read():
    with pytest.raises(InvalidBufferSize, match="counts has 1000000000000 entries"):
        arguments.check_allgatherv(np.zeros(1), np.zeros(1), range(10**12), [0], 0, 1)


def test_a_masked_array_is_refused_because_its_mask_would_be_lost():
    with pytest.raises(TypeError, match=r"mask(.|\n)*filled"):
        arguments.check_broadcast(np.ma.masked_array([1.0, 2.0], mask=[True, False]), 0, 0, 1)


def test_records_with_a_field_called_mask_are_no_masked_array():
    records = np.rec.array([(1, 2.0)], dtype=[("mask", "i4"), ("value", "f8")])
    assert arguments.check_broadcast(records, 0, 0, 1) == 0


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.float8_e5m2, ml_dtypes.bfloat16, [("x", ml_dtypes.float8_e5m2)]], ids=str
)
def test_another_library_s_numbers_are_refused_whatever_their_kind(dtype):
    """float8_e5m2 has NumPy's kind 'f' in a single byte: folded as float64 it would write far behind ``out``."""
    memory = np.full(1024, 9, np.uint8)
    parts = [np.ones(64, np.uint8).view(dtype) for _ in range(2)]
    with pytest.raises(TypeError, match="cannot be sent(.|\n)*fix: "):
        arguments.fold_in_rank_order(parts, memory[128:192].view(dtype), "sum")
    with pytest.raises(TypeError, match="cannot be sent(.|\n)*fix: "):
        arguments.check_broadcast(parts[0], 0, 0, 1)
    assert (memory == 9).all()


@pytest.mark.parametrize("dtype", [[("a", "i4"), ("b", "f8")], ">f8" if sys.byteorder == "little" else "<f8"])
def test_the_suggested_allocation_can_be_typed_in(dtype):
    send = np.zeros(3, dtype)
    with pytest.raises(InvalidBufferSize) as caught:
        arguments.check_allgatherv(send, send[:2].copy(), [3], [0], 0, 1)
    code = caught.value.suggestion.removeprefix("allocate ")
    made = eval(code, {"numpy": np, "send": send})
    arguments.check_allgatherv(send, made, [3], [0], 0, 1)


@pytest.mark.parametrize(("rank", "size"), [(2, 2), (5, 2), (-1, 2), (0, 0), (0, -1)])
def test_a_backend_that_is_wrong_about_its_own_rank_is_reported(rank, size):
    """The rank indexes counts: 5 of 2 would read whatever lies behind them."""
    data, each = np.zeros(4), [0] * max(size, 0)
    for call in (
        lambda: arguments.check_allgatherv(data, data, each, each, rank, size),
        lambda: arguments.check_allreduce(data, data, "sum", rank, size),
        lambda: arguments.check_broadcast(data, 0, rank, size),
    ):
        with pytest.raises(ValueError, match=r"rank (.|\n)*fix: "):
            call()


def test_every_text_names_rank_and_operation():
    for call in (
        lambda: arguments.check_broadcast([1.0], 0, 2, 4),
        lambda: arguments.check_broadcast(np.zeros(1), 10**30, 2, 4),
        lambda: arguments.check_broadcast(np.zeros(1), "\ud800", 2, 4),
        lambda: arguments.check_broadcast(np.array(["text"]), 2, 2, 4),
    ):
        with pytest.raises((TypeError, InvalidRoot), match=r"\(broadcast, rank 2 of 4\)"):
            call()


def test_flat_arrays_share_memory():
    cube = np.zeros((2, 3, 4))
    assert np.shares_memory(arguments.as_flat_array(cube), cube)
    assert arguments.as_flat_array(cube).shape == (24,)
    raw = bytearray(4)
    arguments.as_flat_array(raw)[1] = 7
    assert raw[1] == 7

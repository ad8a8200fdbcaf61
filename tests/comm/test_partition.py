from __future__ import annotations

import numpy as np
import pytest

from cobre.comm import block_layout, contiguous_block


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 31])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 64, 1009])
def test_blocks_cover_everything_once_in_order_and_differ_by_at_most_one(n, size):
    blocks = [contiguous_block(n, rank, size) for rank in range(size)]
    assert [i for start, count in blocks for i in range(start, start + count)] == list(range(n))
    counts = [count for _, count in blocks]
    assert max(counts) - min(counts) <= 1
    assert counts == sorted(counts, reverse=True)
    assert block_layout(n, size) == (counts, [start for start, _ in blocks])


def test_numpy_integers_are_whole_numbers_and_the_answer_is_plain_ints():
    start, count = contiguous_block(np.int64(10), np.int32(1), np.uint8(4))
    assert (start, count) == (3, 3)
    assert type(start) is int
    assert type(count) is int


@pytest.mark.parametrize(("n", "rank", "size"), [(-1, 0, 1), (5, 0, 0), (5, 2, 2), (5, -1, 2)])
def test_impossible_splits_are_refused(n, rank, size):
    with pytest.raises(ValueError, match="rank|split"):
        contiguous_block(n, rank, size)


def test_a_layout_over_no_ranks_is_refused():
    with pytest.raises(ValueError, match="0 ranks"):
        block_layout(5, 0)


def test_block_counts_must_be_integers():
    with pytest.raises(TypeError):
        contiguous_block(2.5, 0, 1)

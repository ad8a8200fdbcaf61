"""Openings that stand for the clusters of a large sample."""

from __future__ import annotations

import numpy as np
import pytest

from cobre._native import noise
from cobre.comm import contiguous_block
from cobre.core.scenarios import Correlation, CorrelationGroup
from cobre.stochastic import Correlator, NoiseEntities, TreeLayout, generate_tree
from cobre.stochastic.openings import SAMPLE_PER_OPENING
from noise_recipe import months, stage


def _reduce(sample, n, seed=7):
    members, shares = np.empty(n, dtype=np.uint32), np.empty(n)
    noise.reduce(seed, sample, members, shares)
    return members, shares


def _owners(sample, centres):
    return np.argmin(((sample[:, None] - centres[None]) ** 2).sum(axis=2), axis=1)


def test_separate_clusters_are_found_with_their_shares():
    generator = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    sizes = [10, 20, 30, 40]
    sample = np.concatenate(
        [centre + 0.1 * generator.normal(size=(n, 2)) for centre, n in zip(centres, sizes, strict=True)]
    )
    members, shares = _reduce(sample, 4)
    assert shares.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert _owners(sample[members], centres).tolist() == [0, 1, 2, 3]


def test_the_clusters_are_a_fixed_point_and_their_nearest_members_stand_for_them():
    sample = np.random.default_rng(1).normal(size=(500, 3))
    members, shares = _reduce(sample, 9)
    centres = sample[members]
    for _ in range(100):
        owners = _owners(sample, centres)
        centres = np.array([sample[owners == c].mean(axis=0) for c in range(9)])
    assert np.bincount(owners) / 500 == pytest.approx(shares, abs=0.03)


def test_as_many_members_as_rows_are_all_rows():
    sample = np.random.default_rng(2).normal(size=(11, 2))
    members, shares = _reduce(sample, 11)
    assert members.tolist() == list(range(11))
    assert shares.tolist() == [1 / 11] * 11


def test_one_member_is_the_row_nearest_the_mean():
    sample = np.random.default_rng(3).normal(size=(50, 4))
    members, shares = _reduce(sample, 1)
    assert members[0] == np.argmin(((sample - sample.mean(axis=0)) ** 2).sum(axis=1))
    assert shares.tolist() == [1.0]


@pytest.mark.parametrize(
    ("rows", "columns", "n", "n_shares", "message"),
    [(3, 2, 4, 4, "smaller than its reduction"), (9, 0, 2, 2, "no columns"), (9, 2, 2, 3, "needs a share")],
)
def test_a_reduction_that_cannot_be_is_refused(rows, columns, n, n_shares, message):
    with pytest.raises(ValueError, match=message):
        noise.reduce(1, np.zeros((rows, columns)), np.empty(n, dtype=np.uint32), np.empty(n_shares))


def _stages():
    weeks = [
        stage(
            i,
            f"2024-01-{1 + 7 * i:02}",
            f"2024-01-{8 + 7 * i:02}",
            0,
            n_openings=5,
            sampling_method="selective",
        )
        for i in range(2)
    ]
    return [
        *weeks,
        stage(2, "2024-02-01", "2024-03-01", 1, n_openings=4),
        stage(3, "2024-03-01", "2024-04-01", 2, n_openings=6, sampling_method="selective"),
    ]


def test_a_selective_stage_has_members_of_its_sample_and_their_probabilities():
    stages = _stages()
    tree = generate_tree(5, stages, 3)
    sample = generate_tree(
        5, [stage(3, "2024-03-01", "2024-04-01", 2, n_openings=6 * SAMPLE_PER_OPENING)], 3
    ).stage(0)
    assert all((row == sample).all(axis=1).any() for row in tree.stage(3))
    weights = tree.weights(3)
    assert weights is not None
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 0.0).all()
    assert tree.weights(2) is None
    assert tree.weights(1).tolist() == tree.weights(0).tolist()
    assert tree.stage(1).tolist() == tree.stage(0).tolist()


def test_the_openings_of_a_selective_stage_are_spread_wider_than_as_many_draws():
    """The distance of a draw to the nearest opening is what k-means makes small."""
    stages = [
        stage(0, "2024-01-01", "2024-02-01", 0, n_openings=20, sampling_method=m)
        for m in ("selective", "saa")
    ]
    draws = np.random.default_rng(0).normal(size=(4000, 3))
    error = []
    for each in stages:
        rows = generate_tree(5, [each], 3).stage(0)
        error.append(np.sqrt(((draws[:, None] - rows[None]) ** 2).sum(axis=2)).min(axis=1).mean())
    assert error[0] < 0.85 * error[1]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_any_split_over_ranks_gives_the_same_openings_and_probabilities(size):
    stages, n = _stages(), 3
    matrix = tuple(tuple(1.0 if i == j else 0.5 for j in range(n)) for i in range(n))
    group = CorrelationGroup("all", tuple(("inflow", i) for i in range(n)), matrix)
    correlator = Correlator(Correlation({"default": (group,)}, "default"), NoiseEntities(n))
    whole = generate_tree(77, stages, n, correlator)
    parts = np.full(TreeLayout.of(stages, n).size, np.nan)
    for rank in reversed(range(size)):
        first, count = contiguous_block(len(stages), rank, size)
        generate_tree(77, stages, n, correlator, out=parts, block=range(first, first + count))
    assert parts.tobytes() == whole.values.tobytes()


def test_without_entities_a_selective_stage_has_equally_likely_openings():
    tree = generate_tree(5, months(1, n_openings=4, sampling_method="selective"), 0)
    assert tree.weights(0) is None

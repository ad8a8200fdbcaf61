"""Correlation of residuals between plants."""

from __future__ import annotations

import numpy as np
import pytest

from cobre._native import noise
from cobre.stochastic.fitting.spatial import correlation_matrix, repaired


def test_correlations_are_pearson_s_over_the_dates_that_both_have():
    values = np.random.default_rng(5).normal(size=(4, 50))
    values[1, :10] = np.nan
    values[2, 40:] = np.nan
    found, common = correlation_matrix(values)
    for i in range(4):
        for j in range(4):
            both = ~np.isnan(values[i]) & ~np.isnan(values[j])
            assert found[i, j] == pytest.approx(np.corrcoef(values[i, both], values[j, both])[0, 1])
    assert np.array_equal(np.diagonal(found), np.ones(4))
    assert np.array_equal(found, found.T)
    assert common.tolist() == [
        [50, 40, 40, 50], [40, 40, 30, 40], [40, 30, 40, 40], [50, 40, 40, 50]
    ]  # fmt: skip


def test_a_constant_plant_has_no_correlation():
    values = np.random.default_rng(5).normal(size=(2, 9))
    values[1] = 0.0
    assert correlation_matrix(values)[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_fewer_than_two_common_dates_give_zero():
    values = np.array([[1.0, 2.0, np.nan, np.nan], [np.nan, 1.0, 4.0, 3.0]])
    assert correlation_matrix(values)[0][0, 1] == 0.0


def test_a_matrix_that_contradicts_itself_is_replaced_by_one_that_does_not():
    wrong = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]])
    found = repaired(wrong)
    assert found.smallest_eigenvalue == pytest.approx(float(np.linalg.eigvalsh(wrong)[0]))
    assert np.linalg.eigvalsh(found.matrix)[0] > -1e-12
    assert np.array_equal(np.diagonal(found.matrix), np.ones(3))
    assert np.array_equal(found.matrix, found.matrix.T)
    assert np.sign(found.matrix).tolist() == np.sign(wrong).tolist()


def test_the_root_of_a_matrix_with_a_negative_eigenvalue_leaves_it_out():
    for entry, expected in ((2.0, [[1.5, 1.5], [1.5, 1.5]]), (0.8, [[1.0, 0.8], [0.8, 1.0]])):
        root = np.empty((2, 2))
        noise.square_root(np.array([[1.0, entry], [entry, 1.0]]), root)
        assert np.abs(root @ root - np.array(expected)).max() < 1e-14
    assert root[0].tolist() == pytest.approx([0.894427190999916, 0.447213595499958], rel=1e-14)


def test_a_proper_matrix_stays_to_the_bit_also_where_it_is_singular():
    values = np.random.default_rng(7).normal(size=(8, 5))
    proper, _ = correlation_matrix(values)
    found = repaired(proper)
    assert found.smallest_eigenvalue is None
    assert found.matrix is proper

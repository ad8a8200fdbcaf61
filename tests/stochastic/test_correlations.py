from __future__ import annotations

import math

import numpy as np
import pytest

from cobre._native import noise
from cobre.core.config import ScenarioSource
from cobre.core.scenarios import Correlation, CorrelationGroup
from cobre.errors import ValidationError
from cobre.stochastic import Correlator, ForwardSampler, NoiseEntities, generate_tree
from noise_recipe import months


def _group(entities, matrix, name="basin"):
    return CorrelationGroup(
        name, tuple(entities), tuple(map(tuple, np.asarray(matrix, dtype=float).tolist()))
    )


def _inflows(n):
    return [("inflow", i) for i in range(n)]


def _correlator(*groups, entities=None, n=4):
    return Correlator(Correlation({"default": groups}, "default"), entities or NoiseEntities(n))


def _root(matrix):
    """What a correlator does to unit vectors: D itself."""
    n = len(matrix)
    out = np.eye(n)
    _correlator(_group(_inflows(n), matrix), n=n).apply(0, out)
    return out


def _random_correlation(n, seed):
    return np.corrcoef(np.random.default_rng(seed).normal(size=(n, n + 3)))


def test_the_factor_of_two_entities_is_the_one_on_paper():
    rho = 0.6
    a, b = math.sqrt(1 + rho), math.sqrt(1 - rho)
    expected = [[(a + b) / 2, (a - b) / 2], [(a - b) / 2, (a + b) / 2]]
    assert _root([[1, rho], [rho, 1]]) == pytest.approx(np.array(expected), abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 17, 60])
def test_the_factor_is_the_symmetric_root(n):
    matrix = _random_correlation(n, n) if n > 1 else np.eye(1)
    root = _root(matrix)
    assert root == pytest.approx(root.T, abs=1e-14)
    assert np.linalg.eigvalsh(root).min() >= -1e-12
    assert root @ root == pytest.approx(matrix, abs=1e-12)


def test_a_singular_matrix_has_a_root():
    root = _root(np.ones((5, 5)))
    assert root == pytest.approx(
        np.full((5, 5), 1 / math.sqrt(5)), abs=2e-8
    )  # the root of an eigenvalue of 1e-16


def test_noise_of_a_matrix_with_a_negative_eigenvalue_still_has_variance_one():
    """The eigenvalue counts as 0, and every noise is scaled back to its deviation."""
    matrix = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    values, vectors = np.linalg.eigh(matrix)
    clipped = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
    scale = np.sqrt(np.diagonal(clipped))
    factor = _root(matrix).T  # row k of the root is what the k-th unit vector becomes
    assert factor @ factor.T == pytest.approx(clipped / np.outer(scale, scale), abs=1e-13)
    correlator = _correlator(_group(_inflows(3), matrix), n=3)
    assert correlator.smallest_eigenvalues()["default", "basin"] == pytest.approx(values[0])


def test_an_eigenvalue_that_rounding_made_negative_changes_no_bit():
    matrix = np.ones((3, 3))
    matrix[0, 1] = matrix[1, 0] = 1.0 - 1e-9
    plain = np.empty((3, 3))
    assert -1e-8 < noise.square_root(matrix, plain) < -1e-11
    assert _root(matrix).tobytes() == np.ascontiguousarray(plain.T).tobytes()


def test_the_correlation_is_found_again_in_the_noise():
    matrix = _random_correlation(4, 7)
    correlator = _correlator(_group(_inflows(4), matrix))
    for method in ("saa", "lhs"):
        tree = generate_tree(3, months(1, n_openings=40_000, sampling_method=method), 4, correlator)
        assert np.corrcoef(tree.stage(0).T) == pytest.approx(matrix, abs=0.02)
        assert tree.stage(0).std(axis=0) == pytest.approx(np.ones(4), abs=0.02)


def test_every_number_is_a_sum_in_the_order_of_positions():
    matrix = _random_correlation(7, 2)
    root, values = _root(matrix), np.random.default_rng(1).normal(size=(9, 7))
    out = values.copy()
    _correlator(_group(_inflows(7), matrix), n=7).apply(0, out)
    for row, z in zip(out, values, strict=True):
        for i in range(7):
            total = 0.0
            for j in range(7):
                total += root[j, i] * z[j]
            assert row[i] == total


def test_the_rows_beside_change_no_bit():
    correlator = _correlator(_group(_inflows(5), _random_correlation(5, 3)), n=5)
    values = np.random.default_rng(4).normal(size=(11, 5))
    together = values.copy()
    correlator.apply(0, together)
    for i in range(11):
        alone = values[i : i + 1].copy()
        correlator.apply(0, alone)
        assert alone.tobytes() == together[i : i + 1].tobytes()


def test_the_order_of_entities_in_a_group_changes_no_bit():
    matrix = _random_correlation(6, 8)
    order = [4, 0, 5, 2, 1, 3]
    shuffled = _group([("inflow", i) for i in order], matrix[np.ix_(order, order)])
    first, second = np.random.default_rng(0).normal(size=(2, 3, 6))
    second[:] = first
    _correlator(_group(_inflows(6), matrix), n=6).apply(0, first)
    _correlator(shuffled, n=6).apply(0, second)
    assert first.tobytes() == second.tobytes()


def test_entities_outside_groups_stay_as_they_are():
    correlator = _correlator(_group([("inflow", 3), ("inflow", 1)], [[1, 0.5], [0.5, 1]]))
    values = np.random.default_rng(0).normal(size=(3, 4))
    out = values.copy()
    correlator.apply(0, out)
    assert (out[:, [0, 2]] == values[:, [0, 2]]).all()
    assert (out[:, [1, 3]] != values[:, [1, 3]]).all()


def test_an_entity_without_noise_is_left_out_of_its_group():
    entities = NoiseEntities(2, load_buses=(7,), ncs_sources=(0,))
    matrix = _random_correlation(4, 1)
    members = [("load", 7), ("load", 3), ("inflow", 1), ("ncs", 0)]
    kept = [2, 0, 3]
    out = np.eye(4)
    _correlator(_group(members, matrix), entities=entities).apply(0, out)
    assert (out[1:, 1:] @ out[1:, 1:]) == pytest.approx(matrix[np.ix_(kept, kept)], abs=1e-14)
    assert out[0].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_stages_have_the_profile_they_are_scheduled_with():
    profiles = {
        "wet": (_group(_inflows(2), [[1, 0.9], [0.9, 1]]),),
        "dry": (_group(_inflows(2), [[1, -0.9], [-0.9, 1]]),),
    }
    correlator = Correlator(Correlation(profiles, "wet", {1: "dry"}), NoiseEntities(2))
    tree = generate_tree(1, months(3, n_openings=2000), 2, correlator)
    found = [np.corrcoef(tree.stage(t).T)[0, 1] for t in range(3)]
    assert found == pytest.approx([0.9, -0.9, 0.9], abs=0.03)
    source = ScenarioSource(inflow="out_of_sample", seed=1)
    sampler = ForwardSampler(tree, 1, months(3), NoiseEntities(2), source, 2000, correlator)
    fresh = sampler.sample(1, range(2000))
    assert [np.corrcoef(fresh[:, t].T)[0, 1] for t in range(3)] == pytest.approx([0.9, -0.9, 0.9], abs=0.03)


def test_only_the_classes_asked_for_are_correlated():
    entities = NoiseEntities(2, load_buses=(0, 1))
    matrix = [[1, 0.9], [0.9, 1]]
    groups = (_group(_inflows(2), matrix), _group((("load", 0), ("load", 1)), matrix))
    correlator = Correlator(Correlation({"default": groups}, "default"), entities)
    values = np.random.default_rng(0).normal(size=(5, 4))
    whole, inflows = values.copy(), values.copy()
    correlator.apply(0, whole)
    correlator.apply(0, inflows, ("inflow",))
    assert inflows[:, :2].tolist() == whole[:, :2].tolist()
    assert inflows[:, 2:].tolist() == values[:, 2:].tolist()


def test_the_root_has_the_pinned_values():
    root = _root(np.array([[1.0, 0.8], [0.8, 1.0]]))
    assert root[0] == pytest.approx([0.894427190999916, 0.447213595499958], abs=1e-15)
    assert root[1] == pytest.approx([0.447213595499958, 0.894427190999916], abs=1e-15)
    clipped = np.empty((2, 2))
    assert noise.square_root(np.array([[1.0, 2.0], [2.0, 1.0]]), clipped) == pytest.approx(-1.0)
    assert clipped @ clipped == pytest.approx(np.full((2, 2), 1.5))


def test_without_correlation_nothing_happens():
    values = np.ones((2, 3))
    Correlator(None, NoiseEntities(3)).apply(0, values)
    assert (values == 1.0).all()
    assert Correlator(None, NoiseEntities(3)).smallest_eigenvalues() == {}


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0]], "not 2 x 2 for 2 entities"),
        ([[1, 0.5, 0.1], [0.5, 1, 0.1]], "not 2 x 2 for 2 entities"),
        ([[1, np.nan], [0.5, 1]], "not finite"),
        ([[1, 0.5], [0.4, 1]], r"not symmetric: \[0\]\[1\] is 0.5 and \[1\]\[0\] is 0.4"),
        ([[1, 0.5], [0.5, 0.9]], r"has 0.9 at \[1\]\[1\]"),
        ([[1, 1.2], [1.2, 1]], r"has 1.2 at \[0\]\[1\]"),
    ],
)
def test_an_invalid_correlation_matrix_is_refused(matrix, message):
    group = CorrelationGroup("basin", (("inflow", 0), ("inflow", 1)), tuple(map(tuple, matrix)))
    with pytest.raises(ValidationError, match=message):
        _correlator(group)


def test_an_entity_in_two_groups_is_refused():
    both = _group(_inflows(2), np.eye(2), "north"), _group([("inflow", 1)], [[1.0]], "south")
    with pytest.raises(ValidationError, match="inflow 1 is in the correlation groups 'north' and 'south'"):
        _correlator(*both)


@pytest.mark.parametrize(("default", "schedule"), [("none", {}), ("wet", {2: "none"})])
def test_a_profile_that_does_not_exist_is_refused(default, schedule):
    with pytest.raises(ValidationError, match="profile 'none' is used but does not exist"):
        Correlator(Correlation({"wet": ()}, default, schedule), NoiseEntities(2))

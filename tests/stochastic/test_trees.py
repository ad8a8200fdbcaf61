from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest

import noise_recipe as recipe
from cobre.comm import contiguous_block
from cobre.core.scenarios import Correlation, CorrelationGroup, GivenOpenings
from cobre.errors import ValidationError
from cobre.stochastic import Correlator, NoiseEntities, TreeLayout, generate_tree, tree_from_rows
from noise_recipe import months, stage

GOLDEN = [  # seed 42, stage 0, three openings of two entities, as the public program pins them
    [4.0098936496495646e-1, 2.2792558815859804e-1],
    [-1.3954121776085244, -2.6939366921736746e-1],
    [8.3370317090563684e-1, -1.6199918031824887],
]


def _stages(*openings, **more):
    return [
        dataclasses.replace(s, n_openings=n)
        for s, n in zip(months(len(openings), **more), openings, strict=True)
    ]


def _correlator(n, rho):
    matrix = tuple(tuple(1.0 if i == j else rho for j in range(n)) for i in range(n))
    group = CorrelationGroup("all", tuple(("inflow", i) for i in range(n)), matrix)
    return Correlator(Correlation({"default": (group,)}, "default"), NoiseEntities(n))


def test_the_golden_values_of_the_format_come_out():
    assert generate_tree(42, _stages(3), 2).stage(0).tolist() == GOLDEN
    assert generate_tree(-42, _stages(3), 2).stage(0).tolist() == GOLDEN


def test_uncorrelated_groups_change_no_bit():
    assert generate_tree(42, _stages(3), 2, _correlator(2, 0.0)).stage(0).tolist() == GOLDEN


def test_independent_draws_agree_with_a_second_implementation():
    stages = [dataclasses.replace(s, id=10 * s.id + 3) for s in _stages(4, 1, 7)]
    tree = generate_tree(2**63 - 5, stages, 5)
    for t, s in enumerate(stages):
        assert tree.stage(t).tolist() == recipe.saa(2**63 - 5, s.id, s.n_openings, 5).tolist()


@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_a_latin_hypercube_agrees_with_a_second_implementation(n):
    tree = generate_tree(9, _stages(1, n, sampling_method="lhs"), 4)
    probabilities = recipe.lhs_probabilities(9, 1, n, 4)
    assert tree.stage(1).tolist() == [[recipe.moro(p) for p in row] for row in probabilities]


def test_a_latin_hypercube_meets_every_stratum_once():
    n = 100
    tree = generate_tree(5, _stages(n, sampling_method="lhs"), 8)
    edges = [recipe.moro(k / n) for k in range(1, n)]
    for column in tree.stage(0).T:
        assert sorted(np.searchsorted(edges, column).tolist()) == list(range(n))
    ranks = tree.stage(0).argsort(axis=0).argsort(axis=0)
    assert len({tuple(column) for column in ranks.T.tolist()}) == 8, "columns are shuffled apart"


def test_openings_may_differ_from_stage_to_stage():
    tree = generate_tree(1, _stages(3, 1, 5), 2)
    assert tree.layout.offsets.tolist() == [0, 6, 8, 18]
    assert [tree.stage(t).shape for t in range(3)] == [(3, 2), (1, 2), (5, 2)]
    assert tree.layout.size == 18


def test_a_following_stage_of_the_group_has_the_same_noise():
    january = [stage(i, "2024-01-01", "2024-01-08", 0, n_openings=n) for i, n in enumerate([4, 4, 2])]
    tree = generate_tree(3, january, 3)
    assert tree.stage(1).tolist() == tree.stage(0).tolist()
    assert tree.stage(2).tolist() == tree.stage(0)[:2].tolist()


def _mixed_stages():
    weeks = [stage(i, f"2024-01-{1 + i:02}", f"2024-01-{2 + i:02}", 0, n_openings=9) for i in range(5)]
    rest = [dataclasses.replace(s, id=s.id + 5, n_openings=3 + s.id) for s in months(6, first=1)]
    methods = ["lhs", "saa", "lhs", "saa", "saa", "lhs", "saa", "lhs", "saa", "saa", "lhs"]
    return [dataclasses.replace(s, sampling_method=m) for s, m in zip(weeks + rest, methods, strict=True)]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 11, 13])
def test_any_split_over_ranks_gives_the_same_bits(size):
    stages, n = _mixed_stages(), 6
    whole = generate_tree(77, stages, n, _correlator(n, 0.4))
    parts = np.full(TreeLayout.of(stages, n).size, np.nan)
    for rank in reversed(range(size)):
        first, count = contiguous_block(len(stages), rank, size)
        generate_tree(77, stages, n, _correlator(n, 0.4), out=parts, block=range(first, first + count))
    assert parts.tobytes() == whole.values.tobytes()


def test_the_bits_of_a_correlated_tree_are_pinned():
    tree = generate_tree(77, _mixed_stages(), 6, _correlator(6, 0.4))
    digest = hashlib.sha256(tree.values.astype("<f8").tobytes()).hexdigest()
    assert digest == "7aea48b1255f041ed16b53aff2372f579b53df9175f39ee0566df6f8d9b9c82f"


def test_stages_outside_the_block_are_not_touched():
    stages = _stages(2, 2, 2)
    out = np.full(12, 7.0)
    generate_tree(1, stages, 2, out=out, block=range(1, 2))
    assert (out[:4] == 7.0).all()
    assert (out[8:] == 7.0).all()
    assert (out[4:8] != 7.0).all()


def test_a_tree_without_entities_or_stages_is_empty():
    assert generate_tree(1, _stages(2, 2), 0).values.size == 0
    assert generate_tree(1, [], 3).values.size == 0


@pytest.mark.parametrize(
    "out", [np.empty(11), np.empty((6, 2)), np.empty(12, dtype=np.float32)], ids=["short", "2d", "float32"]
)
def test_an_array_of_another_shape_is_refused(out):
    with pytest.raises(ValueError, match="needs 12 float64 numbers"):
        generate_tree(1, _stages(3, 3), 2, out=out)


def test_a_method_that_does_not_exist_is_refused_by_name():
    stages = [*_stages(2), stage(4, "2024-02-01", "2024-03-01", 1, sampling_method="dice")]
    with pytest.raises(
        ValidationError, match="stage 4 has the sampling method 'dice': .*none of that name"
    ) as caught:
        generate_tree(1, stages, 2)
    assert caught.value.kind == "InvalidEnum"


def test_residuals_of_a_history_that_is_not_there_are_refused():
    stages = [*_stages(2), stage(4, "2024-02-01", "2024-03-01", 1, sampling_method="historical_residuals")]
    with pytest.raises(ValidationError, match="stage 4 .*there is no inflow history"):
        generate_tree(1, stages, 2)


def test_the_pinned_tree_of_seventy_correlated_entities_comes_out():
    tree = generate_tree(42, _stages(3, 3), 70, _correlator(70, 0.4))
    assert tree.stage(0)[0, :3].tolist() == [0.26194397866680236, 0.1278893535862456, -0.3972799719310779]
    assert [tree.stage(0)[2, 0], tree.stage(0)[2, -1]] == [0.4419855711800528, -0.11028973855554602]
    assert [tree.stage(1)[1, 0], tree.stage(1)[1, -1]] == [0.3115862118505541, 0.6537693182926507]


def test_a_stage_without_openings_is_refused():
    with pytest.raises(ValidationError, match="stage 1 has 0 openings"):
        generate_tree(1, _stages(2, 0), 2)


def _given(stages, n, seed=0):
    layout = TreeLayout.of(stages, n)
    rows = [(t, o, e) for t, s in enumerate(stages) for o in range(s.n_openings) for e in range(n)]
    values = np.random.default_rng(seed).normal(size=layout.size)
    order = np.random.default_rng(seed).permutation(len(rows))
    table = np.array(rows)[order]
    return GivenOpenings(table[:, 0], table[:, 1], table[:, 2], values[order]), values


def test_a_given_tree_is_taken_as_it_is_in_any_order_of_rows():
    stages = _stages(3, 1, 2)
    given, values = _given(stages, 4)
    tree = tree_from_rows(given, stages, 4)
    assert tree.values.tolist() == values.tolist()
    out = np.empty(24)
    assert tree_from_rows(given, stages, 4, out=out).values is out


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("stage", 3, "there is no such stage"),
        ("stage", -1, "there is no such stage"),
        ("opening", 3, "no such opening"),
        ("opening", -1, "no such opening"),
        ("entity", 4, "only 4 entities"),
        ("value", np.nan, "not finite"),
        ("value", np.inf, "not finite"),
    ],
)
def test_a_wrong_row_of_a_given_tree_is_named(column, value, message):
    stages = _stages(3, 3, 3)
    given, _ = _given(stages, 4)
    changed = getattr(given, column).copy()
    changed[5] = value
    given = dataclasses.replace(given, **{column: changed})
    with pytest.raises(ValidationError, match=f"noise_openings, stage .*: .*{message}"):
        tree_from_rows(given, stages, 4)


def test_a_repeated_and_a_missing_value_of_a_given_tree_are_named():
    stages = _stages(3, 3)
    given, _ = _given(stages, 2)

    def pick(rows):
        return GivenOpenings(given.stage[rows], given.opening[rows], given.entity[rows], given.value[rows])

    with pytest.raises(ValidationError, match="more than one value") as caught:
        tree_from_rows(pick(np.r_[np.arange(12), 3]), stages, 2)
    assert caught.value.kind == "DuplicateId"
    with pytest.raises(ValidationError, match="no value for stage .*; 1 of 12 values") as caught:
        tree_from_rows(pick(np.arange(11)), stages, 2)
    assert caught.value.kind == "CoverageMismatch"


def weighted(stages, n, probabilities):
    """A given tree whose openings of the last stage have these probabilities."""
    given, _ = _given(stages, n)
    is_last = given.stage == len(stages) - 1
    probability = np.where(
        is_last, np.array(probabilities)[np.minimum(given.opening, len(probabilities) - 1)], np.nan
    )
    return dataclasses.replace(given, probability=probability)


def test_a_given_tree_may_have_openings_of_different_probability():
    stages = _stages(2, 3)
    tree = tree_from_rows(weighted(stages, 2, [0.5, 0.3, 0.2]), stages, 2)
    assert tree.weights(0) is None
    assert tree.weights(1).tolist() == [0.5, 0.3, 0.2]
    assert tree.stage(0).shape == (2, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda values: values * 0.9, "add up to 0.9"),
        (
            lambda values: np.where(np.arange(len(values)) == np.nanargmax(values), np.nan, values),
            "missing, or another",
        ),
        (
            lambda values: np.where(np.arange(len(values)) == np.nanargmax(values), 0.1, values),
            "missing, or another",
        ),
    ],
)
def test_probabilities_of_given_openings_that_contradict_each_other_are_refused(change, message):
    stages = _stages(2, 3)
    given = weighted(stages, 2, [0.5, 0.3, 0.2])
    with pytest.raises(ValidationError, match=f"stage 1, .*{message}"):
        tree_from_rows(dataclasses.replace(given, probability=change(given.probability)), stages, 2)

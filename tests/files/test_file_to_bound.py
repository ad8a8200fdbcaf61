"""From a case directory to its bound, against the whole tree written as one program straight from the files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import cobre
from files.generator import FLAGS, NEEDS, SEEDS, draw_flags, write_case
from files.optimum import optimum
from files.rare_cases import OFF_THE_TREE, RARE
from matrices import IS_SOAK

OUT_OF_SAMPLE = (203, 209, 210, 211, 217) if IS_SOAK else (203, 211)
PATIENT = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 400}]}}


def test_the_seeds_cover_every_flag_twice():
    counts = Counter(flag for seed in SEEDS for flag in draw_flags(seed))
    assert {flag: counts[flag] for flag in FLAGS if counts[flag] < 2} == {}


def test_no_seed_draws_a_flag_without_what_it_needs():
    drawn = [draw_flags(seed) for seed in SEEDS]
    bare = [
        flag
        for flags in drawn
        for flag, needed in NEEDS.items()
        if flag in flags and flags.isdisjoint(needed)
    ]
    assert bare == []


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_of_a_random_case_is_its_optimum(tmp_path, seed):
    write_case(tmp_path, seed, draw_flags(seed))
    assert cobre.train(tmp_path).final_lower_bound == pytest.approx(optimum(tmp_path), rel=1e-6)


@pytest.mark.parametrize("name", RARE)
def test_the_bound_of_a_rare_case_is_its_optimum(tmp_path, name):
    RARE[name].write(tmp_path)
    assert cobre.train(tmp_path).final_lower_bound == pytest.approx(optimum(tmp_path), rel=1e-6)


@pytest.mark.parametrize("seed", OUT_OF_SAMPLE)
def test_the_bound_of_passes_out_of_sample_is_near_the_optimum_and_never_above(tmp_path, seed):
    write_case(tmp_path, seed, draw_flags(seed) | {"out_of_sample"})
    assert_near_and_never_above(tmp_path)


@pytest.mark.parametrize("name", list(OFF_THE_TREE)[: None if IS_SOAK else 1])
def test_the_bound_of_passes_off_the_tree_is_near_the_optimum_and_never_above(tmp_path, name):
    OFF_THE_TREE[name].write(tmp_path)
    assert_near_and_never_above(tmp_path)


def assert_near_and_never_above(folder: Path) -> None:
    """Trial points that are not those of the tree need more iterations: case 209 comes within 1e-5 after 400."""
    expected, found = optimum(folder), cobre.train(folder, config_overrides=PATIENT).final_lower_bound
    assert found == pytest.approx(expected, rel=1e-3)
    assert found <= expected + 1e-8 * abs(expected)

"""Random studies with time and trees: the public Cobre 0.18 ends with the same bound.

``COBRE_TEST_PUBLIC`` names its program. Trees of nodes are trained without it, too: their upper bound is exact.
"""

from __future__ import annotations

import pytest

import cobre
from format_018.mixtures import OTHERWISE, with_time
from format_018.plans import Optimum, draw
from format_018.public import needs_public, public_bound
from format_018.random_cases import random_case
from format_018.random_graphs import LONG, random_sampled, random_tree
from matrices import IS_SOAK

RELATIVE = 1e-6
MONEY = 0.02
"""Its costs are divided by 1e6 and its solver's tolerance is 1e-9: small studies are some cents off."""


def mixture(seed):
    """Elements of all kinds with time."""
    case = with_time(random_case(seed, leaves_out=OTHERWISE), seed, is_public=True)
    case.documents["config.json"]["training"]["stopping_rules"] = LONG
    return case


KINDS = {"mixture": mixture, "tree": random_tree, "graph": random_sampled}


@needs_public
@pytest.mark.parametrize("seed", range(100))
def test_a_study_with_time_has_the_same_bound(seed, tmp_path):
    """Or that of the other program that `Optimum` describes."""
    plan = draw(seed)
    folder = plan.write(tmp_path / "case")
    theirs, ours = public_bound(folder, tmp_path / "output"), cobre.train(folder).final_lower_bound
    assert ours == pytest.approx(Optimum(plan).value(), rel=RELATIVE)
    assert theirs == pytest.approx(Optimum(plan, is_public=True).value(), rel=RELATIVE)


@needs_public
@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("kind", KINDS)
def test_a_mixture_has_the_same_bound(kind, seed, tmp_path):
    folder = KINDS[kind](seed).write(tmp_path / "case")
    theirs = public_bound(folder, tmp_path / "output")
    ours = cobre.train(folder).final_lower_bound
    assert theirs == pytest.approx(ours, rel=RELATIVE, abs=MONEY)


@pytest.mark.parametrize("seed", range(60) if IS_SOAK else range(6))
def test_both_bounds_of_a_random_tree_meet(seed, tmp_path):
    case = random_tree(seed)
    for stage in case.documents["stages.json"]["stages"]:
        stage["risk_measure"] = "expectation"
    result = cobre.train(case.write(tmp_path / "case"))
    assert result.final_lower_bound == pytest.approx(result.final_upper_bound, rel=1e-9)

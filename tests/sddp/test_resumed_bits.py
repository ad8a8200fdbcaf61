"""A run that continues from a checkpoint has the bits of one that was never interrupted, whatever it uses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cobre.core.config import CutSelection, IterationLimit, SimulationStopping
from cobre.core.horizon import RiskMeasure
from cobre.sddp.checkpointing import CheckpointPlan, newest_checkpoint
from sddp.studies import historical, linked, sampled, stages, study
from sddp.test_given_cuts import boundary_of, cut_to, matched
from sddp.trained import digest, settings, trained, with_training

WHOLE, PART = 7, 4
LAGS = {"lags": [0.4], "residual_ratio": 0.9, "past": [9.0]}
SELECTIONS = {
    "level1": CutSelection("level1", check_frequency=2),
    "lml1": CutSelection("lml1", check_frequency=3, memory_window=2),
    "domination": CutSelection("domination", check_frequency=3, domination_epsilon=1e-3),
    "value lml1": CutSelection("value_lml1", check_frequency=2, domination_epsilon=1e-10),
    "a cap": CutSelection(max_active_per_stage=5),
    "lml1 and a cap": CutSelection("lml1", check_frequency=2, memory_window=1, max_active_per_stage=6),
}
RULE = SimulationStopping(
    replications=5, period=2, bound_window=1, distance_tolerance=1e-12, bound_tolerance=0.9
)


def limited(case, iterations):
    rules = [rule for rule in case.config.training.stopping_rules if not isinstance(rule, IterationLimit)]
    return with_training(
        case, replace(case.config.training, stopping_rules=(*rules, IterationLimit(iterations)))
    )


def with_rule(case, rule):
    return with_training(case, replace(case.config.training, stopping_rules=(rule,)))


def with_selection(name):
    return study(hydro=LAGS, training=settings(WHOLE, 3, cut_selection=SELECTIONS[name]))


CASES = {
    **{name: lambda name=name: with_selection(name) for name in SELECTIONS},
    "fresh noise": lambda: sampled(3),
    "years of a history": lambda: historical(3),
    "water and generation under way": lambda: linked(3),
    "a rule that simulates": lambda: with_rule(study(training=settings(WHOLE, 3)), RULE),
    "CVaR": lambda: study(stages(risk=RiskMeasure(0.5, 0.4)), training=settings(WHOLE, 3)),
}


def assert_continues(case, folder, *, is_compressed=False, **given):
    """Train a part, then the rest from its checkpoint; ``first_cuts`` are in the checkpoint already."""
    whole = trained(limited(case, WHOLE), **given)
    plan = CheckpointPlan(folder, is_compressed=is_compressed)
    trained(limited(case, PART), checkpoints=plan, **given)
    found = newest_checkpoint(folder).state
    assert found.iteration == PART
    given.pop("first_cuts", None)
    assert digest(trained(limited(case, WHOLE), start=found, **given)) == digest(whole)


@pytest.mark.parametrize("name", CASES)
def test_it_continues_to_the_bit(tmp_path, name):
    assert_continues(CASES[name](), tmp_path, is_compressed=len(name) % 2 == 0)


def test_a_run_with_a_boundary_continues_to_the_bit(tmp_path):
    case = study(hydro=LAGS, training=settings(WHOLE, 3))
    boundary, _ = boundary_of(trained(case).policy, cut_to(case, 2))
    assert_continues(cut_to(case, 2), tmp_path, boundary=boundary)


def test_a_run_that_began_with_the_cuts_of_another_continues_to_the_bit(tmp_path):
    case = study(hydro=LAGS, training=settings(WHOLE, 3, cut_selection=SELECTIONS["lml1"]))
    cuts = matched(trained(limited(case, 3)).policy, case).stages
    assert_continues(case, tmp_path, first_cuts=cuts)

"""Stage problems that a run builds once: its training and its simulation solve the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cobre.core.case import Case
from cobre.sddp.nature import Nature
from cobre.sddp.subproblem import StageProblem, build_stage_problems

Key = tuple[int, frozenset[str], float | None]

_kept: ContextVar[dict[Key, tuple[Case, list[StageProblem]]] | None] = ContextVar("kept", default=None)
"""With the case itself, so that no other one gets its `id`."""


@contextmanager
def keeping_problems() -> Iterator[None]:
    """In the ``with`` block problems are kept for whoever needs those of the same case again."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def problems_of(case: Case, nature: Nature, end_cost_bound: float | None) -> list[StageProblem]:
    """The problems of all stages; see `build_stage_problems`. Nobody changes them."""
    kept = _kept.get()
    key = (id(case), nature.external_classes, end_cost_bound)
    if kept is not None and key in kept:
        return kept[key][1]
    problems = build_stage_problems(case, nature.inflow, nature.transition, end_cost_bound=end_cost_bound)
    if kept is not None:
        kept[key] = (case, problems)
    return problems

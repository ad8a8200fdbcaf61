"""All checks in the order in which they run: simple promises first, those that close a communicator last."""

from __future__ import annotations

from cobre.comm.testing import (
    alone,
    barrier,
    broadcast,
    gather,
    group,
    huge,
    lifecycle,
    ordering,
    reduce,
    refusals,
    regions,
    sequences,
)
from cobre.comm.testing.checks import Check, checks_of

__all__ = ["CHECKS"]

CHECKS: tuple[Check, ...] = tuple(
    sorted(
        checks_of(
            group,
            alone,
            gather,
            reduce,
            broadcast,
            ordering,
            barrier,
            refusals,
            regions,
            sequences,
            huge,
            lifecycle,
        ),
        key=lambda check: check.closes,
    )
)

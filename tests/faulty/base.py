"""A communicator that breaks one promise, and the check that must notice it."""

from __future__ import annotations

from cobre.comm.arguments import fold_in_rank_order

CHUNK_BYTES = 20_000
"""The internal size that the tests announce, and that some of these trip over."""


class Refused(Exception):
    """Raised by a faulty communicator that refuses what the contract allows."""


class FaultyCommunicator:
    """Base of all, beside the communicator that they break.

    ``caught_by`` names the check meant for it, ``ranks`` how many it takes; ``raises`` is what it raises
    where the contract wants a result, if that is how it is wrong.
    """

    caught_by = ""
    ranks = 2
    raises = ()


def folded(parts, op):
    out = parts[0].copy()
    fold_in_rank_order(parts, out, op)
    return out

"""Communicators that break one promise each, and ranks as threads to run them in.

`threaded` is right in everything; the other modules break it, one promise a class.
"""

from faulty import gathering, lifecycle, reducing, refusing, sharing, waiting
from faulty.base import CHUNK_BYTES, FaultyCommunicator

__all__ = ["CHUNK_BYTES", "FaultyCommunicator", "all_faulty"]

MODULES = (gathering, lifecycle, reducing, refusing, sharing, waiting)


def all_faulty(base=FaultyCommunicator):
    """Every class of these modules that names the check meant for it."""
    for cls in base.__subclasses__():
        if cls.caught_by:
            yield cls
        yield from all_faulty(cls)

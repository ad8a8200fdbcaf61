"""Communicators that break one promise each, and ranks as threads to run them in.

`threaded` is right in everything; the other modules break it, one promise a class.
"""

from sabotage import gathering, living, reducing, refusing, sharing, waiting
from sabotage.base import CHUNK_BYTES, Sabotage

__all__ = ["CHUNK_BYTES", "Sabotage", "all_sabotages"]

MODULES = (gathering, living, reducing, refusing, sharing, waiting)


def all_sabotages(base=Sabotage):
    """Every class of these modules that names the check meant for it."""
    for cls in base.__subclasses__():
        if cls.caught_by:
            yield cls
        yield from all_sabotages(cls)

"""Arguments on their way to workers."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Parcel(Generic[T]):
    """Data to be sent to workers. Opening it empties it, so that no second copy stays in memory."""

    def __init__(self, content: T) -> None:
        self._content: T | None = content

    def open(self) -> T | None:
        """The content, once."""
        content, self._content = self._content, None
        return content

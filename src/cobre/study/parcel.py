"""Arguments on their way to workers."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Parcel(Generic[T]):
    """Data on its way to workers; whoever opens it leaves it empty, so that no copy stays behind."""

    def __init__(self, content: T) -> None:
        self._content: T | None = content

    def open(self) -> T | None:
        """The content, once."""
        content, self._content = self._content, None
        return content

"""What communicators and regions have in common: a ``with`` block closes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

__all__ = ["ClosesAfterUse"]


class ClosesAfterUse:
    """``with`` gives the object itself, and closes it however the block ends."""

    if TYPE_CHECKING:

        def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, where: object, /) -> None:
        self.close()

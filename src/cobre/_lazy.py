"""Fast start-up: names of a package that are imported when first used, and imports without garbage collection."""

from __future__ import annotations

import gc
from importlib import import_module

from cobre._process import is_ours

TYPE_CHECKING = (
    False  # type checkers know the name; importing typing for it would cost more than all the rest
)
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A module ``__getattr__`` for ``package``: each name of ``homes`` is taken from the module it is mapped to.

    A name that is a module itself is mapped to the empty string.
    """

    def resolve(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = getattr(import_module(home), name) if home else import_module(f"{package}.{name}")
        setattr(import_module(package), name, value)
        return value

    return resolve


class collecting_garbage_later:  # noqa: N801 - a context manager, and contextlib would cost an import
    """No garbage collection in the ``with`` block: what imports and readers build by the thousand is no garbage.

    In a process of our own later collections do not look at it either.
    """

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._was_enabled:
            if is_ours():
                gc.freeze()
            gc.enable()

"""Names of a package that are imported when first used, so that importing the package costs next to nothing."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = (
    False  # type checkers know the name; importing typing for it would cost more than all the rest
)
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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

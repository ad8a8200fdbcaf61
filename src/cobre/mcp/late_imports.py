"""Modules that are imported when a name of theirs is first used, although others import names from them at once.

For a client on standard input and output the MCP SDK imports everything that it needs over HTTP as well, its own client
and the messages of every version of the protocol. That is a third of all imports before the first answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["importing_later"]


@contextmanager
def importing_later(*packages: str) -> Iterator[None]:
    """In the ``with`` block, an import of ``packages``, or of a module in them, gives stand-ins for its names.

    The first use of a stand-in imports the module. After the block, all imports are the usual ones.
    """
    finder = _Finder(packages)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        finder.give_up()


class _Finder:
    """Finds modules of the packages, and makes stand-ins for them. Modules that are there already stay."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = {each for each in packages if each not in sys.modules}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """A module in one of the packages."""
        if not self.is_late(name):
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Its stand-in."""
        return _LateModule(spec.name, self)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is executed yet."""

    def is_late(self, name: str) -> bool:
        """Whether a module is in one of the packages."""
        return self._package_of(name) is not None

    def give_up(self, name: str | None = None) -> None:
        """From now on the modules of all packages, or of the one that has ``name``, are imported as usual."""
        given_up = self._packages if name is None else {self._package_of(name)}
        for found, module in list(sys.modules.items()):
            if isinstance(module, _LateModule) and self._package_of(found) in given_up:
                del sys.modules[found]
                parent, _, own = found.rpartition(".")
                if vars(sys.modules.get(parent, module)).get(own) is module:
                    delattr(sys.modules[parent], own)
        self._packages = self._packages - given_up

    def _package_of(self, name: str) -> str | None:
        parts = name.split(".")
        heads = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
        return next((head for head in heads if head in self._packages), None)


class _LateModule(ModuleType):
    """Stands for a module; its names are stand-ins."""

    def __init__(self, name: str, finder: _Finder) -> None:
        super().__init__(name)
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        home, finder = self.__name__, self._finder

        def find() -> Any:
            finder.give_up(home)
            return getattr(import_module(home), name)

        return LateName(find, lambda: finder.is_late(home)) if finder.is_late(home) else find()


class LateName:
    """Stands for a class or a function, which is found when it is first used.

    Asking for one of Python's own attributes, as `typing` does with every type, is no use while imports are late.
    """

    __slots__ = ("_find", "_is_late", "_value")
    _value: Any
    """Once it was found."""

    def __init__(self, find: Callable[[], Any], is_late: Callable[[], bool]) -> None:
        self._find, self._is_late = find, is_late

    def __getattr__(self, name: str) -> Any:
        if name == "_value" or (name.startswith("__") and self._is_late()):
            raise AttributeError(name)
        return getattr(found(self), name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return found(self)(*arguments, **named)

    def __getitem__(self, key: Any) -> Any:
        return LateName(lambda: found(self)[key], self._is_late)

    def __or__(self, other: Any) -> Any:
        return LateName(lambda: found(self) | found(other), self._is_late)

    def __ror__(self, other: Any) -> Any:
        return LateName(lambda: found(other) | found(self), self._is_late)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, found(self))

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, found(self))

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (found(self),)

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(found(self))


def found(value: Any) -> Any:
    """What a stand-in stands for; any other value itself."""
    if not isinstance(value, LateName):
        return value
    try:
        return value._value
    except AttributeError:
        value._value = found(value._find())
        return value._value

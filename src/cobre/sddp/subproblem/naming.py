"""Names that a planner recognises, for model files and messages: ``turbined[Itaipu,peak]``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, product
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray


class Named(Protocol):
    """An entity or a block: what an axis consists of."""

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...


Axis = Sequence[Named] | Sequence[str]


@dataclass(frozen=True, eq=False)
class NameGroup:
    """Consecutive columns (or rows) of one kind; ``where`` picks those that exist."""

    kind: str
    axes: tuple[Axis, ...]
    where: NDArray[np.bool_] | None

    def names(self) -> Iterable[str]:
        """One name per existing element, in order."""
        every = product(*(labels_of(axis) for axis in self.axes))
        chosen = every if self.where is None else compress(every, self.where.flat)
        return (f"{self.kind}[{','.join(labels)}]" if labels else self.kind for labels in chosen)


def labels_of(axis: Axis) -> list[str]:
    """Names without blanks; the id follows where a name alone would be ambiguous."""
    if not axis or isinstance(axis[0], str):
        return [str(label) for label in axis]
    names = ["_".join(item.name.split()) for item in axis if not isinstance(item, str)]
    count = Counter(names)
    ids = [item.id for item in axis if not isinstance(item, str)]
    return [
        name if name and count[name] == 1 else f"{name}#{id}" for name, id in zip(names, ids, strict=True)
    ]


class Names(Sequence[str]):
    """The names of all elements of all groups, written out when the first one is asked for."""

    def __init__(self, groups: Iterable[NameGroup]) -> None:
        self._groups = tuple(groups)

    @cached_property
    def _written_out(self) -> list[str]:
        return [name for group in self._groups for name in group.names()]

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._written_out[index]

    def __len__(self) -> int:
        return len(self._written_out)

"""Where the values of a chart stand along its horizontal axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from cobre.draw.scale import Scale
from cobre.draw.text import visible

MAX_LABELS = 12
LABEL_LENGTH = 12


@dataclass(frozen=True)
class Places:
    """``at``: for each value its share of the width. ``ticks``: shares and texts of the axis."""

    at: tuple[float, ...]
    ticks: tuple[tuple[float, str], ...]
    label: str
    is_even: bool = True
    """Whether the values are equally far from each other: half a step from both ends if ``has_margins``."""
    has_margins: bool = False
    base: str = ""
    """What the texts of the axis count from, if that is not zero."""

    @classmethod
    def points(cls, labels: Sequence[str], label: str) -> Self:
        """One place per label, from one end to the other."""
        n = len(labels)
        at = tuple(k / (n - 1) for k in range(n)) if n > 1 else (0.5,) * n
        return cls(at, _ticks(labels, at), label)

    @classmethod
    def columns(cls, labels: Sequence[str], label: str) -> Self:
        """One column per label, side by side."""
        n = len(labels)
        at = tuple((k + 0.5) / n for k in range(n))
        return cls(at, _ticks(labels, at), label, has_margins=True)

    @classmethod
    def numbers(cls, values: Sequence[float], label: str) -> Self:
        """Each value where a scale of numbers has it."""
        scale = Scale.over(values, n_ticks=8)
        if scale is None:
            return cls((), (), label, is_even=False)
        # The axis ends where the values do: a curve over its whole range leaves no empty ends.
        low, high = min(values), max(values)
        width = (high - low) or 1.0
        at = tuple((value - low) / width for value in values)
        texts, base = scale.texts()
        shown = zip(scale.ticks, texts, strict=True)
        ticks = tuple(((tick - low) / width, text) for tick, text in shown if low <= tick <= high)
        return cls(at, ticks, label, is_even=False, base=base)


def _ticks(labels: Sequence[str], at: Sequence[float]) -> tuple[tuple[float, str], ...]:
    longest = max((len(text) for text in labels), default=0)
    room = MAX_LABELS if longest <= 4 else MAX_LABELS * 2 // 3
    step = max(1, -(-len(labels) // room))
    return tuple((at[k], visible(labels[k], LABEL_LENGTH)) for k in range(0, len(labels), step))

"""What a fit has to say about the history: errors and warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark. ``hydro`` is an index; None where it concerns all."""

    severity: Literal["error", "warning"]
    kind: str
    """The kind of problem as in a validation report."""
    message: str
    remedy: str
    hydro: int | None = None
    field: str = "value_m3s"
    value: Any = None
    rule: str = ""
    """The number that the public Cobre gives to it."""

"""The product in a few verbs. Composes `cobre.io` and `cobre.sddp`; computes nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from cobre import io
from cobre.core.case import Case
from cobre.io import ValidationReport

__all__ = ["CaseLoader", "load_case", "validate"]


def load_case(path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None) -> Case:
    """The study in a case directory.

    Raises one `cobre.ValidationError` whose ``errors`` lists every problem, or `cobre.IOError` if the folder is not
    there or may not be read. ``config_overrides`` has the keys of ``config.json`` and is merged into it.
    """
    return io.load(path, config_overrides)


class CaseLoader:
    """`load_case` under the name that users of the public Cobre know."""

    @staticmethod
    def load(path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None) -> Case:
        """See `load_case`."""
        return load_case(path, config_overrides)


def validate(
    path: str | PathLike[str], config_overrides: Mapping[str, Any] | None = None
) -> ValidationReport:
    """Every error and warning about a case directory; raises only if there is no such folder."""
    return io.validate(path, config_overrides)

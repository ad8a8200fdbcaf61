"""Reads, checks and assembles case directories.

`load` gives a `cobre.core.case.Case` or raises one `cobre.errors.ValidationError` that carries every problem;
`cobre.io.loading.validate` gives the problems without raising.
"""

from __future__ import annotations

from cobre._lazy import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from cobre.io.loading import load, load_with_report
    from cobre.io.problems import ProblemReport, ValidationReport

__all__ = ["ProblemReport", "ValidationReport", "load", "load_with_report"]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("ProblemReport", "ValidationReport"), "cobre.io.problems"),
        **dict.fromkeys(("load", "load_with_report"), "cobre.io.loading"),
    },
)

"""Reads, checks and assembles case directories.

`load` gives a `cobre.core.case.Case` or raises one `cobre.errors.ValidationError` that carries every problem;
`validate` gives the problems without raising.
"""

from __future__ import annotations

from cobre.io.loading import load, load_with_report, validate
from cobre.io.problems import ProblemReport, ValidationReport

__all__ = ["ProblemReport", "ValidationReport", "load", "load_with_report", "validate"]

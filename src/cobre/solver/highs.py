"""Finds HiGHS: the library that the highspy package brings, mapped once."""

from __future__ import annotations

from functools import cache

from cobre._native import lp
from cobre.errors import CobreError

__all__ = ["load_highs"]


@cache
def load_highs() -> lp.HighsLibrary:
    """HiGHS's C interface from the installed highspy, imported when first asked for."""
    remedy = "python -m pip install --upgrade 'highspy>=1.15'"
    try:
        import highspy  # noqa: F401  # importing it maps the library
    except ImportError as error:
        raise CobreError(f"highspy cannot be imported: {error}", suggestion=remedy) from error
    try:
        return lp.HighsLibrary.from_mapped()
    except RuntimeError as error:
        message, _, fix = str(error).partition("\n  fix: ")
        raise CobreError(message, suggestion=fix or remedy) from error

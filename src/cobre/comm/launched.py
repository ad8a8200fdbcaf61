"""What a launcher's variables say: whether this process is one rank of a group, and how many ranks there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["LaunchVariables", "LaunchedGroup", "read_launched_group"]


class LaunchVariables(NamedTuple):
    """Variables that a launcher sets in each rank: its number, and how many ranks it started.

    ``size`` is empty for a launcher that does not say how many. With ``needs_size`` the number alone means nothing:
    SLURM sets SLURM_PROCID in a batch script, too, which is no rank of anything.
    """

    rank: str
    size: str = ""
    needs_size: bool = False


class LaunchedGroup(NamedTuple):
    """The group that variables describe. ``size`` is ``None`` if they do not say how many ranks there are."""

    variable: str
    value: str
    size: int | None

    @property
    def has_several_ranks(self) -> bool:
        """Whether there are other ranks. One that does not say how many is taken at its word."""
        return self.size is None or self.size > 1

    @property
    def described(self) -> str:
        """For messages: how many ranks, and the variable that says so."""
        ranks = "ranks" if self.size is None else f"{self.size} ranks"
        return f"{ranks} ({self.variable}={self.value})"


def read_launched_group(
    variables: Sequence[LaunchVariables], environ: Mapping[str, str]
) -> LaunchedGroup | None:
    """The group that the first of these variables describe, or ``None``. Of several sizes the largest counts:
    ``mpiexec`` may itself run inside a step of SLURM."""
    sizes, ranks = [], []
    for names in variables:
        size, rank = environ.get(names.size, ""), environ.get(names.rank, "")
        if size.isdecimal():
            sizes.append(LaunchedGroup(names.size, size, int(size)))
        elif rank and not names.needs_size:
            ranks.append(LaunchedGroup(names.rank, rank, None))
    if sizes:
        return max(sizes, key=lambda group: group.size or 0)
    return ranks[0] if ranks else None

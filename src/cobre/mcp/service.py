"""What all tools, resources and prompts of one server share."""

from __future__ import annotations

from cobre.mcp.limits import CallRate, CallsAtOnce
from cobre.mcp.roots import Roots, not_allowed
from cobre.mcp.runs import RunTable
from cobre.mcp.settings import Settings

__all__ = ["Service"]


class Service:
    """One server: its settings, its folders and the runs that it started."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.roots = Roots(settings.folders)
        self.rate = CallRate(settings.max_calls_per_minute)
        self.at_once = CallsAtOnce()
        self.runs = RunTable(settings, self.roots)

    def check_writing(self) -> None:
        """Raise unless this server may write."""
        if not self.settings.allow_write:
            raise not_allowed(
                "this server only reads", "ask the user to start it with --allow-write, if that is wanted"
            )

"""The tools, one module per subject; each has its arguments and its answer as Pydantic models."""

from __future__ import annotations

from cobre.mcp.tools.base import CobreTool, Definition
from cobre.mcp.tools.cases import CASE_TOOLS
from cobre.mcp.tools.comparing import COMPARISON_TOOLS
from cobre.mcp.tools.explaining import EXPLAINING_TOOLS
from cobre.mcp.tools.policies import POLICY_TOOLS
from cobre.mcp.tools.results import RESULT_TOOLS
from cobre.mcp.tools.running import RUN_TOOLS
from cobre.mcp.tools.writing import WRITING_TOOLS

__all__ = ["DEFINITIONS", "CobreTool", "Definition"]

DEFINITIONS: tuple[Definition, ...] = (
    *CASE_TOOLS,
    *RUN_TOOLS,
    *RESULT_TOOLS,
    *POLICY_TOOLS,
    *COMPARISON_TOOLS,
    *WRITING_TOOLS,
    *EXPLAINING_TOOLS,
)
"""In the order in which they are listed, which never changes."""

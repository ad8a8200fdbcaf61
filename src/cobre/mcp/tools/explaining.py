"""What an error means."""

from __future__ import annotations

from pydantic import Field

from cobre.errors import KINDS, VALIDATION_KINDS, CobreError
from cobre.mcp.explanations import EXPLANATIONS
from cobre.mcp.service import Service
from cobre.mcp.texts import name
from cobre.mcp.tools.base import Answer, Arguments, Definition

__all__ = ["EXPLAINING_TOOLS"]


class ExplainArguments(Arguments):
    """Which kind of error."""

    kind: str = Field(max_length=64, description="The kind of an error: kind of its last line of JSON.")


class Explanation(Answer):
    """What an error of this kind means."""

    kind: str
    meaning: str
    what_to_do: str
    is_about_the_case: bool = Field(description="Whether files of the case must be corrected.")
    exit_status: int = Field(description="Of the command line.")


def explain(service: Service, arguments: ExplainArguments) -> Explanation:
    """What a kind of error means."""
    if arguments.kind not in EXPLANATIONS:
        raise CobreError(
            f"there is no kind of error {name(arguments.kind)}",
            kind="InvalidEnum",
            suggestion=f"the kinds are {', '.join(KINDS)}",
        )
    meaning, what_to_do, exit_status = EXPLANATIONS[arguments.kind]
    return Explanation(
        kind=arguments.kind,
        meaning=meaning,
        what_to_do=what_to_do,
        is_about_the_case=arguments.kind in VALIDATION_KINDS,
        exit_status=exit_status,
    )


EXPLAINING_TOOLS = (
    Definition(
        "cobre_explain_error",
        "Explain an error",
        "What a kind of error means and what to do about it.",
        ExplainArguments,
        Explanation,
        explain,
    ),
)

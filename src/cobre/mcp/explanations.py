"""What each kind of error means, what to do, and the exit status of the command line."""

from __future__ import annotations

__all__ = ["EXPLANATIONS"]

_AGAIN = "Correct it, then call cobre_validate again."

EXPLANATIONS: dict[str, tuple[str, str, int]] = {
    "MissingFile": (
        "A file or folder is not there.",
        "Look at the path in the message. A case needs config.json, stages.json, penalties.json and the files of "
        "system/; results are there after a run.",
        1,
    ),
    "ParseError": (
        "A file is not JSON or Parquet, or a result is damaged.",
        f"Look at the line that the message names. Results are written anew by another run. {_AGAIN}",
        1,
    ),
    "SchemaViolation": (
        "A file has a field too many or lacks one, or a tool got an argument that it does not know.",
        f"Compare the names with the schema; most often a field is misspelt. {_AGAIN}",
        1,
    ),
    "TypeMismatch": ("A value has the wrong type, such as text in place of a number.", _AGAIN, 1),
    "OutOfRange": ("A number is outside what makes sense, such as a negative capacity.", _AGAIN, 1),
    "InvalidEnum": ("A word is none of the allowed ones.", f"The message lists them. {_AGAIN}", 1),
    "DuplicateId": ("Two entities of a kind have the same id.", f"Give one of them another id. {_AGAIN}", 1),
    "MissingReference": (
        "Something refers to an id that does not exist: a plant to a bus, a call to a run.",
        f"Correct the id, or add what it refers to. {_AGAIN}",
        1,
    ),
    "CoverageMismatch": (
        "Rows are missing: a table must have a row for every entity or stage and has not.",
        f"Add the rows that the message names. {_AGAIN}",
        1,
    ),
    "StageMismatch": (
        "Stages of a file do not fit those of stages.json, or dates overlap.",
        f"Correct stage ids or dates. {_AGAIN}",
        1,
    ),
    "IncompatibleSettings": (
        "Settings or arguments exclude each other.",
        f"Change one of those that the message names. {_AGAIN}",
        1,
    ),
    "PhysicalConstraint": (
        "The data contradict physics: a river that runs in a circle, a storage above its maximum.",
        _AGAIN,
        1,
    ),
    "CapacityViolation": ("A minimum is above its maximum, or above what a plant can do.", _AGAIN, 1),
    "PenaltyConsistency": (
        "Penalties are in an order that makes a violation cheaper than obeying.",
        f"Raise the penalty that the message names. {_AGAIN}",
        1,
    ),
    "CommunicationFailed": (
        "The processes of a run could not be started or lost each other.",
        "Run again with fewer workers; `cobre doctor` on that machine says what does not work.",
        4,
    ),
    "WorkerFailed": (
        "A process of the run ended: it was killed, often for lack of memory, or it failed.",
        "cobre_run with resume: true continues from the last checkpoint; use fewer workers if memory was short.",
        4,
    ),
    "SolverFailure": (
        "A linear program of a stage had no solution, or the solver gave up.",
        "Look at the stage and the elements that the message names: most often limits contradict each other there.",
        3,
    ),
    "CheckpointFailed": (
        "Training could not save where it stands: the disk is full or may not be written to.",
        "Free some space, then cobre_run with resume: true.",
        2,
    ),
    "UnfinishedRun": (
        "The output folder holds a run that did not end.",
        "cobre_run with resume: true continues it, with overwrite: true it starts again.",
        2,
    ),
    "IncompatibleRuns": (
        "Two runs have different stages, so that numbers by stage cannot be compared.",
        "Compare runs of studies with the same stages.",
        4,
    ),
    "NotAllowed": (
        "This server must not do that: the path is outside its folders, or it was started to read only.",
        "Use paths below its folders. The user alone can start it with --allow-write or other folders.",
        4,
    ),
    "LimitExceeded": (
        "More than this server does at once: runs, workers, rows, bytes or calls.",
        "Ask for less, or wait. The user alone can raise its limits.",
        4,
    ),
}

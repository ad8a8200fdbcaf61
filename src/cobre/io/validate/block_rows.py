"""Checks of rows about single blocks in the files of limits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cobre.io.problems import Problems
from cobre.io.read.columns import ABSENT, Table
from cobre.io.read.files import CaseFiles

FILES = (
    "hydro_bounds",
    "unit_group_bounds",
    "thermal_bounds",
    "line_bounds",
    "pumping_bounds",
    "contract_bounds",
)
OF_STAGES = {
    "hydro_bounds": (
        "min_storage_hm3",
        "max_storage_hm3",
        "filling_min_rate_m3s",
        "water_withdrawal_m3s",
    ),
    "thermal_bounds": ("cost_per_mwh",),
}
"""Columns that hold for whole stages."""


def check_block_rows(files: CaseFiles, blocks: Mapping[int, int], problems: Problems) -> None:
    """Report rows of blocks that a stage does not have, and values that a block cannot have."""
    for name in FILES:
        table = files.tables[name]
        for row in np.flatnonzero(table["block_id"] != ABSENT).tolist():
            block, stage = int(table["block_id"][row]), int(table["stage_id"][row])
            count = blocks.get(stage)
            if count is not None and not 0 <= block < count:
                refuse_block(problems, table, row, count, "the whole stage", rule="5a.35")
            for column in OF_STAGES.get(name, ()):
                if not np.isnan(table[column][row]):
                    problems.error(
                        "IncompatibleSettings",
                        table.at(row, column, float(table[column][row])),
                        f"{column} = {table[column][row]:g} in a row of block {block}: it holds for whole stages",
                        "write it in a row with a null block_id",
                        rule="5a.37",
                    )


def refuse_block(problems: Problems, table: Table, row: int, count: int, other: str, **rule: str) -> None:
    """Report a row with a block that its stage, of ``count`` blocks, does not have; a null means ``other``."""
    block, stage = int(table["block_id"][row]), table["stage_id"][row]
    message = f"block_id = {block}, but stage {stage} has blocks 0 to {count - 1}"
    place = table.at(row, "block_id", block)
    problems.error(
        "MissingReference", place, message, f"use a block of the stage, or null for {other}", **rule
    )

"""A case directory in the making: its seed, its flags, and how its files are written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]


class Draft:
    """What the writers of the single files share; they add the ids and hours that others refer to.

    With the flag ``shuffle`` ids have gaps and everything whose order means nothing is written in a random one.
    """

    stage_ids: list[int]
    hours: list[list[float]]
    n_openings: list[int]
    first_month: int
    n_lags: int
    non_negativity: str
    penalties: Row
    buses: list[int]
    lines: list[int]
    thermals: list[int]
    hydros: list[int]
    sources: list[int]
    stations: list[int]
    contracts: list[int]

    def __init__(self, folder: Path, seed: int, flags: Iterable[str]) -> None:
        self.folder, self.random, self.flags = folder, Random(seed), frozenset(flags)
        self.choice, self.uniform = self.random.choice, self.random.uniform
        for part in ("system", "scenarios", "constraints"):
            (folder / part).mkdir(parents=True)

    def has(self, *flags: str) -> bool:
        return not self.flags.isdisjoint(flags)

    def likely(self, probability: float) -> bool:
        return self.random.random() < probability

    def shuffled(self, items: Iterable[Any]) -> list[Any]:
        items = list(items)
        if self.has("shuffle"):
            self.random.shuffle(items)
        return items

    def ids(self, n: int) -> list[int]:
        return sorted(self.random.sample(range(1, 90), n)) if self.has("shuffle") else list(range(n))

    def document(self, name: str, content: Row) -> None:
        content = {k: self.shuffled(v) if isinstance(v, list) else v for k, v in content.items()}
        (self.folder / name).write_text(json.dumps(content, indent=1))

    def table(self, name: str, columns: str, rows: Sequence[Row], *, optional: str = "") -> None:
        """Write ``rows``; an optional column that holds nothing is left out as often as not."""
        rows = self.shuffled(rows)
        fields, arrays = [], []
        for column in self.shuffled((columns + " " + optional).split()):
            values = [row.get(column) for row in rows]
            empty = all(value is None for value in values)
            if column in optional.split() and empty and self.likely(0.5):
                continue
            kind = pa.float64()
            if column.endswith(("_id", "_index")) or column == "lag":
                kind = self.choice([pa.int32(), pa.int64()]) if self.has("shuffle") else pa.int32()
            nullable = None in values or self.likely(0.5)
            fields.append(pa.field(column, kind, nullable=nullable))
            arrays.append(pa.array(values, kind))
        pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), self.folder / name)

    def block_factors(
        self, ids: list[int], key: str, names: Sequence[str], low: float, high: float
    ) -> list[Row]:
        """Factors for about half of all entities, stages and blocks; the others keep 1."""
        return [
            {
                key: entity,
                "stage_id": self.stage_ids[t],
                "block_factors": self.shuffled(
                    {"block_id": block, **{name: round(self.uniform(low, high), 2) for name in names}}
                    for block in range(len(self.hours[t]))
                    if self.likely(0.8)
                ),
            }
            for entity in ids
            for t in range(len(self.stage_ids))
            if self.likely(0.7)
        ]

"""Which run this is: study, settings, versions, machine, times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cobre import draw
from cobre.study.queries.runs import RunData

FACTS = (
    "run_id", "case_name", "case_digest", "config_digest", "software_version", "solver", "solver_version", "hostname",
    "platform", "python_version",
    "started_at", "completed_at", "duration_seconds", "status", "termination_reason", "configuration",
    "problem_dimensions", "distribution", "scenario_source", "resumed_from",
)  # fmt: skip


def provenance(run: RunData, other: RunData | None) -> str:
    """Facts of every part of a run as a table, and all of it as JSON."""
    parts = []
    for data, label in ((run, ""), (other, "Other run: ")):
        if data is None:
            continue
        for part, metadata in data.metadata.items():
            if metadata is None:
                continue
            rows = [(name, _text(metadata[name])) for name in FACTS if metadata.get(name) is not None]
            table = draw.Table(["fact", "value"], [[name for name, _ in rows], [text for _, text in rows]])
            parts.append(draw.plain_table(f"{label}{part}", table, is_prose=True))
            if metadata.get("settings"):
                names, values = zip(*_leaves("", metadata["settings"]), strict=True)
                table = draw.Table(["setting", "value"], [names, values])
                parts.append(draw.folded_table(f"{label}{part}: settings", table, is_prose=True))
    text = json.dumps(run.metadata, indent=1, sort_keys=True, default=str)
    parts.append(
        "<details><summary>Everything as JSON</summary>"
        f'<pre class="json" tabindex="0">{draw.escape(text)}</pre></details>'
    )
    return "".join(parts)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Names with dots of all settings, and their values."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not parts:
        yield path, _text(value)
    for name, part in parts:
        yield from _leaves(f"{path}.{name}".lstrip("."), part)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return draw.number(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)

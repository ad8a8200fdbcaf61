"""Prints a benchmark's figures as a table and stores them with machine and commit."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, object]:
    """What a reader must know to compare two figures."""
    model = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        "?",
    )
    return {
        "cpu": model,
        "usable_cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def commit() -> str:
    """The commit measured, with a mark when the tree has changes."""
    try:
        command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def seconds(call: Callable[[], object], rounds: int = 5) -> tuple[float, float]:
    """Medians over rounds, after one that warms up: by the clock, and of the processor, which no other load delays."""
    call()
    clock, processor = [], []
    for _ in range(rounds):
        begin, used = time.perf_counter(), time.process_time()
        call()
        clock.append(time.perf_counter() - begin)
        processor.append(time.process_time() - used)
    return statistics.median(clock), statistics.median(processor)


def publish(subject: str, unit: str, figures: dict[str, float], *, is_stored: bool = True) -> None:
    """Show ``figures`` and write ``results/SUBJECT.json``, unless they are not to be stored."""
    width = max(map(len, figures))
    print(f"{subject} ({unit})")
    for name, value in figures.items():
        print(f"  {name:<{width}}  {value:12.2f}")
    if not is_stored:
        return
    document = {
        "subject": subject,
        "unit": unit,
        "figures": {name: round(value, 2) for name, value in figures.items()},
        "machine": machine(),
        "commit": commit(),
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{subject}.json"
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(f"  stored in {path.relative_to(Path(__file__).parent.parent)}")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []

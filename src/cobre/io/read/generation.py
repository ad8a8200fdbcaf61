"""Which generation of the format a case is written in: that of the public Cobre 0.5.1, or that of 0.18.

Neither program reads the other's cases. A few keys exist in one generation only; each of them votes. All votes must
agree: the same word can mean different things, so that a mixture has no meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cobre.io.problems import Problems

__all__ = ["FORMAT_018", "OLDER", "Generation", "Vote", "detect", "votes"]


@dataclass(frozen=True)
class Generation:
    """A version of the format; ``is_018`` says what the same words mean in it."""

    name: str
    is_018: bool
    words: Mapping[str, str]

    def __hash__(self) -> int:
        return hash(self.name)

    def word(self, key: str) -> str:
        """How this generation spells a key of 0.18."""
        return self.words.get(key, key)


FORMAT_018 = Generation("0.18", True, {})
OLDER = Generation(
    "0.5.1",
    False,
    {
        "num_openings": "num_scenarios",
        "turbined_cost": "fpha_turbined_cost",
        "productivity_mw_per_m3s": "productivity_override",
        "training.selection.forward_passes": "training.forward_passes",
        "simulation.selection.num_scenarios": "simulation.num_scenarios",
        "pumping_station_id": "station_id",
        "filling_min_rate_m3s": "filling_inflow_m3s",
        "availability_factor": "value",
    },
)


@dataclass(frozen=True)
class Vote:
    """A key that only one generation has."""

    file: str
    key: str
    generation: Generation

    def __str__(self) -> str:
        return f"{self.file}: {self.key} is of {self.generation.name}"


def votes(documents: Mapping[str, Any]) -> list[Vote]:
    """What the parsed JSON files of a case, by path, say about its generation."""
    return list(_votes(documents))


def _votes(documents: Mapping[str, Any]) -> Iterator[Vote]:
    bus = _first(documents.get("system/buses.json"), "buses")
    if bus is not None:
        has_date = "operational_start_date" in bus
        key = "buses[0].operational_start_date" if has_date else "buses[0] without operational_start_date"
        yield Vote("system/buses.json", key, FORMAT_018 if has_date else OLDER)
    for file, key, newer, older in (
        ("stages.json", "stages", "num_openings", "num_scenarios"),
        ("system/hydros.json", "hydros", "unit_groups", "bus_id"),
    ):
        yield from _either(file, f"{key}[]", _entries(documents.get(file), key), newer, older)
    training = _inside(documents.get("config.json"), "training")
    yield from _either("config.json", "training", [training], "selection", "forward_passes")
    hydro = _inside(documents.get("penalties.json"), "hydro")
    yield from _either("penalties.json", "hydro", [hydro], "turbined_cost", "fpha_turbined_cost")


def _either(
    file: str, place: str, objects: Sequence[Mapping[str, Any]], newer: str, older: str
) -> Iterator[Vote]:
    if any(newer in each for each in objects):
        yield Vote(file, f"{place}.{newer}", FORMAT_018)
    if any(older in each for each in objects):
        yield Vote(file, f"{place}.{older}", OLDER)


def detect(documents: Mapping[str, Any], problems: Problems) -> Generation | None:
    """The generation of a case; None after reporting that its files disagree. Without any vote it is 0.18."""
    found = votes(documents)
    names = {vote.generation.name for vote in found}
    if len(names) < 2:
        return found[0].generation if found else FORMAT_018
    counts = {name: sum(vote.generation.name == name for vote in found) for name in names}
    fewest = min(found, key=lambda vote: counts[vote.generation.name])
    listing = "; ".join(map(str, found))
    problems.error(
        "IncompatibleSettings",
        fewest.file,
        f"the case mixes two generations of the format: {listing}",
        "write every file in one generation; cobre convert turns a whole case of 0.5.1 into one of 0.18",
        field=fewest.key,
        value=fewest.generation.name,
        rule="generation.1",
    )
    return None


def _inside(document: Any, key: str) -> Mapping[str, Any]:
    inner = document.get(key) if isinstance(document, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _entries(document: Any, key: str) -> list[Mapping[str, Any]]:
    entries = document.get(key) if isinstance(document, Mapping) else None
    return [each for each in entries if isinstance(each, Mapping)] if isinstance(entries, list) else []


def _first(document: Any, key: str) -> Mapping[str, Any] | None:
    entries = _entries(document, key)
    return entries[0] if entries else None

"""Problems of a case: what is wrong, where, and what to change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any

from cobre.core.representation import counted
from cobre.errors import ValidationError
from cobre.io.rule_numbers import RULE_NUMBERS, UNPARSABLE

SHOWN_PER_FIELD = 20
"""How many problems of one kind with one field of one file are listed; the rest are counted."""


@dataclass(frozen=True, slots=True)
class ProblemReport:
    """One finding: where it is, what it is, and what to do."""

    kind: str
    file: str
    message: str
    remedy: str
    entity: str = ""
    field: str = ""
    value: Any = None
    rule: str = ""
    """Stable id of the rule that was broken: the number of the public Cobre's where it has the same one (``5a.41``),
    else file, field and kind (``thermals.bus_id.MissingReference``)."""

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.file, self.entity) if part)
        return f"{place}: {self.message}\n  fix: {self.remedy}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data that ``json.dumps`` accepts."""
        return {**asdict(self), "value": plain(self.value)}


@dataclass(frozen=True, repr=False)
class ValidationReport:
    """Everything found in a case directory. A layer is completed when it could look at all of the data."""

    errors: tuple[ProblemReport, ...]
    warnings: tuple[ProblemReport, ...]
    layers_completed: tuple[str, ...]

    @property
    def valid(self) -> bool:
        return not self.errors

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data that ``json.dumps`` accepts."""
        return {
            "valid": self.valid,
            "errors": [problem.to_dict() for problem in self.errors],
            "warnings": [problem.to_dict() for problem in self.warnings],
            "layers_completed": list(self.layers_completed),
        }

    def __repr__(self) -> str:
        state = "valid" if self.valid else "not valid"
        return (
            f"<ValidationReport: {state}, {counted(len(self.errors), 'error')}, "
            f"{counted(len(self.warnings), 'warning')}>"
        )

    def _repr_html_(self) -> str:
        from cobre import draw  # for notebooks alone

        rows = [("error", each) for each in self.errors] + [("warning", each) for each in self.warnings]
        cards = [
            ("Case", "valid" if self.valid else "not valid"),
            ("Errors", str(len(self.errors))),
            ("Warnings", str(len(self.warnings))),
        ]
        if not rows:
            return draw.fragment(draw.card_row(cards))
        found = [(kind, each.file, each.entity, each.message, each.remedy) for kind, each in rows]
        table = draw.Table(["", "file", "entity", "problem", "remedy"], list(zip(*found, strict=True)))
        return draw.fragment(draw.card_row(cards) + draw.plain_table("Findings", table, is_prose=True))


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is wrong: the file, what it is about, the field and its value."""

    file: str
    entity: str = ""
    field: str = ""
    value: Any = None


@dataclass
class Problems:
    """Collects findings while a case is read and checked; nothing is raised on the way."""

    errors: list[ProblemReport] = field(default_factory=list)
    warnings: list[ProblemReport] = field(default_factory=list)
    _counts: dict[tuple[bool, str, str, str], int] = field(default_factory=dict)

    def error(self, kind: str, where: Place | str, message: str, remedy: str, **place: Any) -> None:
        """Note something that makes the case unusable, in a file, or a `Place` in it; ``place`` adds to that."""
        self._note(self.errors, kind, where, message, remedy, place)

    def warn(self, kind: str, where: Place | str, message: str, remedy: str, **place: Any) -> None:
        """Note something that the planner should see but that does not make the case unusable."""
        self._note(self.warnings, kind, where, message, remedy, place)

    def _note(
        self,
        findings: list[ProblemReport],
        kind: str,
        where: Place | str,
        message: str,
        remedy: str,
        place: Mapping[str, Any],
    ) -> None:
        at = where if isinstance(where, Place) else Place(where)
        known = {"entity": at.entity, "field": at.field, "value": at.value, **place}
        key = (findings is self.errors, kind, at.file, str(known["field"]))
        self._counts[key] = self._counts.get(key, 0) + 1
        if self._counts[key] <= SHOWN_PER_FIELD:
            named = {"rule": rule_id(*key[1:]), **known}
            findings.append(ProblemReport(kind, at.file, message, remedy, **named))

    def _with_counts(self, findings: Sequence[ProblemReport], are_errors: bool) -> Iterator[ProblemReport]:
        yield from findings
        for (is_error, kind, file, name), count in self._counts.items():
            if is_error is are_errors and count > SHOWN_PER_FIELD:
                more = count - SHOWN_PER_FIELD
                message = f"{more} more problems of this kind" + (f" with {name}" if name else "")
                yield ProblemReport(
                    kind,
                    file,
                    message,
                    "correct them the same way",
                    field=name,
                    value=more,
                    rule=rule_id(kind, file, name),
                )

    def report(self, layers_completed: Sequence[str]) -> ValidationReport:
        """What was found so far."""
        return ValidationReport(
            tuple(self._with_counts(self.errors, True)),
            tuple(self._with_counts(self.warnings, False)),
            tuple(layers_completed),
        )


def rule_id(kind: str, file: str, field: str) -> str:
    """The id of a rule: the public Cobre's where it has the same one, else one that depends on no entity or position.

    >>> rule_id("MissingReference", "system/thermals.json", "bus_id")
    'thermals.bus_id.MissingReference'
    >>> rule_id("MissingReference", "constraints/thermal_bounds.parquet", "stage_id")
    '5a.49'
    """
    if kind == "ParseError":
        return UNPARSABLE
    name = re.sub(r"^profiles\..+?\.correlation_groups", "profiles.correlation_groups", field)
    parts = (PurePosixPath(file).stem, re.sub(r"\[\d+\]", "", name), kind)
    found = ".".join(part for part in parts if part)
    return RULE_NUMBERS.get(found, found)


def raise_if_invalid(report: ValidationReport, case: str) -> None:
    """Raise one `ValidationError` that carries every error of the report, and the warnings about the same files."""
    if report.valid:
        return
    first = report.errors[0]
    files = {each.file for each in report.errors}
    warnings = [each.to_dict() for each in report.warnings if each.file in files]
    if len(report.errors) == 1:
        place = ": ".join(part for part in (first.file, first.entity) if part)
        raise ValidationError(
            f"{place}: {first.message}",
            kind=first.kind,
            context={key: value for key, value in first.to_dict().items() if key not in ("kind", "message")},
            suggestion=first.remedy,
            errors=[first.to_dict()],
            warnings=warnings,
        )
    listing = "\n".join(f"{number}. {problem}" for number, problem in enumerate(report.errors, 1))
    raise ValidationError(
        f"the case {case} has {len(report.errors)} problems\n{listing}",
        kind=first.kind,
        context={"case": case, "problems": len(report.errors)},
        suggestion="correct all of them; cobre validate shows them again",
        errors=[problem.to_dict() for problem in report.errors],
        warnings=warnings,
    )


def plain(value: Any) -> Any:
    """``value`` in types of JSON; anything else becomes text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return plain(value.item()) if hasattr(value, "item") else str(value)


def shown(value: Any, width: int = 60) -> str:
    """``value`` for a message: short, on one line."""
    text = "null" if value is None else repr(value)
    text = {"True": "true", "False": "false"}.get(text, text)
    return text if len(text) <= width else f"{text[: width - 1]}…"

from __future__ import annotations

import json
import pickle
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import cobre
from cobre import errors
from cobre.comm import BackendKind

DOCS = Path(__file__).parent.parent / "docs" / "errors.md"

EXAMPLES = [
    errors.CobreError("plain", suggestion="do this"),
    errors.CollectiveFailed("allreduce", 0, "rank 2 died", suggestion="look at its log"),
    errors.InvalidBufferSize("allgatherv", 10, 9),
    errors.InvalidRoot(7, 4),
    errors.InvalidCommunicator(),
    errors.AllocationFailed(1 << 70, "too much"),
    errors.BackendNotAvailable("mpi", ["shm", "local"]),
    errors.InvalidBackend("smoke", ["shm", "local"]),
    errors.InitializationFailed("tcp", OSError(98, "in use")),
    errors.MissingConfiguration("shm", ["COBRE_SHM_NAME", "COBRE_SHM_RANK"]),
    errors.WorkerError(3, -9),
    errors.WorkerError(3, 1, ValueError("inner")),
    errors.SolverError(4, 12, "infeasible"),
    errors.IOError("case", "no such folder"),
    errors.ValidationError("bad", kind="OutOfRange", errors=[{"file": "hydros.json", "value": -1}]),
]

FIELDS = {
    "CollectiveFailed": ["operation", "mpi_error_code", "message"],
    "InvalidBufferSize": ["operation", "expected", "actual"],
    "InvalidRoot": ["root", "size"],
    "InvalidCommunicator": [],
    "AllocationFailed": ["requested_bytes", "message"],
    "BackendNotAvailable": ["requested", "available"],
    "InvalidBackend": ["requested", "available"],
    "InitializationFailed": ["backend", "source"],
    "MissingConfiguration": ["backend", "missing_vars"],
    "WorkerError": ["rank", "exit_code", "inner"],
    "SolverError": ["stage", "iteration", "solver_status"],
}


def _id(error: errors.CobreError) -> str:
    return type(error).__name__


@pytest.mark.parametrize("error", EXAMPLES, ids=_id)
def test_a_pickled_error_keeps_all_fields(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.to_dict() == error.to_dict()
    for field in FIELDS.get(type(error).__name__, []):
        assert repr(getattr(copy, field)) == repr(getattr(error, field))


@pytest.mark.parametrize("error", EXAMPLES, ids=_id)
def test_to_dict_is_json(error):
    document = json.loads(json.dumps(error.to_dict()))
    assert document["kind"] in errors.KINDS
    assert document["message"] == error.message
    assert document["suggestion"] == error.suggestion
    assert document["type"] == type(error).__name__


def test_an_error_that_holds_an_unpicklable_cause_still_pickles():
    class Local(Exception):  # cannot be found by name, so pickle refuses it
        pass

    copy = pickle.loads(pickle.dumps(errors.InitializationFailed("tcp", Local("socket in use"))))
    assert "socket in use" in str(copy.source)
    assert "socket in use" in str(copy)


def test_errors_nested_deeply_or_in_a_circle_pickle_at_once():
    error = errors.CobreError("innermost")
    for rank in range(40):
        error = errors.WorkerError(rank, 1, error)
    copy = pickle.loads(pickle.dumps(error))
    assert copy.inner.inner.rank == 37
    circle = errors.CobreError("round")
    circle.context["self"] = circle
    copy = pickle.loads(pickle.dumps(circle))
    assert copy.context["self"] is copy


def test_only_unpicklable_parts_become_text():
    error = errors.CobreError("x", context={"list": [1, threading.Lock(), {"deep": 2}]})
    kept = pickle.loads(pickle.dumps(error)).context["list"]
    assert kept[0] == 1
    assert "lock" in kept[1]
    assert kept[2] == {"deep": 2}


def test_values_of_unpicklable_classes_become_text():
    class Count(int):
        pass

    class Word(str):
        pass

    class LocalError(errors.CobreError):
        pass

    context = {"count": Count(3), "word": Word("w"), "error": LocalError("inner"), "kind": BackendKind.SHM}
    copy = pickle.loads(pickle.dumps(errors.CobreError("x", context=context)))
    assert (copy.context["count"], copy.context["word"]) == ("3", "'w'")
    assert "inner" in str(copy.context["error"])
    assert copy.context["kind"] is BackendKind.SHM


def test_a_context_that_holds_itself_is_json_all_the_same():
    items = [1]
    items.append(items)
    error = errors.CobreError("x", context={"items": items, "twice": [items, items]})
    assert json.loads(json.dumps(error.to_dict()))["context"]["items"] == [1, "…"]


def test_numbers_stay_numbers_in_json():
    error = errors.CobreError(
        "x", context={"count": np.int64(3), "gap": float("nan"), "flag": np.bool_(True)}
    )
    document = json.loads(json.dumps(error.to_dict(), allow_nan=False))
    assert document["context"] == {"count": 3, "gap": "nan", "flag": True}


def test_a_subclass_with_its_own_signature_pickles():
    copy = pickle.loads(pickle.dumps(Odd(1, 2)))
    assert (copy.total, copy.message) == (3, "1 and 2")


class Odd(errors.CobreError):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")
        self.total = a + b


def test_the_text_says_what_happened_then_what_to_do():
    assert str(EXAMPLES[1]) == "rank 2 died\n  fix: look at its log"


def test_every_error_class_has_an_example_here():
    classes = {n for n in errors.__all__ if isinstance(getattr(errors, n), type)}
    abstract = {"CommError", "BackendError"}
    assert classes - abstract == {type(e).__name__ for e in EXAMPLES}


@pytest.mark.parametrize(
    ("error", "kind", "exit_status"),
    [
        (errors.MissingConfiguration("shm", ["A"]), "IncompatibleSettings", 4),
        (errors.InitializationFailed("shm", "x"), "CommunicationFailed", 4),
        (errors.CollectiveFailed("barrier"), "CommunicationFailed", 4),
        (errors.WorkerError(0, 1), "WorkerFailed", 4),
        (errors.WorkerError(0, 1, ValueError("x")), "WorkerFailed", 4),
        (errors.WorkerError(0, 1, errors.SolverError(0, 1, "infeasible")), "WorkerFailed", 3),
        (errors.SolverError(0, 1, "infeasible"), "SolverFailure", 3),
        (errors.IOError("x"), "MissingFile", 2),
        (errors.ValidationError("x", kind="DuplicateId"), "DuplicateId", 1),
    ],
    ids=lambda value: _id(value) if isinstance(value, Exception) else str(value),
)
def test_kind_and_exit_status(error, kind, exit_status):
    assert (error.kind, error.exit_status) == (kind, exit_status)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="unknown error kind"):
        errors.CobreError("x", kind="Bogus")
    with pytest.raises(ValueError, match="no validation kind"):
        errors.ValidationError("x", kind="WorkerFailed")


def test_the_users_names_are_on_the_package():
    assert cobre.CobreError is errors.CobreError
    assert cobre.IOError is errors.IOError
    assert not issubclass(cobre.IOError, OSError)


def test_every_kind_and_every_class_has_a_heading_in_the_documentation():
    headings = set(re.findall(r"^#+ `?(\w+)`?", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(errors.KINDS) <= headings
    assert {n for n in errors.__all__ if isinstance(getattr(errors, n), type)} <= headings

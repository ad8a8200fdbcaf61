"""The same bits however the work is split: bounds, statistics, cuts, policy files, the iteration that ends it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cobre.comm import run
from matrices import IS_SOAK, every_value_once
from mpi_ranks import LIBRARIES, launch, write_program
from sddp.studies import digests, digests_with_shared_cuts, split_cases
from sddp.trained import digest, trained

GROUPS = [("shm", 2), ("tcp", 3), ("shm", 9)]
if IS_SOAK:
    GROUPS += [("shm", 3), ("shm", 4), ("tcp", 2)]


@pytest.fixture(scope="module")
def alone():
    return {name: digest(trained(case)) for name, case in split_cases().items()}


@pytest.mark.parametrize(("backend", "n_ranks"), GROUPS)
def test_any_backend_and_number_of_ranks(backend, n_ranks, alone):
    for found in run(digests, num_workers=n_ranks, backend=backend):
        assert found == alone


@pytest.mark.parametrize("threads", [2, 5] if IS_SOAK else [3])
def test_any_number_of_threads(threads, alone):
    found = {name: digest(trained(case, threads=threads)) for name, case in split_cases().items()}
    assert found == alone


def test_ranks_with_threads(alone):
    for found in run(digests, num_workers=2, backend="shm", kwargs={"threads": 2}):
        assert found == alone


@pytest.mark.parametrize("n_ranks", [2, 9] if IS_SOAK else [2])
def test_ranks_that_share_the_memory_of_cuts(n_ranks, alone):
    for found in run(digests_with_shared_cuts, num_workers=n_ranks, backend="shm"):
        assert found == alone


def test_a_second_run(alone):
    assert {name: digest(trained(case)) for name, case in split_cases().items()} == alone


def test_a_changed_bit_changes_the_hash(alone):
    case = split_cases()["level1"]
    other = replace(case, initial=replace(case.initial, storage_hm3=case.initial.storage_hm3 + 1e-12))
    assert digest(trained(other)) != alone["level1"]


ON_MPI = """
import json
sys.path.insert(0, FOLDER)
from sddp.studies import digests_with_shared_cuts
with create_communicator() as comm:
    found = digests_with_shared_cuts(comm)
    say(json.dumps(found))
"""


@pytest.mark.few(1)
@pytest.mark.parametrize(("library", "n_ranks"), every_value_once(LIBRARIES, (3, 2)))
def test_mpi(library, n_ranks, alone, tmp_path):
    code = ON_MPI.replace("FOLDER", repr(str(Path(__file__).parent.parent)))
    done = launch(library, n_ranks, write_program(tmp_path, code))
    assert done.returncode == 0, done.stdout
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert said == [alone] * n_ranks, done.stdout

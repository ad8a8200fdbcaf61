"""Programs that share a launch of MPI ranks: one that fails does not take the others with it."""

from __future__ import annotations

import pytest

import mpi_ranks
from nested import run_pytest

TESTS = """
import pytest
from mpi_batch import said

PROCESSES = set()

@pytest.mark.parametrize("said", ["mpich"], indirect=True)
@pytest.mark.parametrize("word", ["good", "bad", "fine"])
@pytest.mark.mpi_batch(2, '''
    with create_communicator() as comm:
        comm.barrier()
        say("<word>", comm.rank, os.environ["COBRE_COMM_CHECK"], os.getpid())
        assert "<word>" != "bad", "one is wrong"
''', COBRE_COMM_CHECK="1")
def test_says(said, word):
    assert [line.rpartition(" ")[0] for line in said] == [f"{word} 0 1", f"{word} 1 1"]
    PROCESSES.update(line.rpartition(" ")[2] for line in said)

def test_all_in_two_processes():
    assert len(PROCESSES) == 2
"""


def _run(folder, choice):
    mpi_ranks.python_of("mpich")
    return run_pytest(folder, TESTS, "-k", choice, COBRE_TEST_MPI=str(mpi_ranks.FOLDER))


@pytest.mark.soak
def test_only_the_program_that_fails_fails_its_test(tmp_path):
    said = _run(tmp_path, "says")
    assert "2 passed, 1 deselected, 1 error" in said, said
    assert "AssertionError: one is wrong" in said, said


@pytest.mark.soak
def test_programs_that_succeed_share_a_launch(tmp_path):
    said = _run(tmp_path, "not bad")
    assert "3 passed" in said, said

"""What aborted MPI jobs left in shared memory is found; what a running one has there is left alone."""

from __future__ import annotations

import mmap
import os
import subprocess
import time
from pathlib import Path

import pytest

import mpi_ranks
from cobre.comm.backends.mpi.leftovers import (
    find_leftovers,
    find_session_folders,
    own_segments,
    remove_own_segments,
)
from cobre.comm.doctor import find_leftovers as find_all

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def segment(tmp_path):
    """Make a file of that name that is so many seconds old."""

    def make(name, age_s=3600.0):
        path = tmp_path / name
        path.write_bytes(bytes(4096))
        os.utime(path, (time.time() - age_s,) * 2)
        return path

    return make


@pytest.mark.parametrize("name", ["mpich_shm_12ab_0", "sm_segment.host.0.1234"])
def test_a_segment_without_mappings_is_a_leftover_and_can_be_removed(segment, tmp_path, name):
    path = segment(name)
    segment("cobre_something_else")
    [found] = find_leftovers(tmp_path)
    assert (found.path, found.bytes, found.is_in_use) == (str(path), 4096, False)
    assert "killed or aborted" in found.owner
    assert found.remove()
    assert not path.exists()
    assert not found.remove()


def test_mapped_segments_are_in_use(segment, tmp_path):
    path = segment("mpich_shm_1_0")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        assert [found.is_in_use for found in find_leftovers(tmp_path)] == [True]
    assert [found.is_in_use for found in find_leftovers(tmp_path)] == [False]


def test_new_segments_without_mappings_are_in_use(segment, tmp_path):
    segment("mpich_shm_1_0", age_s=0.0)
    [found] = find_leftovers(tmp_path)
    assert found.is_in_use
    assert "runs" not in found.owner


def test_a_segment_without_mappings_seconds_after_it_was_made_belongs_to_no_running_job(segment, tmp_path):
    segment("mpich_shm_1_0", age_s=5.0)
    [found] = find_leftovers(tmp_path)
    assert (found.is_in_use, found.owner) == (False, "of an MPI job that was killed or aborted")


def test_a_folder_of_a_killed_mpiexec_is_a_leftover_unless_a_process_names_it(tmp_path):
    folder = tmp_path / "cobre-mpiexec-0123456789abcdef"
    (folder / "ompi.1").mkdir(parents=True)
    (folder / "ompi.1/contact").write_text("tcp")
    assert [found.is_in_use for found in find_session_folders(tmp_path)] == [True]  # made just now
    os.utime(folder, (time.time() - 5.0,) * 2)
    with subprocess.Popen(["sleep", "60"], env={"PRTE_MCA_prte_tmpdir_base": str(folder)}) as process:
        [found] = find_session_folders(tmp_path)
        process.kill()
    assert (found.is_in_use, found.owner) == (True, "of an mpiexec that runs")
    [found] = find_session_folders(tmp_path)
    assert (found.bytes, found.is_in_use, found.owner) == (3, False, "of an mpiexec that was killed")
    assert found.remove()
    assert find_session_folders(tmp_path) == []


def test_only_what_this_process_has_mapped_is_its_own(segment, tmp_path):
    mine, other = segment("mpich_shm_1_0"), segment("mpich_shm_2_0")
    foreign = segment("something_else")
    assert own_segments(tmp_path) == []
    with (
        mine.open("r+b") as file,
        foreign.open("r+b") as stranger,
        mmap.mmap(file.fileno(), 4096),
        mmap.mmap(stranger.fileno(), 4096),
    ):
        assert own_segments(tmp_path) == [str(mine)]
        remove_own_segments(tmp_path)
    assert sorted(tmp_path.iterdir()) == [other, foreign]


@pytest.mark.parametrize("library", mpi_ranks.LIBRARIES)
@pytest.mark.parametrize("fate", ["raise ValueError('ill')", "os.kill(os.getpid(), 9)"])
def test_a_job_that_a_rank_ends_leaves_nothing_in_shared_memory(tmp_path, library, fate):
    program = mpi_ranks.write_program(
        tmp_path,
        f"""
        from cobre.comm.backends.mpi.leftovers import own_segments
        comm = create_communicator()
        region = comm.create_shared_region(1000)
        say("segments", *own_segments())
        comm.barrier()
        if comm.rank == 1:
            {fate}
        comm.barrier()
        """,
    )
    done = mpi_ranks.launch(library, 2, program)
    assert done.returncode, done.stdout
    assert left_of_segments(done.stdout) == []


def test_a_rank_that_raises_under_a_bare_mpiexec_leaves_nothing_either(tmp_path):
    program = mpi_ranks.write_program(
        tmp_path,
        """
        from cobre.comm.backends.mpi.leftovers import own_segments
        comm = create_communicator()
        say("segments", *own_segments())
        comm.barrier()
        if comm.rank == 1:
            raise ValueError("ill")
        comm.barrier()
        """,
    )
    python = mpi_ranks.python_of("mpich")
    done = mpi_ranks.run(Path(python).parent / "mpiexec", "-n", 2, python, program)
    assert "aborting the job" in done.stdout
    assert left_of_segments(done.stdout) == []


@pytest.mark.parametrize("library", mpi_ranks.LIBRARIES)
def test_a_job_whose_launcher_is_killed_leaves_nothing_in_shared_memory(tmp_path, library):
    go = tmp_path / "go"
    program = mpi_ranks.write_program(
        tmp_path,
        f"""
        from cobre.comm.backends.mpi.leftovers import own_segments
        comm = create_communicator()
        say("segments", *own_segments())
        while not os.path.exists({str(go)!r}):
            time.sleep(0.005)
        say("ready")
        time.sleep(60)
        """,
    )
    options = ["-n", "2", "--backend", "mpi", "--no-prefix"]
    command = [mpi_ranks.python_of(library), "-m", "cobre", "launch", *options, str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launcher:
        said = said_by_both(launcher, "segments")
        go.touch()  # what is said from now on, the launcher reads after what the ranks have reported
        said_by_both(launcher, "ready")
        launcher.kill()
    deadline = time.monotonic() + 30
    while (left := left_of_segments(said)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left == []


def said_by_both(launcher, word):
    lines = []
    while sum(line.startswith(word) for line in lines) < 2:
        lines.append(launcher.stdout.readline())
        assert lines[-1], lines
    return "".join(lines)


def left_of_segments(output):
    """Of the segments that ranks named, those that are still there."""
    named = {path for line in output.splitlines() if line.startswith("segments") for path in line.split()[1:]}
    assert named, output
    return [path for path in named if Path(path).exists()]


def test_doctor_lists_leftovers_of_mpi(segment, tmp_path, monkeypatch):
    path = segment("mpich_shm_1_0")
    monkeypatch.setattr("cobre.comm.backends.mpi.leftovers.find_leftovers.__defaults__", (tmp_path,))
    assert str(path) in [found.path for found in find_all()]

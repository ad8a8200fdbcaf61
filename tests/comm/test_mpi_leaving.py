"""How a rank of MPI ends: with a status, by an exception with another excepthook, in a forked child, or by close()."""

from __future__ import annotations

import pytest

from mpi_ranks import LIBRARIES, launch, with_libraries, write_program


@pytest.fixture(params=LIBRARIES)
def ranks(request, tmp_path):
    """Runs code in two ranks and returns status and output."""

    def start(code: str, *, ends_open: bool = False) -> tuple[int, str]:
        done = launch(request.param, 2, write_program(tmp_path, code, ends_open=ends_open))
        return done.returncode, done.stdout

    return start


WITHOUT_CLOSE = [
    "raise SystemExit(3)",
    "exit(3)",
    "builtin_exit(3)",
    "asyncio.run(leave())",
    "exit()",
    "pass",
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("ranks", "leave"), with_libraries(WITHOUT_CLOSE), indirect=["ranks"])
def test_however_a_rank_ends_without_close_it_ends_the_job(ranks, leave):
    """The other rank waits for it, and would do so for ever."""
    status, output = ranks(
        f"""
        import asyncio
        from builtins import exit as builtin_exit
        from sys import exit
        async def leave():
            sys.exit(3)
        comm = create_communicator()
        comm.barrier()
        if comm.rank == 1:
            {leave}
        else:
            comm.barrier()
        """,
        ends_open=True,
    )
    assert status == 1, output
    assert "cobre: rank 1 of 2 ended without close(): aborting the job" in output


LEFT_BY = {
    "its status": (
        3,
        "exited with status 3",
        False,
        """
        with create_communicator() as comm:
            comm.barrier()
            if comm.rank == 1:
                sys.exit(3)
            comm.barrier()
        """,
    ),
    "an exception that is caught outside": (
        1,
        "raised ValueError",
        True,
        """
        comm = create_communicator()
        comm.barrier()
        try:
            with comm:
                if comm.rank == 1:
                    raise ValueError("the reservoir is empty")
                comm.barrier()
        except ValueError:
            pass
        """,
    ),
}


@pytest.mark.parametrize(("ranks", "how"), with_libraries(LEFT_BY), indirect=["ranks"])
def test_how_a_with_block_is_left_decides_about_the_job(ranks, how):
    expected, words, ends_open, code = LEFT_BY[how]
    status, output = ranks(code, ends_open=ends_open)
    assert status == expected, output
    assert f"cobre: rank 1 of 2 {words}: aborting the job" in output


SURVIVED = {
    "caught, then closed": """
        try:
            with comm:
                raise SystemExit(2)
        except SystemExit:
            pass
        comm.close()
        """,
    "of a thread": """
        import threading
        thread = threading.Thread(target=sys.exit, args=(2,))
        thread.start()
        thread.join()
        comm.close()
        """,
    "status 0 in a with block": """
        with comm:
            raise SystemExit(0)
        """,
    "closed before": """
        comm.close()
        sys.exit()
        """,
}


@pytest.mark.few(2)
@pytest.mark.parametrize(("ranks", "how"), with_libraries(SURVIVED), indirect=["ranks"])
def test_a_rank_that_has_closed_does_not_abort_others(ranks, how):
    status, output = ranks(
        f"""
        comm = create_communicator()
        comm.barrier()
        say("working")
        {SURVIVED[how]}
        """,
        ends_open=True,
    )
    assert status == 0, output
    assert output.count("working") == 2
    assert "aborting" not in output


def test_a_rank_that_raises_ends_the_job_with_any_excepthook(ranks):
    status, output = ranks(
        """
        comm = create_communicator()
        sys.excepthook = lambda kind, error, where: say("shown by another:", error)
        if comm.rank == 1:
            raise ValueError("the reservoir is empty")
        comm.barrier()
        """
    )
    assert status == 1, output
    assert "shown by another: the reservoir is empty" in output
    assert "cobre: rank 1 of 2 ended without close(): aborting the job" in output


def test_mpi_started_by_cobre_is_finalised_even_if_mpi4py_must_not_start_it(ranks):
    status, output = ranks(
        """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        with create_communicator() as comm:
            comm.barrier()
        time.sleep(0.3 * comm.rank)  # MPICH ends whoever is still there when a rank ends unfinalised
        say("rank", comm.rank, "has done its work")
        """
    )
    assert status == 0, output
    assert output.count("has done its work") == 2


def test_a_forked_child_ends_alone(ranks):
    status, output = ranks(
        """
        comm = create_communicator()
        comm.barrier()
        child = os.fork() if comm.rank == 1 else None
        if child == 0:
            sys.exit(5)
        deadline = time.monotonic() + 20
        while child and time.monotonic() < deadline:
            done, how = os.waitpid(child, os.WNOHANG)
            if done:
                say("child:", os.waitstatus_to_exitcode(how))
                break
            time.sleep(0.01)
        comm.barrier()
        say("rank", comm.rank, "goes on")
        """
    )
    assert status == 0, output
    assert "child: 5" in output
    assert output.count("goes on") == 2
    assert "leaked" not in output


def test_a_daemon_thread_finishes_the_call_that_it_is_in(ranks):
    status, output = ranks(
        """
        import threading
        comm = create_communicator()
        comm.barrier()
        if comm.rank == 0:
            threading.Thread(target=comm.barrier, daemon=True).start()
        else:
            time.sleep(0.5)
            comm.barrier()
            say("met")
        comm.close()
        """
    )
    assert status == 0, output
    assert output == "met\n"

"""Communicators given by the caller, MPI beside us, nodes, and regions that outlive what made them."""

from __future__ import annotations

import pytest

from mpi_ranks import LIBRARIES, launch, python_of, run, write_program


@pytest.fixture(params=LIBRARIES)
def ranks(request, tmp_path):
    """Runs code in several ranks, which must succeed, and returns what they said, sorted."""

    def start(size: int, code: str, **environ: str) -> list[str]:
        done = launch(request.param, size, write_program(tmp_path, code), **environ)
        assert done.returncode == 0, done.stdout
        return sorted(done.stdout.split("\n"))[1:]

    start.library = request.param
    return start


@pytest.mark.mpi_batch(
    4,
    """
        from mpi4py import MPI
        half = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2, -MPI.COMM_WORLD.rank)
        with MpiCommunicator(half) as comm:
            seen = np.zeros(2, int)
            comm.allgatherv(np.array([MPI.COMM_WORLD.rank]), seen, [1, 1], [0, 1])
            say(MPI.COMM_WORLD.rank, comm.rank, comm.size, seen.tolist())
        half.Barrier()
        """,
)
def test_a_given_communicator_is_duplicated_and_not_changed(said):
    assert said == ["0 1 2 [2, 0]", "1 1 2 [3, 1]", "2 0 2 [2, 0]", "3 0 2 [3, 1]"]


@pytest.mark.mpi_batch(
    2,
    """
        from mpi4py import MPI
        for wrong in (MPI.COMM_NULL, "COMM_WORLD", 3):
            try:
                MpiCommunicator(wrong)
            except Exception as error:
                say(type(error).__name__)
        """,
)
def test_invalid_communicators_are_refused(said):
    assert said == ["InitializationFailed"] * 2 + ["TypeError"] * 4


@pytest.mark.soak
def test_running_out_of_communicator_ids_is_a_contract_error(tmp_path):
    # MPICH has a limit; Open MPI makes as many as memory allows.
    program = write_program(
        tmp_path,
        """
        from mpi4py import MPI
        groups = []
        try:
            for _ in range(10_000):  # alone, which is quick on a busy machine, too
                groups.append(MPI.COMM_SELF.Dup())
        except MPI.Exception:
            pass
        try:
            MpiCommunicator()
        except cobre.comm.InitializationFailed as error:
            say(error.message[:46])
        for group in groups:
            group.Free()
        with create_communicator() as comm:
            comm.barrier()
        """,
    )
    done = launch("mpich", 2, program)
    assert done.returncode == 0, done.stdout
    for rank in range(2):
        assert f"MPI cannot make a communicator on rank {rank} of 2" in done.stdout


@pytest.mark.mpi_batch(
    2,
    """
        from mpi4py import MPI
        world, other = MPI.COMM_WORLD, 1 - MPI.COMM_WORLD.rank
        with create_communicator() as comm:
            mine, theirs, total = np.full(3, 1.0 + comm.rank), np.zeros(3), np.zeros(3)
            pending = world.Irecv(theirs, other)
            comm.allreduce(mine, total, "sum")
            gathering = world.Iallreduce(mine, np.empty(3))
            comm.barrier()
            world.Send(10 * mine, other)
            comm.broadcast(mine, 0)
            pending.Wait()
            gathering.Wait()
            say(total.tolist(), mine.tolist(), theirs.tolist())
        """,
)
def test_messages_of_the_user_s_communicator_are_not_received(said):
    assert said == [
        "[3.0, 3.0, 3.0] [1.0, 1.0, 1.0] [10.0, 10.0, 10.0]",
        "[3.0, 3.0, 3.0] [1.0, 1.0, 1.0] [20.0, 20.0, 20.0]",
    ]


def test_an_mpi_that_the_program_started_is_used_and_not_finalised(ranks):
    assert (
        ranks(
            2,
            """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        MPI.Init_thread(MPI.THREAD_SERIALIZED)
        with create_communicator() as comm:
            comm.barrier()
        MPI.COMM_WORLD.Barrier()
        MPI.Finalize()
        say(MPI.Is_finalized())
        try:
            create_communicator()
        except cobre.comm.InitializationFailed as error:
            say(error.message)
        """,
        )
        == ["MPI has been finalised in this process and cannot start again"] * 2 + ["True"] * 2
    )


def test_where_mpi_allows_one_thread_others_are_refused(ranks):
    said = ranks(
        1,
        """
        import threading
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        MPI.Init_thread(MPI.THREAD_FUNNELED)
        if MPI.Query_thread() >= MPI.THREAD_SERIALIZED:  # the library gives more than it was asked for
            MPI.Query_thread = lambda: MPI.THREAD_FUNNELED
        comm = create_communicator()
        comm.barrier()
        def other():
            try:
                comm.barrier()
            except cobre.comm.InvalidCommunicator as error:
                say(error.message)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        comm.close()
        MPI.Finalize()  # who started it ends it
        """,
    )
    assert "barrier: MPI was initialised for one thread, and this is another" in said


def test_where_mpi_allows_one_call_at_a_time_other_communicators_are_refused_meanwhile(ranks):
    said = ranks(
        2,
        """
        import threading
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        MPI.Init_thread(MPI.THREAD_SERIALIZED)
        comm, other = create_communicator(), create_communicator()
        if comm.rank == 0:
            thread = threading.Thread(target=comm.barrier)
            thread.start()
            time.sleep(0.3)
            for call in (other.barrier, other.split_local):
                try:
                    call()
                except cobre.comm.InvalidCommunicator as error:
                    say(error.message)
            thread.join()
        else:
            time.sleep(1)
            comm.barrier()
        other.barrier()
        comm.close()
        other.close()
        MPI.Finalize()
        """,
    )
    why = "another communicator is in the middle of a call, and MPI was initialised for one at a time"
    assert said == [f"{call}: {why} (THREAD_SERIALIZED)" for call in ("barrier", "split_local")]


NODES = """
from mpi4py import MPI
world = MPI.COMM_WORLD
node = world.Split(world.rank // 2, world.rank)
comm = MpiCommunicator(world, node=node)
"""


@pytest.mark.mpi_batch(
    4,
    NODES
    + """
with comm.split_local() as local, comm.create_shared_region(2, "i8") as region:
    region.as_mut_block(local.rank, 1)[0] = 10 + comm.rank
    region.fence()
    say(comm.rank, comm.is_leader, local.rank, local.size, region.as_slice().tolist(), region.as_mut_slice().size)
comm.close()
""",
)
def test_ranks_on_several_nodes_share_with_their_own_only(said):
    assert said == [
        "0 True 0 2 [10, 11] 2",
        "1 False 1 2 [10, 11] 0",
        "2 True 0 2 [12, 13] 2",
        "3 False 1 2 [12, 13] 0",
    ]


@pytest.mark.mpi_batch(
    4,
    NODES
    + """
counts = [50_001, 7, 30_000, 0]
displs = [0, 50_001, 50_008, 80_008]
with comm.create_shared_region(sum(counts)) as region:
    recv = region.as_mut_block(0, region.count)
    comm.allgatherv(np.full(counts[comm.rank], 1.0 + comm.rank), recv, counts, displs)
    say(region.as_slice().tolist() == np.repeat([1.0, 2.0, 3.0, 4.0], counts).tolist())
    del recv
    comm.barrier()
comm.close()
""",
)
def test_gathering_into_regions_of_several_nodes_fills_them_all(said):
    assert said == ["True"] * 4


@pytest.mark.mpi_batch(
    4,
    NODES
    + """
from cobre.comm.backends.mpi import allocation
from cobre.comm.memory import Available
real = allocation.available_for_sharing
if world.rank == 2:
    allocation.available_for_sharing = lambda: Available(1000, "a small machine")
try:
    comm.create_shared_region(1000)
except cobre.comm.AllocationFailed as error:
    say(comm.rank, error.requested_bytes, error.message)
comm.create_shared_region(10).close()
comm.close()
allocation.available_for_sharing = real
""",
)
def test_one_node_without_room_refuses_the_region_everywhere(said):
    start = "8000 a region of 8,000 bytes does not fit on the node of rank 2: 1,000 are available"
    assert [line.startswith(f"{rank} {start}") for rank, line in enumerate(said)] == [True] * 4, said
    assert "a small machine" in said[2]


@pytest.mark.mpi_batch(
    2,
    """
        comm = create_communicator()
        region = comm.create_shared_region(100_000)
        if comm.is_leader:
            region.as_mut_slice()[:] = 7.0
        region.fence()
        view = region.as_slice()[::1000] if comm.rank == 0 else None
        region.close()
        comm.close()
        del region, comm
        say(view is None or float(view.sum()))
        """,
)
def test_views_stay_readable_after_everything_is_closed(said):
    assert said == ["700.0", "True"]


@pytest.mark.parametrize("size", [1, 2])
def test_views_stay_readable_after_the_program_finalises_mpi(ranks, size):
    said = ranks(
        size,
        """
        import gc
        comm = create_communicator()
        region = comm.create_shared_region(100_000)
        if comm.is_leader:
            region.as_mut_slice()[:] = 7.0
        region.fence()
        view = region.as_slice()
        from mpi4py import MPI
        MPI.Finalize()
        try:
            comm.barrier()
        except cobre.comm.InvalidCommunicator as error:
            say(error.message)
        region.close()
        comm.close()
        del region, comm
        gc.collect()
        say(float(view[::1000].sum()))
        """,
    )
    assert said == ["700.0"] * size + ["barrier: the communicator is closed"] * size


@pytest.mark.mpi_batch(
    2,
    """
        def mapped():
            with open("/proc/self/maps") as maps:
                spans = [line.split()[0].split("-") for line in maps]
            return sum(int(end, 16) - int(start, 16) for start, end in spans) >> 20
        with create_communicator() as comm:
            before = mapped()
            for _ in range(10):
                region = comm.create_shared_region(4 << 20)  # 32 MiB
                view = region.as_slice()
                region.fence()
                del view
                region.close()
            kept = comm.create_shared_region(4 << 20)
            view = kept.as_slice()
            kept.close()
            held = mapped() - before
            del view
            comm.barrier()
        say(held < 120, mapped() - before < 90)
        """,
)
def test_memory_without_views_is_freed_at_close(said):
    assert said == ["True True"] * 2


def test_regions_that_are_not_closed_are_freed_at_exit(ranks):
    assert (
        ranks(
            3,
            """
        comm = create_communicator()
        region, other = comm.create_shared_region(1000), comm.create_shared_region(10)
        view = other.as_slice()
        if comm.rank == 0:
            comm.close()
        say("end")
        """,
        )
        == ["end"] * 3
    )


@pytest.mark.mpi_batch(
    4,
    """
        comm = create_communicator()
        try:
            with comm.create_shared_region(10) as region:
                if comm.rank == 1:
                    raise ValueError
        except ValueError:
            say("caught")
        comm.close()
        say("end")
        """,
)
def test_a_block_left_by_an_exception_frees_nothing_and_blocks_no_rank(said):
    assert said == ["caught"] + ["end"] * 4


def test_a_plain_run_goes_on_where_slurm_is_but_no_mpi_can_be_loaded(ranks, tmp_path):
    program = write_program(tmp_path, "say(create_communicator().backend)")
    nowhere = {"SLURM_PROCID": "0", "MPI4PY_LIBMPI": "/nowhere/libmpi.so"}
    assert run(python_of(ranks.library), program, **nowhere).stdout == "local\n"
    refused = run(python_of(ranks.library), program, **nowhere, COBRE_COMM_BACKEND="mpi")
    assert "BackendNotAvailable: mpi: mpi4py cannot load an MPI library" in refused.stdout
    assert run(python_of(ranks.library), program, SLURM_PROCID="0").stdout == "mpi\n"

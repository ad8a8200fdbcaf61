"""The example programs do what they say, on one rank and on several."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from commands import run_command

MPI_ENVIRONMENTS = os.environ.get("COBRE_TEST_MPI")
EXAMPLES = Path(__file__).parents[2] / "examples"
DISTRIBUTED_MEAN = EXAMPLES / "distributed_mean.py"


def expected_lines(size: int) -> list[str]:
    series = 1.0 / np.arange(1, 1001)
    bounds = {1: [0], 2: [0, 500], 3: [0, 334, 667], 4: [0, 250, 500, 750]}[size] + [1000]
    blocks = [(start, stop, series[start:stop].sum()) for start, stop in itertools.pairwise(bounds)]
    total = 0.0
    for _, _, part in blocks:
        total += part
    return [
        *(
            f"rank {rank} of {size} summed elements {start}..{stop - 1}: {part:.6f}"
            for rank, (start, stop, part) in enumerate(blocks)
        ),
        f"mean, the same on every backend: {total / 1000}",
        f"mean, the same for every number of ranks: {series.mean()}",
    ]


def output_of(arguments, python=sys.executable, **environ: str) -> list[str]:
    command = [python, *map(str, arguments)]
    done = run_command(command, env={**os.environ, **environ})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


IN_TURN = "launched"


@pytest.fixture(params=["shm", "tcp", "sockets", "openmpi", "mpich"])
def launched(request, sockets_path):
    """What rank 0 of an example prints, on each backend that is here."""
    python, backend = sys.executable, request.param
    if backend in ("openmpi", "mpich"):
        if not MPI_ENVIRONMENTS:
            pytest.skip("needs the MPI environments of make test")
        python, backend = str(Path(MPI_ENVIRONMENTS) / backend / "bin" / "python"), "mpi"

    def run(program: Path, size: int) -> list[str]:
        launch = ["-m", "cobre", "launch", "-n", size, "--backend", backend, "--no-prefix", "--timeout", "50"]
        return output_of([*launch, program], python, PYTHONPATH=sockets_path)

    return run


def test_distributed_mean_runs_on_one_rank():
    assert output_of([DISTRIBUTED_MEAN]) == expected_lines(1)


@pytest.mark.few(1)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_distributed_mean_runs_on_several_ranks(launched, size):
    assert sorted(launched(DISTRIBUTED_MEAN, size)) == sorted(expected_lines(size))


def test_ranks_are_shown_in_front_of_their_lines():
    launch = ["-m", "cobre", "launch", "-n", "2", "--timeout", "50"]
    lines = output_of([*launch, DISTRIBUTED_MEAN])
    first, second, mean, same_mean = expected_lines(2)
    # Lines of one rank come in order; those of different ranks as they come.
    assert [line for line in lines if line.startswith("[0]")] == [
        f"[0] {line}" for line in (first, mean, same_mean)
    ]
    assert [line for line in lines if not line.startswith("[0]")] == [f"[1] {second}"]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["power_iteration.py", "shared_table.py"])
def test_an_example_prints_the_same_on_every_backend_and_size(launched, name):
    alone = output_of([EXAMPLES / name])
    assert alone
    assert launched(EXAMPLES / name, 3) == alone


def test_the_power_iteration_finds_the_largest_eigenvalue():
    i = np.arange(60)
    matrix = 1.0 / (1.0 + abs(i[:, None] - i[None, :]))
    found = float(output_of([EXAMPLES / "power_iteration.py"])[0].rpartition(" ")[2])
    assert found == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-12)

"""The same bits however the work is split: bounds, statistics, cuts, policy files, the iteration that ends it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cobre.comm import run
from cobre.core.config import BoundStalling, CutSelection, IterationLimit
from cobre.core.horizon import RiskMeasure
from cobre.sddp.training import train
from mpi_ranks import LIBRARIES, launch, write_program
from sddp.cases import StageSpec
from sddp.test_extensive_form import study
from sddp.trained import digest, settings, trained

GROUPS = [("shm", 2), ("shm", 3), ("shm", 4), ("tcp", 2), ("tcp", 3), ("shm", 9)]


def cases():
    """Seven passes: no number of ranks here divides them, and nine ranks leave two without work."""
    risk = RiskMeasure(weight=0.5, tail=0.4)
    stages = [StageSpec((200.0, 100.0), n, discount=0.97, risk=risk) for n in (2, 5, 4, 3)]
    price = {"costs": {"negative_inflow": 30.0}}
    lags = {"lags": [0.5, 0.2], "residual_ratio": 0.8, "past": [12.0, 9.0], **price}
    level1 = CutSelection("level1", check_frequency=3, max_active_per_stage=40)
    domination = CutSelection("domination", check_frequency=4)
    rules = (IterationLimit(60), BoundStalling(4, 1e-5))
    pay = {"non_negativity": "penalty"}
    return {
        "level1": study(
            stages, hydro=lags, load_std=4.0, training=replace(settings(12, 7), cut_selection=level1), **pay
        ),
        "domination": study(
            stages,
            hydro=price,
            source_std=0.2,
            training=replace(settings(9, 7), cut_selection=domination),
            **pay,
        ),
        "stalling": study(
            stages,
            hydro=lags,
            non_negativity="truncation",
            training=replace(settings(1, 7), stopping_rules=rules),
        ),
    }


def _digests(comm):
    return {name: digest(train(comm, case)) for name, case in cases().items()}


@pytest.fixture(scope="module")
def alone():
    return {name: digest(trained(case)) for name, case in cases().items()}


@pytest.mark.parametrize(("backend", "n_ranks"), GROUPS)
def test_any_backend_and_number_of_ranks(backend, n_ranks, alone):
    for found in run(_digests, num_workers=n_ranks, backend=backend):
        assert found == alone


def test_a_second_run(alone):
    assert {name: digest(trained(case)) for name, case in cases().items()} == alone


def test_the_hash_sees_a_changed_bit(alone):
    case = cases()["level1"]
    other = replace(case, initial=replace(case.initial, storage_hm3=case.initial.storage_hm3 + 1e-12))
    assert digest(trained(other)) != alone["level1"]


ON_MPI = """
import json
sys.path.insert(0, FOLDER)
from sddp.test_same_bits import _digests
with create_communicator() as comm:
    found = _digests(comm)
    say(json.dumps(found))
"""


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_mpi(library, n_ranks, alone, tmp_path):
    code = ON_MPI.replace("FOLDER", repr(str(Path(__file__).parent.parent)))
    done = launch(library, n_ranks, write_program(tmp_path, code))
    assert done.returncode == 0, done.stdout
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert said == [alone] * n_ranks, done.stdout

"""Every file of a simulation has the same bytes however the scenarios are split."""

from __future__ import annotations

from pathlib import Path

import pytest

import cobre
from case_folders import shuffled_copy
from cobre.comm import LocalCommunicator, run
from mpi_ranks import LIBRARIES, launch, write_program
from simulation.bits import SCENARIOS, VARIANTS, hashes, settings, simulate_all


@pytest.fixture(scope="module")
def alone(study, policy, tmp_path_factory):
    """Hashes of all variants, simulated by one process."""
    target = tmp_path_factory.mktemp("alone")
    with LocalCommunicator() as comm:
        simulate_all(comm, str(study), str(policy), str(target))
    found = all_hashes(target)
    assert len(found["by_scenario"]) > 11 * SCENARIOS
    assert found["by_table"] != found["out_of_sample"]
    return found


def all_hashes(target):
    return {variant: hashes(Path(target) / variant) for variant in VARIANTS}


@pytest.mark.parametrize(("backend", "n_ranks"), [("shm", 2), ("shm", 3), ("tcp", 2)])
def test_any_backend_and_number_of_ranks(study, policy, alone, tmp_path, backend, n_ranks):
    arguments = (str(study), str(policy), str(tmp_path))
    run(simulate_all, num_workers=n_ranks, backend=backend, args=arguments)
    assert all_hashes(tmp_path) == alone


ON_MPI = """
from pathlib import Path
sys.path.insert(0, TESTS)
from simulation.bits import simulate_all
with create_communicator() as comm:
    simulate_all(comm, *ARGUMENTS)
"""


@pytest.mark.parametrize("library", LIBRARIES)
def test_mpi(library, study, policy, alone, tmp_path):
    code = ON_MPI.replace("TESTS", repr(str(Path(__file__).parent.parent)))
    code = code.replace("ARGUMENTS", repr((str(study), str(policy), str(tmp_path / "out"))))
    done = launch(library, 2, write_program(tmp_path, code))
    assert done.returncode == 0, done.stdout
    assert all_hashes(tmp_path / "out") == alone


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_second_simulation_into_the_same_folder(study, policy, alone, tmp_path, variant):
    for scenarios in (SCENARIOS + 9, SCENARIOS):
        cobre.simulate(
            study, policy, config_overrides=settings(variant), output=tmp_path, scenarios=scenarios
        )
    assert hashes(tmp_path) == alone[variant]


def test_workers_of_this_process(study, policy, alone, tmp_path):
    cobre.simulate(
        study, policy, 2, config_overrides=settings("by_scenario"), output=tmp_path, scenarios=SCENARIOS
    )
    assert hashes(tmp_path) == alone["by_scenario"]


def test_right_after_training(study, alone, tmp_path):
    overrides = settings("by_scenario")
    case = cobre.load_case(study, overrides)
    cobre.simulate(case, cobre.train(case).policy, output=tmp_path, scenarios=SCENARIOS)
    assert hashes(tmp_path) == alone["by_scenario"]


def test_the_size_of_chunks_changes_no_bit(study, policy, alone, tmp_path):
    for variant in VARIANTS:
        overrides = settings(variant)
        overrides["simulation"]["io_channel_capacity"] = 7
        cobre.simulate(
            study, policy, config_overrides=overrides, output=tmp_path / variant, scenarios=SCENARIOS
        )
    assert all_hashes(tmp_path) == alone


def test_the_order_of_entities_in_files_changes_no_bit(study, alone, tmp_path):
    other = shuffled_copy(study, tmp_path / "shuffled")
    policy = cobre.train(other, config_overrides=settings("by_scenario")).policy
    for variant in VARIANTS:
        cobre.simulate(
            other,
            policy,
            config_overrides=settings(variant),
            output=tmp_path / "out" / variant,
            scenarios=SCENARIOS,
        )
    assert all_hashes(tmp_path / "out") == alone


def test_the_first_scenarios_do_not_depend_on_how_many_follow(study, policy, alone, tmp_path):
    cobre.simulate(study, policy, config_overrides=settings("by_scenario"), output=tmp_path, scenarios=5)
    few = {name: value for name, value in hashes(tmp_path).items() if "scenario_id=" in name}
    assert few
    assert few.items() <= alone["by_scenario"].items()

from __future__ import annotations

import json
import os
import random
import sys

import numpy as np
import pytest

import noise_recipe as recipe
from cobre._native import noise
from cobre.stochastic import seeds
from commands import run_command


def test_the_golden_seeds_of_the_format_come_out():
    assert seeds.forward_seed(42, 0, 0, 0) == 4418977803187233897
    assert seeds.stage_seed(42, 0) == 983776962555776753
    assert seeds.opening_seed(42, 0, 0) == 4798411809987085555
    assert seeds.grouped_forward_seed(42, 3, 7, 5) == 2246414554898261654


def test_every_class_has_a_seed_of_its_own_and_inflows_keep_the_given_one():
    assert seeds.class_seed(42, "load") == 14604737007079072421
    assert seeds.class_seed(42, "ncs") == 8293717529204897878
    assert seeds.class_seed(42, "inflow") == 42
    with pytest.raises(ValueError, match="at most 8 letters"):
        noise.class_seed(42, "reservoirs")


def test_windows_and_external_scenarios_are_chosen_by_hashes_of_their_own():
    assert [seeds.historical_window(1, scenario, 21) for scenario in range(5)] == [19, 9, 4, 13, 14]
    assert seeds.historical_window(1, 0, 2**64) == 1483228000136712415
    assert seeds.external_scenario(1, 0, 2**64) == 17061424883130031275
    assert (
        seeds.forward_seed(0x6E7469736E617274, 1, 0, 0) == 16220735358541495440
    )  # successor of a node of a policy graph


def test_the_hash_is_the_one_python_uses_for_bytes():
    if sys.hash_info.algorithm != "siphash13":
        pytest.skip("this Python hashes bytes in another way")
    messages = [random.Random(n).randbytes(n) for n in range(1, 40)]
    program = "import sys, json; print(json.dumps([hash(bytes.fromhex(m)) for m in json.load(sys.stdin)]))"
    done = run_command(
        [sys.executable, "-c", program],
        input=json.dumps([m.hex() for m in messages]),
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=True,
    )
    assert [noise.siphash13(m) for m in messages] == [h % 2**64 for h in json.loads(done.stdout)]


def test_the_hash_agrees_with_a_second_implementation_at_every_length():
    for n in range(70):
        message = bytes(range(n))
        assert noise.siphash13(message) == recipe.siphash13(message)


def test_seeds_hash_little_endian_indices_in_order():
    for base, a, b, c in [
        (0, 0, 0, 0),
        (42, 1, 2, 3),
        (2**64 - 1, 2**32 - 1, 7, 2**32 - 1),
        (2**63, 256, 65536, 1),
    ]:
        assert seeds.opening_seed(base, a, b) == recipe.hash_of((base, 8), (a, 4), (b, 4))
        assert seeds.stage_seed(base, a) == recipe.hash_of((base, 8), (a, 4))
        assert seeds.forward_seed(base, a, b, c) == recipe.hash_of((base, 8), (a, 4), (b, 4), (c, 4))
        assert seeds.grouped_forward_seed(base, a, b, c) == recipe.hash_of(
            (1, 1), (base, 8), (a, 4), (b, 4), (c, 4)
        )


def test_choices_from_files_hash_the_name_of_the_scheme():
    expected = recipe.hash_of((int.from_bytes(b"external", "big"), 8), (3, 4), (5, 4), (0, 4))
    assert seeds.external_scenario(3, 5, 17) == expected % 17
    expected = recipe.hash_of((int.from_bytes(b"historic", "big"), 8), (3, 4), (5, 4), (0, 4))
    assert seeds.historical_window(3, 5, 17) == expected % 17


@pytest.mark.parametrize("arguments", [(-1, 0, 0), (2**64, 0, 0), (0, 2**32, 0), (0, 0, -1), (0.5, 0, 0)])
def test_an_index_that_does_not_fit_is_a_type_error(arguments):
    with pytest.raises(TypeError):
        seeds.opening_seed(*arguments)


def test_the_generator_is_numpy_s_pcg64_from_the_same_state():
    for seed in (0, 1, 42, 2**64 - 1, 0x0123456789ABCDEF):
        ours, second, theirs = noise.Generator(seed), recipe.Pcg64(seed), np.random.PCG64()
        state = {"state": second.state, "inc": second.increment}
        theirs.state = {"bit_generator": "PCG64", "state": state, "has_uint32": 0, "uinteger": 0}
        assert [ours.next() for _ in range(1000)] == theirs.random_raw(1000).tolist()


def test_uniform_numbers_have_the_bits_of_the_recipe():
    ours, second = noise.Generator(7), recipe.Pcg64(7)
    for _ in range(2000):
        assert ours.uniform52() == second.uniform52()
        assert ours.uniform53() == second.uniform53()
        value = ours.open_uniform()
        assert value == second.open_uniform()
        assert 0.0 < value < 1.0


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, 2**31, 2**32 - 1, 3 * 2**30])
def test_bounded_numbers_agree_with_a_second_implementation(n):
    ours, second = noise.Generator(n), recipe.Pcg64(n)
    drawn = [ours.below(n) for _ in range(3000)]
    assert drawn == [second.below(n) for _ in range(3000)]
    assert min(drawn) >= 0
    assert max(drawn) < n


def test_bounded_numbers_are_uniform():
    generator = noise.Generator(3)
    counts = np.bincount([generator.below(7) for _ in range(70_000)], minlength=7)
    assert np.abs(counts - 10_000).max() < 500  # five standard deviations


def test_no_number_is_below_nothing():
    with pytest.raises(ValueError, match="no number is below 0"):
        noise.Generator(1).below(0)

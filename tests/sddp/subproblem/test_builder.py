"""The builder of LPs: order, sums, names."""

from __future__ import annotations

import numpy as np
import pytest

from cobre.core.entities import Thermal
from cobre.sddp.subproblem.builder import ABSENT, LpBuilder
from cobre.solver import Target
from sddp.cases import make_case
from sddp.specs import BusSpec, ConstraintSpec, HydroSpec
from sddp.subproblem.dense import stage_problem


def template(lp: LpBuilder, n_parameters: int = 0):
    return lp.template(
        n_parameters=n_parameters, cut_columns=[], future_cost_column=0, observed_columns=[], observed_rows=[]
    )


def test_columns_are_numbered_in_the_order_of_the_calls_without_those_left_out():
    lp = LpBuilder()
    assert lp.add_columns("a", ["x", "y"], ["0", "1"]).tolist() == [[0, 1], [2, 3]]
    assert lp.add_columns("b", ["x", "y", "z"], where=[True, False, True]).tolist() == [4, ABSENT, 5]
    assert lp.add_columns("c").tolist() == 6
    assert list(template(lp).column_names) == ["a[x,0]", "a[x,1]", "a[y,0]", "a[y,1]", "b[x]", "b[z]", "c"]


def test_bounds_and_costs_are_those_of_the_columns_that_exist():
    lp = LpBuilder()
    lp.add_columns(
        "a", ["x", "y"], ["0", "1"], lower=[[1.0], [2.0]], cost=[5.0, 6.0], where=[[True], [False]]
    )
    built = template(lp)
    assert built.column_lower.tolist() == [1.0, 1.0]
    assert built.column_cost.tolist() == [5.0, 6.0]
    assert built.column_upper.tolist() == [np.inf, np.inf]


def test_the_matrix_is_sorted_and_repeated_terms_add_up():
    lp = LpBuilder()
    columns, rows = lp.add_columns("x", ["a", "b", "c"]), lp.add_rows("r", ["0", "1", "2"])
    lp.add_terms(rows[2], columns[::-1], [3.0, 2.0, 1.0])
    lp.add_terms(rows[0], columns[1], 4.0)
    lp.add_terms(rows[2], columns[[0, 1]], [0.5, -2.0])
    lp.add_terms(rows[1], [ABSENT, 2], [1.0, 0.0])
    built = template(lp)
    assert built.row_starts.tolist() == [0, 1, 1, 3]
    assert built.column_indices.tolist() == [1, 0, 2]  # what cancels out is gone
    assert built.values.tolist() == [4.0, 1.5, 3.0]


def test_patches_follow_the_order_of_the_calls():
    lp = LpBuilder()
    rows = lp.add_rows("r", ["0", "1"], where=[False, True])
    column = lp.add_columns("x")
    lp.patch(Target.ROW_EQUAL, rows, [0, 1], factor=[2.0, 3.0])
    lp.patch(Target.COLUMN_UPPER, column, 0, offset=7.0)
    patches = template(lp, 2).patches
    assert patches.target.tolist() == [Target.ROW_EQUAL, Target.COLUMN_UPPER]
    assert (patches.index.tolist(), patches.source.tolist()) == ([0, 0], [1, 0])
    assert (patches.offset.tolist(), patches.factor.tolist()) == ([0.0, 7.0], [3.0, 1.0])


def test_names_have_no_blanks_and_are_unique():
    lp = LpBuilder()
    lp.add_columns(
        "thermal", [Thermal(3, "Angra 1", 0), Thermal(5, "Gas", 0), Thermal(8, "Gas", 0), Thermal(9, "", 0)]
    )
    names = ["thermal[Angra_1]", "thermal[Gas#5]", "thermal[Gas#8]", "thermal[#9]"]
    assert list(template(lp).column_names) == names


def test_every_name_of_a_stage_problem_is_its_own():
    case = make_case(
        buses=[BusSpec(deficit=[(1.0, 2.0), (None, 3.0)])],
        hydros=[HydroSpec(planes=[(0.0, 0.0, 1.0, 0.0)] * 2, min_turbined=1.0), HydroSpec()],
        constraints=[ConstraintSpec([(1.0, "hydro_storage", 0)], "==", 3.0, 1.0)],
        hours=[1.0, 2.0],
    )
    built = stage_problem(case, psi=np.ones((2, 2))).template
    for names, count in ((built.column_names, built.n_columns), (built.row_names, built.n_rows)):
        assert len(set(names)) == len(names) == count
    assert {"storage[H0]", "turbined[H1,block1]", "deficit[B0#1,block0]", "future_cost"} <= set(
        built.column_names
    )
    assert {"water_balance[H1]", "load_balance[B0,block1]", "production_plane[H0#1,block0]"} <= set(
        built.row_names
    )
    assert "constraint[G0,block1]" in built.row_names


def test_least_cost_counts_only_what_earns():
    lp = LpBuilder()
    lp.add_columns("a", ["x", "y"], lower=[1.0, -2.0], upper=[5.0, 3.0], cost=[-2.0, 4.0])
    lp.add_columns("b", lower=-np.inf)
    assert lp.least_cost() == -10.0 - 8.0
    lp.add_columns("c", upper=9.0, cost=1.0)
    assert lp.least_cost() == -18.0
    lp.add_columns("d", ["x", "y"], cost=[1.0, -1.0])
    assert lp.least_cost() == -np.inf
    assert lp.unlimited_earners() == ["d[y]"]


def test_terms_that_do_not_fit_together_are_refused():
    lp = LpBuilder()
    with pytest.raises(ValueError, match="shape"):
        lp.add_terms(lp.add_rows("r", ["0", "1"]), lp.add_columns("x", ["a", "b", "c"]), 1.0)

"""An element of the stage problem: batteries that move energy from cheap to dear blocks.

An element is a function that adds columns, rows and terms to the linear program of a stage.

Run it: python stage_element.py
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cobre.sddp.subproblem.builder import LpBuilder
from cobre.solver import LpSolver

HOURS = np.array([4.0, 20.0])
LOAD_MW = np.array([100.0, 40.0])
BLOCKS = ["peak", "rest"]


@dataclass(frozen=True)
class Battery:
    """Named like the other entities; what it takes comes back less the loss."""

    name: str
    power_mw: float
    efficiency: float


def add_batteries(
    lp: LpBuilder, batteries: Sequence[Battery], load_balance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Charge and discharge ``[battery, block]`` in MW; over the stage, what comes out has gone in."""
    labels = [battery.name for battery in batteries]
    power = np.array([battery.power_mw for battery in batteries])[:, None]
    efficiency = np.array([battery.efficiency for battery in batteries])[:, None]
    charge = lp.add_columns("battery_charge", labels, BLOCKS, upper=power)
    discharge = lp.add_columns("battery_discharge", labels, BLOCKS, upper=power)
    lp.add_terms(load_balance, discharge, 1.0)
    lp.add_terms(load_balance, charge, -1.0)
    energy = lp.add_rows("battery_energy", labels, lower=0.0, upper=0.0)
    lp.add_terms(energy[:, None], charge, efficiency * HOURS)
    lp.add_terms(energy[:, None], discharge, -HOURS)
    return charge, discharge


def least_cost(batteries: Sequence[Battery]) -> float:
    """The cost of a day with one thermal plant of 60 MW at 50 $/MWh; energy not supplied costs 1000 $/MWh."""
    lp = LpBuilder()
    thermal = lp.add_columns("thermal", BLOCKS, upper=60.0, cost=50.0 * HOURS)
    deficit = lp.add_columns("deficit", BLOCKS, cost=1000.0 * HOURS)
    load_balance = lp.add_rows("load_balance", BLOCKS, lower=LOAD_MW, upper=LOAD_MW)
    lp.add_terms(load_balance, thermal, 1.0)
    lp.add_terms(load_balance, deficit, 1.0)
    add_batteries(lp, batteries, load_balance)
    future_cost = int(lp.add_columns("future_cost", upper=0.0))
    template = lp.template(
        n_parameters=0, cut_columns=[], future_cost_column=future_cost, observed_columns=[], observed_rows=[]
    )
    solver = LpSolver(template)
    output = solver.allocate(1)
    solver.solve_batch(np.empty((1, 0)), output)
    return float(output.objective[0])


def main() -> None:
    print(f"without a battery: {least_cost([]):.2f}")
    print(f"with a battery of 20 MW: {least_cost([Battery('B', 20.0, 0.8)]):.2f}")


if __name__ == "__main__":
    main()

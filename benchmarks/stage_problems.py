"""How long it takes to write all stage problems of a study of national size."""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from record import publish

from cobre.core.case import Case
from cobre.sddp.subproblem import build_stage_problems

sys.path.append(str(Path(__file__).parent.parent / "tests"))
N_STAGES, N_HYDROS, N_BUSES = 120, 160, 5
ROUNDS = 5


@dataclass
class Lags:
    """Lag coefficients ``[stage, lag, hydro]``."""

    psi: np.ndarray


def study() -> Case:
    """Three blocks, 160 hydros in cascades (half of them with eight planes), every kind of element and soft limit."""
    from sddp import specs
    from sddp.cases import make_case

    segments = [(5.0, 100.0), (5.0, 200.0), (5.0, 300.0), (None, 1000.0)]
    return make_case(
        N_STAGES,
        hours=[100.0, 300.0, 330.0],
        buses=[specs.BusSpec(load=100.0, deficit=segments) for _ in range(N_BUSES)],
        thermals=[specs.ThermalSpec(bus=i % N_BUSES) for i in range(150)],
        lines=[specs.LineSpec(i, (i + 1) % N_BUSES) for i in range(N_BUSES)],
        hydros=[
            specs.HydroSpec(
                bus=h % N_BUSES,
                downstream=h + 1 if h % 4 != 3 else None,
                **dict.fromkeys(("min_outflow", "min_turbined", "min_generation", "withdrawal"), 1.0),
                max_outflow=500.0,
                evaporation=(1.0, 0.01),
                planes=[(1.0, 0.1, 0.9, -0.01)] * 8 if h % 2 else (),
            )
            for h in range(N_HYDROS)
        ],
        sources=[specs.SourceSpec(bus=i % N_BUSES) for i in range(40)],
        pumps=[specs.PumpSpec(i, i + 1) for i in range(5)],
        contracts=[specs.ContractSpec() for _ in range(5)],
        constraints=[
            specs.ConstraintSpec(
                [(1.0, "hydro_generation", h) for h in range(i, N_HYDROS, 20)], bound=1000.0, penalty=5.0
            )
            for i in range(20)
        ],
        non_negativity="penalty",
    )


def main() -> None:
    """Median over rounds, and the size of what is built."""
    case = study()
    figures: dict[str, float] = {}
    for n_lags in (0, 6, 12):
        lags = Lags(np.full((N_STAGES, n_lags, N_HYDROS), 0.1))
        times = []
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            problems = build_stage_problems(case, lags)
            times.append((time.perf_counter() - begin) * 1e3)
        template = problems[0].template
        figures[f"{n_lags} lags: {template.n_rows} rows, {template.n_columns} columns"] = statistics.median(
            times
        )
    publish("stage_problems", f"ms for {N_STAGES} stages", figures)


if __name__ == "__main__":
    main()

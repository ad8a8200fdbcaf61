"""What a simulated scenario costs beside a trajectory of training, and how much memory many scenarios take.

    python benchmarks/simulation.py [CASE ...] [--parts ratio memory] [--iterations N] [--scenarios N] [--rounds N]

CASE is the folder of a case; without one it is the example that ``cobre init`` writes. The policy is trained for some
iterations first. Times are wall-clock times per scenario and stage, without reading the case and building programs,
taken in turns: run it on free cores.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pairs import ratio_in_percent, take_pairs
from record import publish

import cobre
from cobre.comm import LocalCommunicator
from cobre.core.case import Case
from cobre.core.config import IterationLimit
from cobre.io.example import write_example
from cobre.io.write.simulation import ScenarioFiles, SimulationWriter, TableFiles
from cobre.sddp.events import ProgressEvent
from cobre.sddp.forward import forward_pass
from cobre.sddp.policy import Policy
from cobre.sddp.simulation import simulate
from cobre.sddp.workspace import open_workspace

LAYOUTS = ("none", "by_scenario", "by_table")
"""Where tables go; without a place they are computed and dropped."""
MEMORY_SCENARIOS = (200, 2000)


def main() -> None:
    """Measure and store what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*")
    parser.add_argument("--parts", nargs="+", default=["ratio", "memory"], choices=["ratio", "memory"])
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--scenarios", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if not options.case:
            write_example(Path(scratch) / "example")
        for path in options.case or [str(Path(scratch) / "example")]:
            case, policy = trained(path, options.iterations)
            if "ratio" in options.parts:
                figures = ratios(case, policy, options.scenarios, options.rounds, Path(scratch))
                publish(f"simulation_ratio_{case.name}", "% of a forward pass, or us", figures)
            if "memory" in options.parts:
                policy.save(Path(scratch) / "policy")
                figures = memory(path, Path(scratch))
                publish(f"simulation_memory_{case.name}", "MB, peak of one process", figures)


def trained(path: str, iterations: int) -> tuple[Case, Policy]:
    """The case, and a policy of so many iterations."""
    case = cobre.load_case(path)
    training = replace(case.config.training, stopping_rules=(IterationLimit(iterations),))
    case = replace(case, config=replace(case.config, training=training))
    return case, cobre.train(case).policy


def ratios(case: Case, policy: Policy, n: int, rounds: int, scratch: Path) -> dict[str, float]:
    """Time of simulated scenarios over that of trajectories with the same policy, for each place of tables."""
    figures = {}
    with LocalCommunicator() as comm:
        forward = forward_sampler(comm, case, policy, n)
        forward()  # from here on a solve starts from the basis that the same scenario left
        for layout in LAYOUTS:
            rows = take_pairs(forward, simulation_sampler(comm, case, policy, n, layout, scratch), rounds)
            found = ratio_in_percent(rows)
            figures[f"{layout}: simulated over forward, %"] = found.median
            figures[f"{layout}: from, %"], figures[f"{layout}: to, %"] = found.low, found.high
            figures[f"{layout}: forward, us per scenario and stage"] = 1e6 * float(rows[:, [0, 3]].min())
            figures[f"{layout}: simulated, us per scenario and stage"] = 1e6 * float(rows[:, [1, 2]].min())
    return figures


def forward_sampler(comm: LocalCommunicator, case: Case, policy: Policy, n: int) -> Callable[[], float]:
    """Seconds per scenario and stage of a forward pass; each call draws new noise, as iterations do."""
    work = open_workspace(comm, case)
    for model, cuts in zip(work.models, policy.stages, strict=True):
        model.solver.set_cuts(cuts.intercepts, cuts.coefficients, cuts.active)
    iteration = 0

    def sample() -> float:
        nonlocal iteration
        iteration += 1
        began = time.perf_counter()
        forward_pass(comm, work.models, work.forecast, work.discounts, work.initial_state, n, iteration)
        return (time.perf_counter() - began) / (n * len(work.models))

    return sample


def simulation_sampler(
    comm: LocalCommunicator, case: Case, policy: Policy, n: int, layout: str, scratch: Path
) -> Callable[[], float]:
    """Seconds per scenario and stage of a simulation from its first chunk on, writing included."""

    def sample() -> float:
        times: list[tuple[float, int]] = []

        def note(event: ProgressEvent) -> None:
            times.append((time.perf_counter(), event.scenarios_complete))

        with tempfile.TemporaryDirectory(dir=scratch) as name:
            folder = Path(name)
            sink = open_sink(layout, folder)
            simulate(comm, case, policy, n, sink=sink, on_progress=note)
            if sink is not None:
                sink.rows.close()
            ended = time.perf_counter()
        (began, before), (_, after) = times[0], times[-1]
        if after == before:
            raise SystemExit(f"all {n} scenarios fit one chunk: ask for more with --scenarios")
        return (ended - began) / ((after - before) * case.horizon.n_stages)

    return sample


def open_sink(layout: str, folder: Path) -> SimulationWriter | None:
    """What writes tables in this layout."""
    if layout == "none":
        return None
    return TableFiles(folder, 0, 1) if layout == "by_table" else ScenarioFiles(folder, 0, 1)


PEAK = """
import cobre, pathlib, sys
case, policy, layout, n, output = sys.argv[1:]
cobre.simulate(case, policy, config_overrides={"exports": {"layout": layout}}, output=output, scenarios=int(n))
status = pathlib.Path("/proc/self/status").read_text().split("VmHWM:")[1]
print(int(status.split()[0]) / 1000.0)
"""


def memory(path: str, scratch: Path) -> dict[str, float]:
    """Peak memory of a process that simulates few and many scenarios, in both layouts that write."""
    figures = {}
    for layout in LAYOUTS[1:]:
        for n in MEMORY_SCENARIOS:
            with tempfile.TemporaryDirectory(dir=scratch) as output:
                words = [path, str(scratch / "policy"), layout, str(n), output]
                done = subprocess.run(
                    [sys.executable, "-c", PEAK, *words], capture_output=True, text=True, check=True
                )
            figures[f"{layout}: {n} scenarios"] = float(done.stdout)
    return figures


if __name__ == "__main__":
    main()

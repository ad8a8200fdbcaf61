"""What a simulated scenario costs beside a trajectory of training, and how much memory many scenarios take.

    python benchmarks/simulation.py [CASE ...] [--parts ratio files memory] [--clock wall] [--scenarios N]

CASE is the folder of a case; without one it is the example that ``cobre init`` writes. The policy is trained for some
iterations first. Times are per scenario and stage, without reading the case and building programs, taken in turns. Run
it on free cores; ``--clock processor`` adds up the processor time of all threads instead, which also means something on
busy ones. ``files`` writes the files of a simulation once more, with nothing but the system calls that it takes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from named_cases import named_cases
from pairs import ratio_in_percent, take_pairs
from record import publish

import cobre
from cobre.comm import LocalCommunicator
from cobre.core.case import Case
from cobre.core.config import IterationLimit
from cobre.io.write.simulation import ScenarioFiles, SimulationWriter, TableFiles
from cobre.sddp.events import ProgressEvent
from cobre.sddp.forward import forward_pass
from cobre.sddp.itinerary import sampled_steps
from cobre.sddp.policy import Policy
from cobre.sddp.simulation import simulate
from cobre.sddp.workspace import open_workspace

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
LAYOUTS = ("none", "by_scenario", "by_table")
"""Where tables go; without a place they are computed and dropped."""
MEMORY_SCENARIOS = (200, 2000)
Clock = Callable[[], float]


def main() -> None:
    """Measure and store what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*")
    parser.add_argument(
        "--parts", nargs="+", default=["ratio", "files", "memory"], choices=["ratio", "files", "memory"]
    )
    parser.add_argument("--clock", default="wall", choices=list(CLOCKS))
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--scenarios", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for path in named_cases(options.case, scratch):
            case, policy = trained(path, options.iterations)
            if "ratio" in options.parts:
                clock = CLOCKS[options.clock]
                figures = ratios(case, policy, options.scenarios, options.rounds, Path(scratch), clock)
                name = f"simulation_ratio_{case.name}" + ("" if options.clock == "wall" else "_processor")
                publish(name, f"% of a forward pass, or us of {options.clock} time", figures)
            if "files" in options.parts:
                figures = bare_files(case, policy, options.scenarios, options.rounds, Path(scratch))
                publish(
                    f"simulation_files_{case.name}", "us of processor time per scenario and stage", figures
                )
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


def ratios(case: Case, policy: Policy, n: int, rounds: int, scratch: Path, clock: Clock) -> dict[str, float]:
    """Time of simulated scenarios over that of trajectories with the same policy, for each place of tables."""
    figures = {}
    with LocalCommunicator() as comm:
        forward = forward_sampler(comm, case, policy, n, clock)
        forward()  # from here on a solve starts from the basis that the same scenario left
        for layout in LAYOUTS:
            simulated = simulation_sampler(comm, case, policy, n, layout, scratch, clock)
            rows = take_pairs(forward, simulated, rounds)
            found = ratio_in_percent(rows)
            figures[f"{layout}: simulated over forward, %"] = found.median
            figures[f"{layout}: from, %"], figures[f"{layout}: to, %"] = found.low, found.high
            figures[f"{layout}: forward, us per scenario and stage"] = 1e6 * float(rows[:, [0, 3]].min())
            figures[f"{layout}: simulated, us per scenario and stage"] = 1e6 * float(rows[:, [1, 2]].min())
    return figures


def forward_sampler(
    comm: LocalCommunicator, case: Case, policy: Policy, n: int, clock: Clock
) -> Callable[[], float]:
    """Seconds per scenario and stage of a forward pass; each call draws new noise, as iterations do."""
    work = open_workspace(comm, case)
    for model, cuts in zip(work.models, policy.stages, strict=True):
        model.solver.set_cuts(cuts.intercepts, cuts.coefficients, cuts.active)
    iteration, seed = 0, case.config.training.tree_seed

    def sample() -> float:
        nonlocal iteration
        iteration += 1
        began = clock()
        steps = sampled_steps(work.graph, 0.0, n, iteration, comm)
        start = work.initial_state
        forward_pass(comm, work.nodes, steps, work.forecast, work.discounts, start, n, iteration, seed)
        return (clock() - began) / (n * len(work.models))

    return sample


def simulation_sampler(
    comm: LocalCommunicator, case: Case, policy: Policy, n: int, layout: str, scratch: Path, clock: Clock
) -> Callable[[], float]:
    """Seconds per scenario and stage of a simulation from its first chunk on, writing included."""

    def sample() -> float:
        times: list[tuple[float, int]] = []

        def note(event: ProgressEvent) -> None:
            times.append((clock(), event.scenarios_complete))

        with tempfile.TemporaryDirectory(dir=scratch) as name:
            folder = Path(name)
            sink = open_sink(layout, folder)
            simulate(comm, case, policy, n, sink=sink, on_progress=note)
            if sink is not None:
                sink.rows.close()
            ended = clock()
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


def bare_files(case: Case, policy: Policy, n: int, rounds: int, scratch: Path) -> dict[str, float]:
    """What the system takes to make the folders and files of a simulation, with bytes that are there already."""
    with tempfile.TemporaryDirectory(dir=scratch) as name, LocalCommunicator() as comm:
        sink = ScenarioFiles(Path(name), 0, 1)
        simulate(comm, case, policy, n, sink=sink)
        sink.rows.close()
        files = [path for path in Path(name).rglob("data.parquet") if "scenario_id" in path.parent.name]
        sizes = [(str(path.parent.relative_to(name)), path.stat().st_size) for path in sorted(files)]
    data = bytes(max(size for _, size in sizes))
    best = min(_make_files(sizes, data, scratch) for _ in range(rounds))
    return {
        "folders and files per scenario": 2 * len(sizes) / n,
        "bytes per scenario and stage": sum(size for _, size in sizes) / (n * case.horizon.n_stages),
        "making them": 1e6 * best / (n * case.horizon.n_stages),
    }


def _make_files(sizes: list[tuple[str, int]], data: bytes, scratch: Path) -> float:
    with tempfile.TemporaryDirectory(dir=scratch) as root:
        for parent in {str(Path(folder).parent) for folder, _ in sizes}:
            (Path(root) / parent).mkdir(parents=True)
        began = time.process_time()
        for folder, size in sizes:
            place = f"{root}/{folder}"
            os.mkdir(place)  # noqa: PTH102 - as few calls as it takes
            descriptor = os.open(f"{place}/data.parquet", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            os.write(descriptor, memoryview(data)[:size])
            os.close(descriptor)
        return time.process_time() - began


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

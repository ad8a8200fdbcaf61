"""Solve recorded chains of training runs as ours does, by HiGHS alone and by CLP, in turn.

    python benchmarks/clp_trial.py [--cases 4ree example big big_lags wide] [--peer-cases FOLDER] [--library FILE]

CLP is driven through its C interface, in a library loaded at run time: that of the ``cylp`` wheel, which pip downloads,
or FILE. Every chain gets a new model, since what a model solved before decides between several optima. Programs are
scaled and patched before the clock starts; what is timed are loading, changes of bounds, solves and reading. For
comparison one model is kept for all chains of a stage, which gives up that bits do not depend on the past. Ours is the
own dual simplex method, but HiGHS in the case ``wide``, whose programs are too large for that. Freed memory stays with
the process, which spares CLP half of its time on small programs: it allocates its arrays anew for every solve. Times
are those of the processor.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from ctypes import c_char_p, c_double, c_int, c_void_p
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from large_case import Size, write_large_case
from numpy.typing import NDArray
from peers import CASES, prepare
from record import publish
from stage_chains import Recorded, record, solve, solver_for
from training_split import with_training

import cobre
from cobre.core.case import Case
from cobre.io.convert import convert_case
from cobre.solver import LpTemplate, Target

ROUNDS = 5
DOWNLOAD_S = 300
AGREEMENT = 1e-7
TOLERANCE = 1e-9
SHORT_TRAININGS = {"4ree": (30, 8), "example": (30, 8)}
"""Iterations and passes; the large studies have their own."""
WIDE = Size(hydros=300, blocks=7, stages=4, openings=5, passes=3, iterations=3, lags=0)
CLP_CODES = np.array([3, 1, 2, 0], np.uint8)
"""Our codes of a basis (at lower, basic, at upper, free at zero) in CLP's."""
VECTORS = {
    "chgColumnLower": (Target.COLUMN_LOWER,),
    "chgColumnUpper": (Target.COLUMN_UPPER,),
    "chgObjCoefficients": (Target.COLUMN_COST,),
    "chgRowLower": (Target.ROW_EQUAL, Target.ROW_LOWER),
    "chgRowUpper": (Target.ROW_EQUAL, Target.ROW_UPPER),
}
"""In the order of loadProblem: what sets one of a program's vectors, and which patches change it."""
FUNCTIONS = {
    "Version": (c_char_p,),
    "newModel": (c_void_p,),
    "deleteModel": (None, c_void_p),
    "loadProblem": (None, c_void_p, c_int, c_int, *[c_void_p] * 8),
    "copyinStatus": (None, c_void_p, c_void_p),
    **dict.fromkeys(VECTORS, (None, c_void_p, c_void_p)),
    "setLogLevel": (None, c_void_p, c_int),
    "scaling": (None, c_void_p, c_int),
    "setPerturbation": (None, c_void_p, c_int),
    "setPrimalTolerance": (None, c_void_p, c_double),
    "setDualTolerance": (None, c_void_p, c_double),
    "dual": (c_int, c_void_p, c_int),
    "objectiveValue": (c_double, c_void_p),
    "dualRowSolution": (c_void_p, c_void_p),
    "numberIterations": (c_int, c_void_p),
}
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """Of every model; the scaling is 0 (as given), 1 (equilibrium), 2 (geometric) or 3 (automatic)."""

    scaling: int = 0
    perturbation: int = 102  # off; 100 leaves it to CLP, 50 is on


class Clp:
    """The library; it keeps the interpreter's lock, which makes calls cheaper."""

    def __init__(self, path: Path) -> None:
        library = ctypes.PyDLL(str(path))
        for name, (result, *arguments) in FUNCTIONS.items():
            function = getattr(library, f"Clp_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.version: str = self.Version().decode()

    def model(self, settings: Settings) -> int:
        """An empty model."""
        handle = self.newModel()
        self.setLogLevel(handle, 0)
        self.scaling(handle, settings.scaling)
        self.setPerturbation(handle, settings.perturbation)
        self.setPrimalTolerance(handle, TOLERANCE)
        self.setDualTolerance(handle, TOLERANCE)
        return handle


def keep_freed_memory() -> None:
    """The C library hands nothing back to the kernel, where freed memory would have to be mapped and cleared again."""
    mallopt = ctypes.CDLL(None).mallopt
    for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
        mallopt(option, 1 << 30)


def library_of_wheel(folder: Path) -> Path:
    """The library in the ``cylp`` wheel for this interpreter."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "cylp"]
    subprocess.run(command, check=True, timeout=DOWNLOAD_S, cwd=folder)
    with zipfile.ZipFile(next(folder.glob("cylp-*.whl"))) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if name.startswith("cylp.libs/")])
    return next(folder.glob("cylp.libs/libClp-*"))


class Programs:
    """The programs of a batch for CLP: one matrix by columns, the vectors of each solve, scaled by powers of two."""

    def __init__(self, batch: Recorded) -> None:
        template = batch.template
        intercepts, coefficients, active = batch.cuts
        m, n, k = template.n_rows, template.n_columns, int(active.sum())
        dense = np.zeros((m + k, n))
        rows = np.repeat(np.arange(m), np.diff(template.row_starts))
        dense[rows, template.column_indices] = template.values
        dense[m:, template.cut_columns] = -coefficients[active]
        dense[m:, template.future_cost_column] = 1.0
        row_scale, column_scale, self.cost_scale = _scaling(dense, template)
        dense *= row_scale[:, None] * column_scale
        columns, self.rows = (part.astype(np.int32) for part in np.nonzero(dense.T))
        self.values = dense[self.rows, columns]
        self.starts = np.searchsorted(columns, np.arange(n + 1)).astype(np.int32)
        self.n_rows, self.n_columns = m + k, n
        least = np.concatenate([template.row_lower, intercepts[active]])
        most = np.concatenate([template.row_upper, np.full(k, np.inf)])
        scales = {
            "chgColumnLower": (template.column_lower, 1.0 / column_scale),
            "chgColumnUpper": (template.column_upper, 1.0 / column_scale),
            "chgObjCoefficients": (template.column_cost, column_scale * self.cost_scale),
            "chgRowLower": (least, row_scale),
            "chgRowUpper": (most, row_scale),
        }
        self.vectors = {
            name: _patched(batch, VECTORS[name], numbers) * scale for name, (numbers, scale) in scales.items()
        }
        """One row per solve, or a single one if no patch changes it."""
        self.observed = template.observed_rows
        self.dual_scale = row_scale[self.observed] / self.cost_scale
        self.order = np.arange(batch.chain_length) if batch.order is None else batch.order
        self.chains = np.arange(len(batch.parameters)).reshape(-1, batch.chain_length)[:, self.order]
        self.statuses = _statuses(batch, len(self.chains), n, m)

    def solve(self, clp: Clp, settings: Settings, *, keeps_model: bool) -> tuple[Floats, Floats, int]:
        """Objectives and observed duals of all solves, in their own places, and the sum of the pivots."""
        n_solves, pivots = self.chains.size, 0
        objective, duals = np.empty(n_solves), np.empty((n_solves, self.n_rows))
        to, width = duals.ctypes.data, duals.strides[0]
        changing = [
            (getattr(clp, name), rows.ctypes.data, rows.strides[0])
            for name, rows in self.vectors.items()
            if len(rows) > 1
        ]
        model = None
        for chain, status in zip(self.chains.tolist(), self.statuses, strict=True):
            is_new = model is None
            if is_new:
                model = clp.model(settings)
                self._load(clp, model, chain[0])
            if status is not None:
                clp.copyinStatus(model, status.ctypes.data)
            for index in chain:
                for change, address, stride in () if is_new else changing:
                    change(model, address + index * stride)
                is_new = False
                if clp.dual(model, 0) != 0:
                    raise RuntimeError(f"CLP found no optimum of solve {index}")
                objective[index] = clp.objectiveValue(model)
                ctypes.memmove(to + index * width, clp.dualRowSolution(model), width)
                pivots += clp.numberIterations(model)
            if not keeps_model:
                clp.deleteModel(model)
                model = None
        if model is not None:
            clp.deleteModel(model)
        return objective / self.cost_scale, duals[:, self.observed] * self.dual_scale, pivots

    def _load(self, clp: Clp, model: int, index: int) -> None:
        vectors = [rows[index if len(rows) > 1 else 0].ctypes.data for rows in self.vectors.values()]
        matrix = (self.starts.ctypes.data, self.rows.ctypes.data, self.values.ctypes.data)
        clp.loadProblem(model, self.n_columns, self.n_rows, *matrix, *vectors)


def _scaling(dense: Floats, template: LpTemplate) -> tuple[Floats, Floats, float]:
    """Powers of two for rows, columns and costs, as in ``native/lp/scaling.cpp``; cuts by their largest term."""
    m, theta = template.n_rows, template.future_cost_column
    is_set = dense != 0.0
    exponents = np.frexp(dense)[1] - 1
    rows, columns = np.zeros(len(dense), np.int64), np.zeros(dense.shape[1], np.int64)
    for _ in range(4):
        rows[:m] = -_middle((exponents + columns)[:m], is_set[:m])
        columns = -_middle((exponents[:m] + rows[:m, None]).T, is_set[:m].T)
    cost_exponents = np.frexp(template.column_cost)[1] - 1
    has_cost = template.column_cost != 0.0
    has_cost[theta] = False
    cost = -int(_middle((cost_exponents + columns)[None], has_cost[None])[0])
    columns[theta] = -cost - cost_exponents[theta]
    rows[m:] = -np.where(is_set[m:], exponents[m:] + columns, -4096).max(axis=1, initial=-4096)
    return np.exp2(rows), np.exp2(columns), 2.0**cost


def _middle(exponents: NDArray[np.int64], is_set: NDArray[np.bool_]) -> NDArray[np.int64]:
    """By row: between the smallest and the largest exponent; 0 where there are none."""
    sums = np.where(is_set, exponents, 4096).min(axis=1) + np.where(is_set, exponents, -4096).max(axis=1)
    return np.where(is_set.any(axis=1), sums // 2, 0)


def _patched(batch: Recorded, targets: tuple[Target, ...], numbers: Floats) -> Floats:
    patches = batch.template.patches
    chosen = np.flatnonzero(np.isin(patches.target, targets))
    if not chosen.size:
        return numbers[None]
    result = np.tile(numbers, (len(batch.parameters), 1))
    result[:, patches.index[chosen]] = 0.0
    for p in chosen:
        result[:, patches.index[p]] += (
            patches.offset[p] + patches.factor[p] * batch.parameters[:, patches.source[p]]
        )
    return result


def _statuses(batch: Recorded, n_chains: int, n: int, m: int) -> list[NDArray[np.uint8] | None]:
    """The start basis of each chain in CLP's codes; cuts that came later are basic."""
    if batch.start_bases is None:
        return [None] * n_chains
    bases, active = batch.start_bases, batch.cuts[2]
    later = np.ones((len(bases), n + m + len(active) - bases.shape[1]), np.uint8)
    codes = np.concatenate([bases, later], axis=1)
    is_slack = codes[:, 0] == 255
    codes = CLP_CODES[np.minimum(codes[:, np.r_[np.ones(n + m, bool), active]], 3)]
    found = [None if slack else np.ascontiguousarray(row) for slack, row in zip(is_slack, codes, strict=True)]
    return found if len(found) == n_chains else found * n_chains


def trial(batches: list[Recorded], clp: Clp, settings: Settings) -> dict[str, float]:
    """Microseconds and pivots per solve of each, medians over rounds; objectives must agree."""
    n = sum(len(batch.parameters) for batch in batches)
    programs = [Programs(batch) for batch in batches]
    solvers = {
        only_highs: [solver_for(batch, only_highs=only_highs) for batch in batches]
        for only_highs in (False, True)
    }

    def by_ours(only_highs: bool) -> tuple[list[Floats], int]:
        for batch, (solver, output) in zip(batches, solvers[only_highs], strict=True):
            solve(batch, solver, output)
        outputs = [output for _, output in solvers[only_highs]]
        pivots = np.concatenate([output.iterations for output in outputs])
        return [output.objective for output in outputs], int(pivots.sum())

    def by_clp(keeps_model: bool) -> tuple[list[Floats], int]:
        found = [program.solve(clp, settings, keeps_model=keeps_model) for program in programs]
        return [objective for objective, _, _ in found], sum(pivots for _, _, pivots in found)

    methods: dict[str, Callable[[], tuple[list[Floats], int]]] = {
        "ours": lambda: by_ours(False),
        "HiGHS": lambda: by_ours(True),
        "CLP": lambda: by_clp(False),
        "CLP, model kept": lambda: by_clp(True),
    }
    times: dict[str, list[float]] = {name: [] for name in methods}
    objectives, pivots = {}, {}
    for _ in range(ROUNDS):
        for name, method in methods.items():
            began = time.process_time()
            found, pivots[name] = method()
            times[name].append((time.process_time() - began) / n * 1e6)
            objectives[name] = np.concatenate(found)
    medians = {name: statistics.median(found) for name, found in times.items()}
    figures = {"solves": float(n), "rows with cuts": float(max(program.n_rows for program in programs))}
    for name in methods:
        difference = float(np.max(np.abs(objectives[name] / objectives["ours"] - 1.0)))
        if difference > AGREEMENT:
            raise RuntimeError(f"{name} differs from ours by {difference:.1e} in an objective")
        figures[f"{name}: us per solve"] = medians[name]
        figures[f"{name}: pivots per solve"] = pivots[name] / n
        figures[f"{name}: times as long as ours"] = medians[name] / medians["ours"]
        figures[f"{name}: largest difference of an objective, 1e-12"] = 1e12 * difference
    figures["HiGHS over CLP"] = medians["HiGHS"] / medians["CLP"]
    figures["ours over CLP"] = medians["ours"] / medians["CLP"]
    return figures


def study(name: str, folder: Path, peer_cases: Path | None) -> Case:
    """The case with the training whose last chains are recorded."""
    if name == "wide":
        write_large_case(folder / "older", WIDE)
        convert_case(folder / "older", folder / name)
        return cobre.load_case(str(folder / name))
    found = prepare(name, folder, peer_cases)
    if not found:
        raise SystemExit(
            "4ree is a public case: name its folder with --peer-cases, or leave it out of --cases"
        )
    case = cobre.load_case(str(found[False]))
    return with_training(case, *SHORT_TRAININGS[name]) if name in SHORT_TRAININGS else case


def main() -> None:
    """Record, solve and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=[*CASES, "wide"], choices=[*CASES, "wide"])
    parser.add_argument("--peer-cases", type=Path, help="folder with the public case 4ree")
    parser.add_argument("--library", type=Path, help="libClp; default: that of the cylp wheel, downloaded")
    parser.add_argument("--scaling", type=int, default=Settings.scaling)
    parser.add_argument("--perturbation", type=int, default=Settings.perturbation)
    parser.add_argument("--no-store", action="store_true", help="print only")
    options = parser.parse_args()
    settings = Settings(options.scaling, options.perturbation)
    figures: dict[str, float] = {}
    keep_freed_memory()
    with tempfile.TemporaryDirectory() as folder:
        clp = Clp(options.library or library_of_wheel(Path(folder)))
        unit = f"us per solve, counts, ratios; CLP {clp.version}"
        for name in options.cases:
            found = trial(record(study(name, Path(folder), options.peer_cases)), clp, settings)
            figures |= {f"{name}, {key}": value for key, value in found.items()}
            # After each case: the last one takes longest.
            publish("clp_trial", unit, figures, is_stored=not options.no_store)


if __name__ == "__main__":
    main()

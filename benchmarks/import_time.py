"""How long a fresh interpreter takes to import Cobre, beside the interpreter itself and NumPy."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from record import publish

PROGRAMS = {
    "interpreter alone": "pass",
    "import typing, enum, dataclasses": "import typing, enum, dataclasses",
    "import numpy": "import numpy",
    "import cobre.comm": "import cobre.comm",
    "import cobre.comm, use ReduceOp and create_communicator": "from cobre.comm import ReduceOp, create_communicator",
    "open local": "from cobre.comm import create_communicator; create_communicator('local')",
}
ROUNDS = 21


def main() -> None:
    """Median over rounds that alternate between the programs, so that drift hits all alike."""
    samples: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(ROUNDS):
        for name, program in PROGRAMS.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
            samples[name].append((time.perf_counter() - begin) * 1e3)
    publish(
        "import_time", "ms per process", {name: statistics.median(values) for name, values in samples.items()}
    )


if __name__ == "__main__":
    main()

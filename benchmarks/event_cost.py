"""Processor time that the events of one iteration cost the process that owns the output folder.

    python benchmarks/event_cost.py [STAGES]

An iteration is told in two lines of ``training/events.jsonl``; the longer one has a number for each stage.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from cobre.sddp.events import IterationFacts, ProgressEvent
from cobre.sddp.gap import GapEstimate
from cobre.sddp.stopping import RuleState
from cobre.study.event_lines import detail_fields, progress_fields
from cobre.study.run_log import RunLog, event_line

REPEATS = 2000


def main() -> None:
    """Measure and print."""
    n_stages = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    rule = RuleState("iteration_limit", False, "7 of 60 iterations", 0.12, {"limit": 60})
    cuts = tuple(range(1000, 1000 + n_stages))
    facts = IterationFacts(
        7, *[1.5] * 10, 10_000, 90_000, 200, 0, 9_000, 9_000, cuts, 500.0, 600.0, 3.0, (rule,) * 2
    )
    estimate = GapEstimate("within", 1e8, 1e6, 40, 5, None, 0.034)
    progress = ProgressEvent("training", 7, 1e8, 1e8, 0.5, 3e3, 4e2, 1, 2, 0, estimate, 1e6, 1e6, 60)
    with tempfile.TemporaryDirectory() as folder:
        log = RunLog(Path(folder), {}, keeps=False)
        began = time.process_time()
        for number in range(REPEATS):
            log.write(event_line({"type": "progress", "seq": number, **progress_fields(progress)}))
            kind, fields = detail_fields(facts)
            log.write(event_line({"type": kind, "seq": number, **fields}))
        seconds = time.process_time() - began
        log.close()
    print(f"{n_stages} stages: {1e6 * seconds / REPEATS:.0f} us of processor time per iteration")


if __name__ == "__main__":
    main()

"""How fast the collectives are here: latency, bandwidth, and how close that is to what the machine can do.

`measure` starts ranks of each backend from its record, so nothing here depends on a backend. Every size is verified
before it is timed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cobre.comm.backend import Backend, Unavailable
from cobre.comm.bench.peers import PEERS, Peer
from cobre.comm.bench.plan import MARK, Plan, Row
from cobre.comm.launch import first_failure, run_ranks
from cobre.comm.launch.output import Nowhere
from cobre.comm.plugins import one_line
from cobre.comm.selection import BACKENDS, all_backends, get_backend, refusal_or_broken
from cobre.errors import CobreError

__all__ = ["Peer", "Plan", "Report", "Row", "choose", "measure"]

MEMBER = "cobre.comm.bench.member"


@dataclass
class Report:
    """What was measured, and why something was not."""

    ranks: int
    rows: list[Row] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)


def choose(
    names: Sequence[str] | None, ranks: int, *, peers: bool = False
) -> tuple[list[Backend | Peer], dict[str, str]]:
    """The records to measure, and reasons for those that cannot be. ``None``: every backend for so many ranks."""
    records: list[Backend | Peer]
    if names is None:
        records = [record for record in all_backends() if (record.name == "local") == (ranks == 1)]
    else:
        records = [get_backend(name) for name in names]
    records += PEERS.values() if peers else []
    refusals = {record.name: _refusal(record) for record in records}
    skipped = {name: refusal.reason for name, refusal in refusals.items() if refusal is not None}
    return [record for record in records if record.name not in skipped], skipped


def _refusal(record: Backend | Peer) -> Unavailable | None:
    return refusal_or_broken(record) if isinstance(record, Backend) else record.unavailable()


def measure(
    records: Sequence[Backend | Peer],
    plan: Plan,
    *,
    timeout: float,
    on_row: Callable[[Row], None] = lambda row: None,
) -> Report:
    """Measure each record in turn; a failure of one is reported, the others go on."""
    report = Report(plan.ranks)
    for record in records:
        output = _Rows(on_row)
        argv = [
            sys.executable,
            "-P",  # or files in the working directory would stand in for modules
            "-m",
            MEMBER,
            plan.to_json(peer=record.name if isinstance(record, Peer) else "", limit=record.speed_limit),
        ]
        try:
            failure = first_failure(run_ranks(record, plan.ranks, argv, timeout=timeout, output=output))
        except CobreError as error:
            report.skipped[record.name] = error.message
        except Exception as error:
            if record.name in BACKENDS:
                raise
            report.skipped[record.name] = one_line(error)  # a third party's record may raise anything
        else:
            if failure is not None:
                said = failure.output.strip().splitlines() or [
                    f"{failure.who} ended with {failure.exit_code}"
                ]
                report.skipped[record.name] = said[-1]
        report.rows += output.rows
    return report


class _Rows(Nowhere):
    """Picks the rows out of what rank 0 prints."""

    def __init__(self, on_row: Callable[[Row], None]) -> None:
        self.rows: list[Row] = []
        self._on_row = on_row

    def show(self, rank: int | None, lines: Sequence[bytes], *, is_error: bool) -> None:
        for line in lines:
            if line.startswith(MARK):
                row = Row(**json.loads(line[len(MARK) :]))
                self.rows.append(row)
                self._on_row(row)

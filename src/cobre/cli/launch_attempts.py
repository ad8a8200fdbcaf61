"""The attempts of one ``cobre launch``: it is started again after a rank was killed, if that is allowed."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace

from cobre.cli.launch_ending import explain, say
from cobre.comm.backend import MeetingPoint, Nodes
from cobre.comm.launch.blame import RankResult
from cobre.comm.launch.launcher import Ending
from cobre.comm.launch.output import Console, LogFiles, Nowhere, Output, Several, is_coloured
from cobre.comm.launch.regroup import Answer, Report, ask_first_machine, gather_machines
from cobre.comm.launch.request import Request, launch_request
from cobre.comm.launch.restarts import Restarts, could_not_start, outcome_of
from cobre.comm.selection import get_backend
from cobre.comm.trace import VARIABLE as TRACE_VARIABLE
from cobre.errors import InitializationFailed, WorkerError

__all__ = ["Attempts"]

LEAVE_OUT = (
    "if a machine is gone, take it out of the list of hosts and launch again; cobre run continues from its last "
    "checkpoint with --resume"
)
NO_FIRST_MACHINE = (
    "machine 0 ({}) did not come back, and it holds rank 0\n  fix: launch again on the machines that are left; cobre "
    "run continues from its last checkpoint with --resume"
)


class Attempts:
    """Launches ``request`` until it ends well, may not be started again, or would fail again."""

    def __init__(self, request: Request, options: argparse.Namespace) -> None:
        self._request = request
        self._options = options
        self._restarts = Restarts(options.max_restarts)

    def run(self) -> int:
        """The exit status of the last attempt."""
        while True:
            console = self._console()
            try:
                ending = launch_request(self._request, self._output(console))
            except WorkerError as error:
                if self._options.quiet:
                    say("\n".join(error.__notes__))
                say(f"cobre launch: {error}")
                return 128 - error.exit_code
            except InitializationFailed as error:
                if not self._goes_on_with_fewer(error):
                    raise
                continue
            self._tell(ending, console)
            if not self._goes_on(ending):
                return ending.status

    def _console(self) -> Console:
        return Console(
            prefix=self._options.prefix,
            colour=is_coloured(sys.stdout, os.environ),
            error_colour=is_coloured(sys.stderr, os.environ),
            width=len(str(self._options.size - 1)),
        )

    def _output(self, console: Console) -> Output:
        outputs: list[Output] = [] if self._options.quiet else [console]
        if self._options.log_dir is not None:
            is_again = self._restarts.used > 0
            outputs.append(LogFiles(self._options.log_dir, self._options.size, is_appending=is_again))
        return Several(outputs) if outputs else Nowhere()

    def _tell(self, ending: Ending, console: Console) -> None:
        if ending.trace and not self._options.quiet:
            say(f"cobre launch: {os.environ[TRACE_VARIABLE]}: {ending.trace}")
        explain(ending, self._request.size, console, is_quiet=self._options.quiet)

    def _goes_on_with_fewer(self, error: InitializationFailed) -> bool:
        """Whether to try again after a rank could not be started that could be the first time."""
        nodes = self._request.nodes
        if not self._restarts.used or (nodes is not None and nodes.nodes > 1):
            return False
        size = self._restarts.size_after(self._request.size, None, could_start=False)
        if size is None:
            return False
        say(f"cobre launch: {error.message}")
        self._start_again(size, nodes)
        return True

    def _goes_on(self, ending: Ending) -> bool:
        """Whether to start again after this attempt; what to start is then in the request."""
        culprit, nodes = ending.culprit, self._request.nodes
        if culprit is None or ending.asked_to_end:
            return False
        if outcome_of(culprit) == "failed":
            self._tell_that_starter_failed(culprit)
        if self._restarts.used >= self._restarts.limit:
            return False
        if could_not_start(culprit) and not self._restarts.used:
            return False
        if nodes is not None and nodes.nodes > 1:
            return self._regroups(nodes, culprit)
        if outcome_of(culprit) == "failed":
            return False
        could_start = not could_not_start(culprit)
        size = self._restarts.size_after(self._request.size, culprit.rank, could_start=could_start)
        if size is not None:
            self._start_again(size, nodes)
        return size is not None

    def _start_again(self, size: int, nodes: Nodes | None) -> None:
        layout = None if nodes is None else nodes._replace(size=size)
        self._request = replace(self._request, size=size, nodes=layout, variables=self._restarts.variables())
        where = f" on {nodes.nodes} machines" if nodes is not None and nodes.nodes > 1 else ""
        ranks = f"{size} rank{'s' if size > 1 else ''}{where}"
        say(
            f"cobre launch: starting again with {ranks} (restart {self._restarts.used} of {self._restarts.limit})"
        )

    def _tell_that_starter_failed(self, culprit: RankResult) -> None:
        """A host list is the user's: only the user can say which machine to leave out."""
        if culprit.rank is None and self._restarts.used:
            say(f"cobre launch: {culprit.command} could not start the ranks again\n  fix: {LEAVE_OUT}")

    def _regroups(self, nodes: Nodes, culprit: RankResult) -> bool:
        """Whether to start again, as the launchers of all machines agree."""
        meeting_point = get_backend(self._request.backend).meeting_point
        if meeting_point is None:
            say("cobre launch: launches of this backend over several machines cannot be started again")
            return False
        own = Report(nodes.node_rank, self._restarts.used, outcome_of(culprit), culprit.rank)
        agree = self._gather if nodes.node_rank == 0 else self._ask
        answer = agree(meeting_point(nodes), nodes, own)
        if answer.action != "again":
            say(f"cobre launch: not started again: {answer.reason}")
            return False
        self._restarts.used = answer.attempt
        self._start_again(answer.size, answer.layout(nodes.coordinator))
        return True

    def _gather(self, place: MeetingPoint, nodes: Nodes, own: Report) -> Answer:
        rejoin_s = self._options.rejoin
        try:
            answer, missing = gather_machines(place, nodes, own, self._restarts, rejoin_s)
        except OSError as error:
            return Answer("end", reason=f"cannot listen for the other machines: {error.strerror or error}")
        for node in missing:
            n = len(nodes._replace(node_rank=node).ranks)
            ranks = "1 rank" if n == 1 else f"{n} ranks"
            say(
                f"cobre launch: machine {node} did not come back within {rejoin_s:g} s: left out, with {ranks}"
            )
        return answer

    def _ask(self, place: MeetingPoint, nodes: Nodes, own: Report) -> Answer:
        answer = ask_first_machine(place, own, self._options.rejoin)
        return Answer("end", reason=NO_FIRST_MACHINE.format(nodes.coordinator)) if answer is None else answer

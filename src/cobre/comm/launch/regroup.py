"""Launchers of several machines agree on how to start again after a rank, or a whole machine, has died.

Between two attempts the launcher of machine 0 listens where rank 0 does. The others report how the attempt ended on
their machines. Machines that have not reported within the time limit are left out; the answer has the numbers of ranks
and machines that start again. Both sides prove that they have the secret of the group.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from cobre.comm.backend import MeetingPoint, Nodes
from cobre.comm.launch.restarts import Outcome, Restarts

__all__ = ["REJOIN_S", "Answer", "Report", "ask_first_machine", "decide", "gather_machines"]

REJOIN_S = 30.0
"""How long machine 0 waits for the launchers of the others."""
EXCHANGE_S = 5.0
"""How long one message may take."""
RETRY_S = 0.1
MOST_BYTES = 4096


@dataclass(frozen=True)
class Report:
    """How an attempt ended on one machine."""

    node_rank: int
    attempt: int
    """How often the group had been started again before it."""
    outcome: Outcome
    rank: int | None
    """The rank that died or failed."""


@dataclass(frozen=True)
class Answer:
    """What one machine does next."""

    action: Literal["again", "leave", "end"]
    size: int = 0
    nodes: int = 0
    node_rank: int = 0
    attempt: int = 0
    reason: str = ""

    def layout(self, coordinator: str) -> Nodes:
        """This machine's part of the next attempt."""
        return Nodes(self.size, self.nodes, self.node_rank, coordinator)


def decide(nodes: Nodes, reports: Mapping[int, Report], restarts: Restarts) -> dict[int, Answer]:
    """An answer for every machine that has reported, by its number. Counts a restart if there is to be one."""
    failed = next((report for _, report in sorted(reports.items()) if report.outcome == "failed"), None)
    if failed is not None:
        reason = f"rank {failed.rank} on machine {failed.node_rank} failed: another attempt would fail, too"
        return dict.fromkeys(reports, Answer("end", reason=reason))
    present = sorted(reports)
    size = sum(len(nodes._replace(node_rank=node).ranks) for node in present)
    is_complete = len(present) == nodes.nodes
    died = [report.rank for report in reports.values() if report.outcome == "died"] if is_complete else []
    next_size = restarts.size_after(size, died[0] if died else None)
    if next_size is None:
        return dict.fromkeys(reports, Answer("end", reason="there is no restart left"))
    staying = present[:next_size]
    answers = {node: Answer("leave", reason="there are fewer ranks than machines") for node in present}
    for place, node in enumerate(staying):
        answers[node] = Answer("again", next_size, len(staying), place, restarts.used)
    return answers


def gather_machines(
    place: MeetingPoint, nodes: Nodes, own: Report, restarts: Restarts, rejoin_s: float = REJOIN_S
) -> tuple[Answer, list[int]]:
    """On machine 0: receive reports, decide, send the decision; what this machine does, and which did not report."""
    reports, connections = {own.node_rank: own}, {}
    deadline = time.monotonic() + rejoin_s
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(_listen(place))
        while len(reports) < nodes.nodes and (left := deadline - time.monotonic()) > 0:
            listener.settimeout(left)
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                break
            stack.enter_context(connection)
            with contextlib.suppress(OSError, ValueError):
                nonce, report = _hear(connection, place.secret)
                if report.attempt == own.attempt and 0 < report.node_rank < nodes.nodes:
                    reports[report.node_rank], connections[report.node_rank] = report, (connection, nonce)
        answers = decide(nodes, reports, restarts)
        for node, (connection, nonce) in connections.items():
            with contextlib.suppress(OSError):
                _send(connection, asdict(answers[node]), place.secret, b"answer" + nonce)
    missing = [node for node in range(nodes.nodes) if node not in reports]
    return answers[own.node_rank], missing


def ask_first_machine(place: MeetingPoint, own: Report, rejoin_s: float = REJOIN_S) -> Answer | None:
    """On the other machines: report, and return what to do; None if machine 0 was not there."""
    deadline = time.monotonic() + 3 * rejoin_s  # its ranks may end later than those here
    while time.monotonic() < deadline:
        with (
            contextlib.suppress(OSError, ValueError, TypeError),
            socket.create_connection((place.host, place.port), timeout=EXCHANGE_S) as connection,
        ):
            nonce = _receive_line(connection)
            _send(connection, asdict(own), place.secret, b"report" + nonce)
            connection.settimeout(rejoin_s + EXCHANGE_S)
            return Answer(**_receive(connection, place.secret, b"answer" + nonce))
        time.sleep(RETRY_S)
    return None


def _listen(place: MeetingPoint) -> socket.socket:
    """Rank 0 has just ended and may still have connections that are closing."""
    if place.listen_at:
        family = socket.AF_INET6 if ":" in place.listen_at else socket.AF_INET
        return socket.create_server((place.listen_at, place.port), family=family)
    is_dual = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if is_dual else socket.AF_INET
    return socket.create_server(("", place.port), family=family, dualstack_ipv6=is_dual)


def _hear(connection: socket.socket, secret: bytes) -> tuple[bytes, Report]:
    connection.settimeout(EXCHANGE_S)
    nonce = secrets.token_hex(16).encode()
    connection.sendall(nonce + b"\n")
    try:
        return nonce, Report(**_receive(connection, secret, b"report" + nonce))
    except TypeError as error:
        raise ValueError("not a report") from error


def _send(connection: socket.socket, message: Mapping[str, Any], secret: bytes, context: bytes) -> None:
    body = json.dumps(message).encode()
    proof = hmac.digest(secret or b"-", context + body, "sha256").hex().encode()
    connection.sendall(proof + b" " + body + b"\n")


def _receive(connection: socket.socket, secret: bytes, context: bytes) -> dict[str, Any]:
    proof, _, body = _receive_line(connection).partition(b" ")
    expected = hmac.digest(secret or b"-", context + body, "sha256").hex().encode()
    if not hmac.compare_digest(proof, expected):
        raise ValueError("the other side does not have the secret")
    message: dict[str, Any] = json.loads(body)
    return message


def _receive_line(connection: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        piece = connection.recv(MOST_BYTES - len(data))
        if not piece or len(data) + len(piece) >= MOST_BYTES:
            raise ValueError("the connection ended within a message")
        data += piece
    return data[:-1]

"""Steering a run from outside: `Control` sends requests, the first rank takes them up between two iterations."""

from __future__ import annotations

import json
import os
import secrets
import socket
import stat
import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from cobre.errors import CobreError
from cobre.sddp.control import check_request

__all__ = ["Control", "new_address"]

LONGEST_ADDRESS = 100
"""Bytes: the kernel takes a few more."""
ANSWER_TIMEOUT_S = 60.0
RETRY_S = 0.05
LONGEST_MESSAGE = 1 << 24


def new_address() -> str:
    """The path of a socket that does not exist yet, in a folder that only this user can enter."""
    return str(_private_folder() / f"{secrets.token_hex(8)}.sock")


def _private_folder() -> Path:
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    candidates = [Path(given) / "cobre"] if given.startswith("/") else []
    candidates.append(Path("/tmp") / f"cobre-{os.getuid()}")  # noqa: S108 - checked to be ours alone
    for folder in candidates:
        if len(os.fsencode(folder)) + 22 <= LONGEST_ADDRESS and _is_private(folder):
            return folder
    raise CobreError(
        f"there is no folder for the control socket: {' and '.join(map(str, candidates))} cannot be used",
        suggestion="set XDG_RUNTIME_DIR to a short path of a folder that only you can enter",
    )


def _is_private(folder: Path) -> bool:
    """Make ``folder`` if need be; whether it is a folder of this user that no other user can enter."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


class Control:
    """Steers one run; pass it to `cobre.train`, or take it from `attach`.

    Each method returns when all ranks have taken the request up, between two iterations, and no bit of an iteration
    changes. With ``wait=False`` it returns once the run has received it: a ``progress_callback`` needs that, since the
    iteration waits for the callback. Every act is an event of the run and is recorded in its ``metadata.json``.
    """

    def __init__(self, address: str | None = None, is_live: Callable[[], bool] | None = None) -> None:
        """For the run that listens at ``address``; ``is_live``: whether it may still answer."""
        self.address = new_address() if address is None else address
        self._is_live = is_live

    def pause(self, *, wait: bool = True) -> dict[str, Any]:
        """Wait after the running iteration, on all ranks, until `resume` or `stop`; it counts for no time limit."""
        return self.request("pause", wait=wait)

    def resume(self, *, wait: bool = True) -> dict[str, Any]:
        """Go on after a pause."""
        return self.request("resume", wait=wait)

    def stop(self, *, wait: bool = True) -> dict[str, Any]:
        """End the run after the running iteration, as SIGTERM does: its policy is written and can be continued."""
        return self.request("stop", wait=wait)

    def snapshot(self, path: str | PathLike[str], *, wait: bool = True) -> dict[str, Any]:
        """Write the policy so far into the new folder ``path``, on the machine of the first rank.

        ``{iteration}`` in its last part becomes the number of the iteration after which it is written.
        """
        return self.request("snapshot", {"path": str(Path(path).absolute())}, wait=wait)

    def set_rule(self, rule: str, *, wait: bool = True, **values: float) -> dict[str, Any]:
        """Change settings of a stopping rule, or add one.

        ``iteration_limit`` has ``limit``, ``time_limit`` has ``seconds``, and ``bound_stalling`` has ``iterations`` and
        ``tolerance``.
        """
        return self.request("set_rule", {"rule": rule, "values": values}, wait=wait)

    def cuts(self, stage: int) -> dict[str, Any]:
        """The newest cuts of a stage, from 0 on."""
        return self.request("cuts", {"stage": stage})

    def paths(self) -> dict[str, Any]:
        """Cost and stored volume by stage of trajectories that the first rank ran in the last iteration."""
        return self.request("paths")

    def request(
        self,
        action: str,
        arguments: dict[str, Any] | None = None,
        *,
        wait: bool = True,
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> dict[str, Any]:
        """Send a request and return its answer; a refusal is raised as `CobreError`.

        A run listens in training and in simulation; before, and between them, this waits for it.
        """
        action, checked = check_request(action, {} if arguments is None else arguments)
        deadline = time.monotonic() + timeout_s
        with self._connection(deadline) as connection:
            message = json.dumps({"action": action, "arguments": checked, "wait": wait})
            answer = self._exchange(connection, message.encode() + b"\n", deadline)
        error = answer.pop("error", None)
        if error is not None:
            raise CobreError(
                str(error.get("message")),
                kind="IncompatibleSettings",
                context={"action": action},
                suggestion=str(error.get("suggestion") or ""),
            )
        return answer

    def _connection(self, deadline: float) -> socket.socket:
        while True:
            is_last_try = time.monotonic() >= deadline or not (self._is_live is None or self._is_live())
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.settimeout(max(0.01, deadline - time.monotonic()))
                connection.connect(self.address)
                return connection
            except OSError as error:
                connection.close()
                if is_last_try:
                    raise self._unreachable(error.strerror or str(error)) from error
                time.sleep(RETRY_S)

    def _exchange(self, connection: socket.socket, message: bytes, deadline: float) -> dict[str, Any]:
        try:
            connection.sendall(message)
            received = b""
            while not received.endswith(b"\n"):
                connection.settimeout(max(0.01, deadline - time.monotonic()))
                piece = connection.recv(1 << 16)
                if not piece or len(received) > LONGEST_MESSAGE:
                    raise self._unreachable("the run ended before it answered")
                received += piece
            answer = json.loads(received)
        except TimeoutError as error:
            raise CobreError(
                "the run has not taken the request up yet: an iteration takes longer than the caller waits",
                kind="CommunicationFailed",
                suggestion="look at its events: it is carried out after the running iteration",
            ) from error
        except (OSError, ValueError) as error:
            raise self._unreachable(str(error)) from error
        if not isinstance(answer, dict):
            raise self._unreachable("the answer is no object")
        return answer

    def _unreachable(self, why: str) -> CobreError:
        return CobreError(
            f"the run does not listen at {self.address}: {why}",
            kind="CommunicationFailed",
            context={"address": self.address},
            suggestion="steer it from the machine of its first rank, as the same user, while it trains or simulates",
        )

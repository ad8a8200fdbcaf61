"""The ``tcp`` backend: many machines without MPI. Not part of this version yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from cobre.comm.backend import Backend, Detection, Unavailable, refuse
from cobre.comm.config import TcpConfig, missing_if_begun, tcp_config_from

__all__ = ["BACKEND", "TcpCommunicator"]

_REFUSAL = Unavailable(
    "this version of pycobre does not include the tcp backend",
    "unset COBRE_TCP_* and COBRE_COMM_BACKEND to run on one rank, or install a version that has it",
)


class TcpCommunicator:
    """Ranks anywhere, connected to rank 0 over TCP."""

    @classmethod
    def connect(cls, config: TcpConfig) -> NoReturn:
        """Join the group that ``config`` describes. Not in this version: `BackendNotAvailable`."""
        refuse("tcp", _REFUSAL)


def _detect(environ: Mapping[str, str]) -> Detection:
    if environ.get("COBRE_TCP_COORDINATOR"):
        return Detection(fits=True)
    is_first = environ.get("COBRE_TCP_RANK", "").strip() == "0"
    if is_first and environ.get("COBRE_TCP_SIZE"):
        return Detection(fits=True)
    needed: tuple[str, ...] = ("COBRE_TCP_RANK", "COBRE_TCP_SIZE")
    if not is_first:
        needed = ("COBRE_TCP_COORDINATOR", *needed)
    return Detection(fits=False, missing=missing_if_begun("COBRE_TCP_", needed, environ))


BACKEND = Backend(
    name="tcp",
    detect=_detect,
    configure=tcp_config_from,
    open=TcpCommunicator.connect,
    rank_commands=lambda argv, size: refuse("tcp", _REFUSAL),
    unavailable=lambda: _REFUSAL,
    config_type=TcpConfig,
)

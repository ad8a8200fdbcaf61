"""The ``shm`` backend: many processes of one machine. Not part of this version yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from cobre.comm.backend import Backend, Detection, Unavailable, refuse
from cobre.comm.config import ShmConfig, missing_if_begun, shm_config_from

__all__ = ["BACKEND", "ShmCommunicator"]

_REFUSAL = Unavailable(
    "this version of pycobre does not include the shm backend",
    "unset COBRE_SHM_* and COBRE_COMM_BACKEND to run on one rank, or install a version that has it",
)


class ShmCommunicator:
    """Ranks of one machine over POSIX shared memory."""

    @classmethod
    def attach(cls, config: ShmConfig) -> NoReturn:
        """Join the group that ``config`` names. Not in this version: `BackendNotAvailable`."""
        refuse("shm", _REFUSAL)


def _detect(environ: Mapping[str, str]) -> Detection:
    if environ.get("COBRE_SHM_NAME"):
        return Detection(fits=True)
    needed = ("COBRE_SHM_NAME", "COBRE_SHM_RANK", "COBRE_SHM_SIZE")
    return Detection(fits=False, missing=missing_if_begun("COBRE_SHM_", needed, environ))


BACKEND = Backend(
    name="shm",
    detect=_detect,
    configure=shm_config_from,
    open=ShmCommunicator.attach,
    rank_commands=lambda argv, size: refuse("shm", _REFUSAL),
    unavailable=lambda: _REFUSAL,
    config_type=ShmConfig,
)

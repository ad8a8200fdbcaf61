"""Communication between ranks: one interface, the same bits on every backend.

>>> import numpy as np
>>> from cobre.comm import create_communicator, ReduceOp
>>> with create_communicator("local") as comm:
...     total = np.empty(2)
...     comm.allreduce(np.array([1.0, 2.0]), total, ReduceOp.SUM)
>>> total
array([1., 2.])

Names are resolved when first used: importing this package loads no backend and no compiled code.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = (
    False  # type checkers know the name; importing typing for it would cost more than all the rest
)
if TYPE_CHECKING:
    from cobre.comm.backends.local import LocalCommunicator
    from cobre.comm.backends.mpi import MpiCommunicator
    from cobre.comm.backends.shm import ShmCommunicator
    from cobre.comm.backends.tcp import TcpCommunicator
    from cobre.comm.config import ShmConfig, TcpConfig
    from cobre.comm.events import emit
    from cobre.comm.partition import block_layout, contiguous_block
    from cobre.comm.protocol import (
        CommData,
        Communicator,
        GroupMember,
        ReduceOp,
        SharedMemoryProvider,
        SharedRegion,
    )
    from cobre.comm.regions import HeapRegion
    from cobre.comm.run_on_ranks import run
    from cobre.comm.selection import BackendKind, available_backends, create_communicator
    from cobre.errors import (
        AllocationFailed,
        BackendError,
        BackendNotAvailable,
        CobreError,
        CollectiveFailed,
        CommError,
        InitializationFailed,
        InvalidBackend,
        InvalidBufferSize,
        InvalidCommunicator,
        InvalidRoot,
        MissingConfiguration,
        WorkerError,
    )

    CommBackend = MpiCommunicator | TcpCommunicator | ShmCommunicator | LocalCommunicator

_HOME_OF = {
    "cobre.comm.backends.local": "LocalCommunicator",
    "cobre.comm.backends.mpi": "MpiCommunicator",
    "cobre.comm.backends.shm": "ShmCommunicator",
    "cobre.comm.backends.tcp": "TcpCommunicator",
    "cobre.comm.config": "ShmConfig TcpConfig",
    "cobre.comm.events": "emit",
    "cobre.comm.partition": "block_layout contiguous_block",
    "cobre.comm.protocol": "CommData Communicator GroupMember ReduceOp SharedMemoryProvider SharedRegion",
    "cobre.comm.regions": "HeapRegion",
    "cobre.comm.run_on_ranks": "run",
    "cobre.comm.selection": "BackendKind available_backends create_communicator",
    "cobre.errors": "AllocationFailed BackendError BackendNotAvailable CobreError CollectiveFailed "
    "CommError InitializationFailed InvalidBackend InvalidBufferSize InvalidCommunicator "
    "InvalidRoot MissingConfiguration WorkerError",
}
_MODULE_OF = {name: module for module, names in _HOME_OF.items() for name in names.split()}

__all__ = [
    "AllocationFailed",
    "BackendError",
    "BackendKind",
    "BackendNotAvailable",
    "CobreError",
    "CollectiveFailed",
    "CommBackend",
    "CommData",
    "CommError",
    "Communicator",
    "GroupMember",
    "HeapRegion",
    "InitializationFailed",
    "InvalidBackend",
    "InvalidBufferSize",
    "InvalidCommunicator",
    "InvalidRoot",
    "LocalCommunicator",
    "MissingConfiguration",
    "MpiCommunicator",
    "ReduceOp",
    "SharedMemoryProvider",
    "SharedRegion",
    "ShmCommunicator",
    "ShmConfig",
    "TcpCommunicator",
    "TcpConfig",
    "WorkerError",
    "available_backends",
    "block_layout",
    "contiguous_block",
    "create_communicator",
    "emit",
    "run",
]


def __getattr__(name: str) -> object:
    if name == "CommBackend":
        value: object = _any_backend()
    elif name in _MODULE_OF:
        value = getattr(import_module(_MODULE_OF[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _any_backend() -> object:
    """The union of the four classes: what the factory returns is one of them, never a wrapper."""
    from cobre.comm.backends.local import LocalCommunicator
    from cobre.comm.backends.mpi import MpiCommunicator
    from cobre.comm.backends.shm import ShmCommunicator
    from cobre.comm.backends.tcp import TcpCommunicator

    return MpiCommunicator | TcpCommunicator | ShmCommunicator | LocalCommunicator


def __dir__() -> list[str]:
    return list(__all__)

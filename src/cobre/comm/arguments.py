"""For people who write a backend: the contract's checks, folds and timeline, from the native core.

Every backend calls the same checks, so a wrong argument raises the same error everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cobre._native.comm import (
    Track,
    check_allgatherv,
    check_allreduce,
    check_broadcast,
    dtype_signature,
    fold_in_rank_order,
    fold_slab_in_rank_order,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cobre.comm.protocol import CommData

__all__ = [
    "Track",
    "as_flat_array",
    "check_allgatherv",
    "check_allreduce",
    "check_broadcast",
    "dtype_signature",
    "fold_in_rank_order",
    "fold_slab_in_rank_order",
]


def as_flat_array(buffer: CommData) -> NDArray[Any]:
    """A checked buffer as a one-dimensional array over the same memory.

    >>> as_flat_array(bytearray(b"abc"))
    array([97, 98, 99], dtype=uint8)
    """
    # np.asarray drops subclasses that stay two-dimensional; memoryview keeps bytes from becoming text.
    return np.asarray(buffer if isinstance(buffer, np.ndarray) else memoryview(buffer)).reshape(-1)

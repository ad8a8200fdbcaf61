"""Imports of the MCP SDK in less time: its hundreds of Pydantic models are built when they are first used.

The SDK builds the models of all versions of the protocol when it is imported, and a client speaks one of them. Pydantic
has a setting for that, ``defer_build``, which the SDK does not use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pydantic
from pydantic import BaseModel, ConfigDict, TypeAdapter

__all__ = ["building_models_later"]


@contextmanager
def building_models_later() -> Iterator[None]:
    """Models and type adapters that are defined in the ``with`` block are built when they are first used."""
    config, build = BaseModel.model_config, TypeAdapter.__init__

    def build_later(
        self: TypeAdapter[Any],
        type_: Any,
        *,
        config: ConfigDict | None = None,
        _parent_depth: int = 2,
        **more: Any,
    ) -> None:
        depth = _parent_depth + 1
        try:
            build(self, type_, config=config or ConfigDict(defer_build=True), _parent_depth=depth, **more)
        except pydantic.PydanticUserError:  # types with settings of their own take no others
            build(self, type_, config=config, _parent_depth=depth, **more)

    BaseModel.model_config = ConfigDict(**config, defer_build=True)
    TypeAdapter.__init__ = build_later  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        BaseModel.model_config, TypeAdapter.__init__ = config, build  # type: ignore[method-assign]

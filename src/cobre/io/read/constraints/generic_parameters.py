"""``constraints/generic_parameters.json``: numbers that generic constraints call by name."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from cobre.io.read.documents import Document
from cobre.io.read.records import Id, NamedRecord, Number, Record

ComputedTag = Literal[
    "equivalent_productivity",
    "accumulated_productivity",
    "reference_volume",
    "reference_turbine",
    "min_storage",
    "max_storage",
    "specific_productivity",
    "integrated_equivalent_productivity",
    "integrated_accumulated_productivity",
    "max_stored_energy",
]
COMPUTED_TAGS: tuple[str, ...] = get_args(ComputedTag)


class _Named(NamedRecord):
    description: str | None = None


class ConstantParameter(_Named):
    """One number."""

    kind: Literal["constant"]
    value: Number


class StageParameter(_Named):
    """One number per stage: pairs of the stage's position, counted from 0, and the number."""

    kind: Literal["per_stage"]
    values: tuple[tuple[int, Number], ...]


class SeasonParameter(_Named):
    """One number per season: pairs of season id and number."""

    kind: Literal["seasonal"]
    values: tuple[tuple[int, Number], ...]


class BlockParameter(_Named):
    """One number per stage and block: the stage's position, the block, the number."""

    kind: Literal["per_stage_block"]
    block_values: tuple[tuple[int, int, Number], ...]


class ComputedSpec(Record):
    """What is computed, and of which hydro."""

    tag: ComputedTag
    hydro_id: Id


class ComputedParameter(_Named):
    """A number that follows from the data of a hydro."""

    kind: Literal["computed"]
    computed_spec: ComputedSpec


ParameterRecord = ConstantParameter | StageParameter | SeasonParameter | BlockParameter | ComputedParameter


class GenericParametersFile(Record):
    """The whole file."""

    scalar_parameters: tuple[Annotated[ParameterRecord, Field(discriminator="kind")], ...] = ()


FILE = Document(
    "constraints/generic_parameters.json",
    GenericParametersFile,
    "generic_parameters",
    unique={"scalar_parameters": ("id",)},
)

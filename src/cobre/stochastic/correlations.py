"""Correlated noise: b = D z with the symmetric square root D of the correlation matrix.

D = V diag(sqrt(max(λ, 0))) Vᵀ rather than a Cholesky factor: it exists for singular matrices, and for those that
rounding of their entries made slightly indefinite (negative eigenvalues count as 0). Where one is clearly negative the
rows of D are scaled to length 1, so that every noise keeps its variance. Entities that no group names
stay independent; of those that have no noise (a bus with certain load) row and column are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from cobre._native import noise
from cobre.arrays import Floats, Ints
from cobre.core.scenarios import Correlation, CorrelationGroup, EntityClass
from cobre.errors import ValidationError
from cobre.stochastic.entities import ENTITY_CLASSES, NoiseEntities

__all__ = ["Correlator"]

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class _Factor:
    classes: frozenset[EntityClass]
    positions: Ints
    root: Floats
    smallest_eigenvalue: float


@dataclass(frozen=True, eq=False)
class Correlator:
    """Applies the correlation of a study; factors are computed when a stage first needs them."""

    correlation: Correlation | None
    entities: NoiseEntities
    _factors: dict[str, tuple[_Factor, ...]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.correlation is None:
            return
        used = [self.correlation.default_profile, *self.correlation.profile_of_stage.values()]
        for name in used:
            if name not in self.correlation.profiles:
                raise ValidationError(
                    f"the correlation profile {name!r} is used but does not exist",
                    kind="MissingReference",
                    context={"profile_name": name},
                    suggestion=f"the profiles are {', '.join(sorted(self.correlation.profiles)) or 'none'}",
                )
        for name, groups in self.correlation.profiles.items():
            _check_groups(name, groups)

    def apply(self, stage: int, values: Floats, classes: Collection[EntityClass] = ENTITY_CLASSES) -> None:
        """Correlate the rows of ``values`` (rows, entities), C-contiguous, in place, as in the stage at this index.

        Entities of other ``classes`` are left as they are.
        """
        for factor in self._factors_of_stage(stage):
            if factor.classes.issubset(classes):
                noise.correlate(factor.root, factor.positions, values)

    def smallest_eigenvalues(self) -> dict[tuple[str, str], float]:
        """By (profile, group). Clearly below 0 the matrix is no correlation; the noise has nearby ones."""
        profiles = {} if self.correlation is None else self.correlation.profiles
        return {
            (name, group.name): factor.smallest_eigenvalue
            for name, groups in profiles.items()
            for group, factor in zip(groups, self._factors_of(name), strict=True)
        }

    def _factors_of_stage(self, stage: int) -> tuple[_Factor, ...]:
        if self.correlation is None:
            return ()
        return self._factors_of(
            self.correlation.profile_of_stage.get(stage, self.correlation.default_profile)
        )

    def _factors_of(self, profile: str) -> tuple[_Factor, ...]:
        if self.correlation is not None and profile not in self._factors:
            groups = self.correlation.profiles[profile]
            self._factors[profile] = tuple(_factor(group, self.entities) for group in groups)
        return self._factors[profile]


def _factor(group: CorrelationGroup, entities: NoiseEntities) -> _Factor:
    positions = np.array([entities.position(*entity) for entity in group.entities], dtype=np.int64)
    # In the order of the noise vector, so that the order of entities in the file does not show in the bits.
    order = np.argsort(positions, kind="stable")
    order = order[positions[order] >= 0]
    matrix = np.ascontiguousarray(np.array(group.matrix)[np.ix_(order, order)])
    root = np.empty_like(matrix)
    from cobre.stochastic.fitting.spatial import NEGATIVE_TOLERANCE  # few cases have correlations

    smallest = noise.square_root(matrix, root)
    if smallest < -NEGATIVE_TOLERANCE:
        root /= np.sqrt(np.add.accumulate(root * root, axis=1)[:, -1:])
    return _Factor(frozenset(name for name, _ in group.entities), positions[order], root, smallest)


def _check_groups(profile: str, groups: Sequence[CorrelationGroup]) -> None:
    seen: dict[tuple[str, int], str] = {}
    for group in groups:
        problem = _problem(group)
        if problem is not None:
            raise ValidationError(
                f"the matrix of the correlation group {group.name!r} of profile {profile!r} {problem[0]}",
                kind="OutOfRange",
                context={"profile": profile, "group": group.name},
                suggestion=problem[1],
            )
        for entity in group.entities:
            if entity in seen:
                raise ValidationError(
                    f"{entity[0]} {entity[1]} is in the correlation groups {seen[entity]!r} and {group.name!r} of "
                    f"profile {profile!r}",
                    kind="DuplicateId",
                    context={
                        "profile": profile,
                        "groups": [seen[entity], group.name],
                        "entity": list(entity),
                    },
                    suggestion="put every entity in at most one group of a profile, once",
                )
            seen[entity] = group.name


def _problem(group: CorrelationGroup) -> tuple[str, str] | None:
    n = len(group.entities)
    if len(group.matrix) != n or any(len(row) != n for row in group.matrix):
        return f"is not {n} x {n} for {n} entities", "give a row and a column per entity"
    matrix = np.array(group.matrix).reshape(n, n)
    if not np.isfinite(matrix).all():
        return "has an entry that is not finite", "give numbers between -1 and 1"
    wrong = np.argwhere(np.abs(matrix - matrix.T) > _TOLERANCE)
    if len(wrong):
        i, j = wrong[0]
        both = f"[{i}][{j}] is {matrix[i, j]} and [{j}][{i}] is {matrix[j, i]}"
        return f"is not symmetric: {both}", "give both the same value"
    for i in range(n):
        if abs(matrix[i, i] - 1.0) > _TOLERANCE:
            return f"has {matrix[i, i]} at [{i}][{i}]", "put 1 on the diagonal"
    wrong = np.argwhere(np.abs(matrix) > 1.0 + _TOLERANCE)
    if len(wrong):
        i, j = wrong[0]
        return f"has {matrix[i, j]} at [{i}][{j}]", "give correlations between -1 and 1"
    return None

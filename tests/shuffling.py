"""Documents of a case in another order, where order means nothing."""

from __future__ import annotations

ORDERED = {"deficit_segments", "matrix", "entities", "values_m3s", "coefficients_mm", "reference_volumes_hm3"}
"""Lists whose order means something."""
TUPLES = {"values", "block_values"}
"""Lists of tuples: their order means nothing, that inside of each does."""


def shuffled(value, chance, key=""):
    """``value`` with keys and lists in another order."""
    if isinstance(value, dict):
        pairs = [(name, shuffled(inner, chance, name)) for name, inner in value.items()]
        chance.shuffle(pairs)
        return dict(pairs)
    if isinstance(value, list):
        items = [shuffled(item, chance, key) for item in value]
        is_tuple = key in TUPLES and not any(isinstance(item, list) for item in items)
        if key not in ORDERED and not is_tuple:
            chance.shuffle(items)
        return items
    return value

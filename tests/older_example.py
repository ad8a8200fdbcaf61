"""The example of ``cobre init`` in the format of the public Cobre 0.5.1, which tests change and break."""

from __future__ import annotations

from typing import Any

from cobre.io.examples.small import OPENINGS, small_documents, small_tables


def example_documents() -> dict[str, Any]:
    """Contents of the JSON files, by path in the case directory."""
    documents = small_documents()
    config = documents["config.json"]
    del config["training"]["selection"]
    config["training"]["forward_passes"] = 8
    config["simulation"] = {"enabled": True, "num_scenarios": 200}
    prices = documents["penalties.json"]["hydro"]
    del prices["turbined_cost"]
    prices["fpha_turbined_cost"] = 0.05
    for stage in documents["stages.json"]["stages"]:
        del stage["num_openings"]
        stage["num_scenarios"] = OPENINGS
    initial = documents["initial_conditions.json"]
    del initial["recent_observations"]
    initial["past_inflows"] = [{"hydro_id": 0, "values_m3s": [290.0]}, {"hydro_id": 1, "values_m3s": [108.0]}]
    del documents["system/hydro_production_models.json"]
    for kind in ("buses", "lines", "thermals", "non_controllable_sources"):
        for entity in documents[f"system/{kind}.json"][kind]:
            del entity["operational_start_date"]
    evaporation = [140, 130, 125, 110, 95, 85, 90, 110, 125, 140, 145, 145]
    upper = hydro_entry(
        *(0, "UPPER", (300.0, 3200.0), (0.0, 460.0), (0.0, 437.0)),
        downstream=1,
        outflow=(20.0, None),
        productivity=0.95,
        evaporation={"coefficients_mm": evaporation},
    )
    lower = hydro_entry(
        *(1, "LOWER", (120.0, 700.0), (0.0, 640.0), (0.0, 396.8)), outflow=(45.0, None), productivity=0.62
    )
    documents["system/hydros.json"] = {"hydros": [upper, lower]}
    return documents


def hydro_entry(
    number: int,
    name: str,
    storage: tuple[float, float],
    turbined: tuple[float, float],
    power: tuple[float, float],
    *,
    bus: int = 0,
    downstream: int | None = None,
    outflow: tuple[float, float | None] = (0.0, None),
    productivity: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """What ``hydros.json`` says of a plant; pairs are limits. Its power follows planes unless it has a productivity."""
    model = {"model": "constant_productivity", "productivity_mw_per_m3s": productivity}
    return {
        "id": number,
        "name": name,
        "bus_id": bus,
        "downstream_id": downstream,
        "reservoir": dict(zip(("min_storage_hm3", "max_storage_hm3"), storage, strict=True)),
        "outflow": dict(zip(("min_outflow_m3s", "max_outflow_m3s"), outflow, strict=True)),
        "generation": {
            **({"model": "fpha"} if productivity is None else model),
            **dict(zip(("min_turbined_m3s", "max_turbined_m3s"), turbined, strict=True)),
            **dict(zip(("min_generation_mw", "max_generation_mw"), power, strict=True)),
        },
        **more,
    }


def example_tables() -> dict[str, dict[str, list[Any]]]:
    """Columns of the Parquet files, by path in the case directory."""
    tables = small_tables()
    lags = tables["scenarios/inflow_ar_coefficients.parquet"]
    lags["residual_std_ratio"] = [0.8 if hydro == 0 else 0.8660254037844386 for hydro in lags["hydro_id"]]
    return tables

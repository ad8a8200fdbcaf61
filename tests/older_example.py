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
    upper = _hydro(0, "UPPER", 1, (300.0, 3200.0), 20.0, 0.95, 460.0)
    documents["system/hydros.json"] = {
        "hydros": [
            {**upper, "evaporation": {"coefficients_mm": evaporation}},
            _hydro(1, "LOWER", None, (120.0, 700.0), 45.0, 0.62, 640.0),
        ]
    }
    return documents


def _hydro(
    hydro_id: int,
    name: str,
    downstream: int | None,
    storage: tuple[float, float],
    min_outflow: float,
    productivity: float,
    max_turbined: float,
) -> dict[str, Any]:
    return {
        "id": hydro_id,
        "name": name,
        "bus_id": 0,
        "downstream_id": downstream,
        "reservoir": {"min_storage_hm3": storage[0], "max_storage_hm3": storage[1]},
        "outflow": {"min_outflow_m3s": min_outflow, "max_outflow_m3s": None},
        "generation": {
            "model": "constant_productivity",
            "productivity_mw_per_m3s": productivity,
            "min_turbined_m3s": 0.0,
            "max_turbined_m3s": max_turbined,
            "min_generation_mw": 0.0,
            "max_generation_mw": round(productivity * max_turbined, 3),
        },
    }


def example_tables() -> dict[str, dict[str, list[Any]]]:
    """Columns of the Parquet files, by path in the case directory."""
    tables = small_tables()
    lags = tables["scenarios/inflow_ar_coefficients.parquet"]
    lags["residual_std_ratio"] = [0.8 if hydro == 0 else 0.8660254037844386 for hydro in lags["hydro_id"]]
    return tables

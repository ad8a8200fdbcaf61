"""An output table: how much of its capacity each thermal plant uses, one row per scenario, stage and plant.

A table is declared by its columns and filled from the tables that a simulation writes. Run it: python output_table.py
"""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import cobre
from cobre.core.arrow import arrow_schema
from cobre.core.outputs import table
from cobre.io.examples import write_example

CAPACITY_USE = table(
    "capacity_use",
    """
        scenario_id        i32  simulated trajectory, counted from 0
        stage_id           i32  id of the stage in stages.json
        thermal_id         i32  id of the plant in thermals.json
        generation_mwh     MWh  energy of the stage, all blocks
        share_of_capacity  -    of the energy at full power, from 0 to 1
    """,
)


def capacity_use(results: cobre.Results, case: cobre.Case) -> pa.Table:
    """The rows of the table, in the order of the simulation's."""
    rows = results.simulation.table(
        "thermals", ["scenario_id", "stage_id", "thermal_id", "generation_mwh"], names=False
    )
    keys = ["scenario_id", "stage_id", "thermal_id"]
    summed = rows.group_by(keys, use_threads=False).aggregate([("generation_mwh", "sum")])
    hours = {stage.id: stage.hours for stage in case.horizon.stages}
    place = {plant.id: k for k, plant in enumerate(case.system.thermals)}
    index = {stage.id: k for k, stage in enumerate(case.horizon.stages)}
    limits = case.tables.thermal.max_generation_mw
    full = [
        float(limits[place[plant], index[stage]].max()) * hours[stage]
        for plant, stage in zip(summed["thermal_id"].to_pylist(), summed["stage_id"].to_pylist(), strict=True)
    ]
    energy = summed["generation_mwh_sum"]
    columns = [*(summed[key] for key in keys), energy, pc.divide(energy, pa.array(full))]
    return pa.table(columns, schema=arrow_schema(CAPACITY_USE))


def main() -> None:
    folder = Path(tempfile.mkdtemp()) / "my_case"
    write_example(folder)
    limit = {"training": {"stopping_rules": [{"type": "iteration_limit", "limit": 2}]}}
    policy = cobre.train(folder, config_overrides=limit).policy
    cobre.simulate(folder, policy, scenarios=4, output=folder / "output")
    found = capacity_use(cobre.load_results(folder / "output"), cobre.load_case(folder))
    target = folder / "output" / "simulation" / "capacity_use.parquet"
    pq.write_table(found, target)
    shares = pc.min_max(pq.read_table(target)["share_of_capacity"]).as_py()
    print(f"rows: {found.num_rows}")
    print(f"between 0 and 1: {shares['min'] >= 0.0 and shares['max'] <= 1.0 + 1e-9}")


if __name__ == "__main__":
    main()

"""No part of the random cases is idle: without it the optimum of some case is another one.

So a reader that overlooked the part would miss an optimum of ``test_file_to_bound``.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from files.generator import SEEDS, draw_flags, write_case
from files.optimum import optimum

FILES = """
constraints/contract_bounds.parquet constraints/exchange_factors.json constraints/generic_constraints.json
constraints/hydro_bounds.parquet constraints/line_bounds.parquet constraints/ncs_bounds.parquet
constraints/penalty_overrides_bus.parquet constraints/penalty_overrides_hydro.parquet
constraints/penalty_overrides_line.parquet constraints/penalty_overrides_ncs.parquet
constraints/pumping_bounds.parquet constraints/thermal_bounds.parquet
scenarios/correlation.json scenarios/inflow_ar_coefficients.parquet scenarios/load_factors.json
scenarios/load_seasonal_stats.parquet scenarios/non_controllable_factors.json
scenarios/non_controllable_stats.parquet
""".split()

FIELDS = """
initial_conditions.json:past_inflows
stages.json:risk_measure stages.json:sampling_method stages.json:transitions
system/buses.json:deficit_segments
system/energy_contracts.json:entry_stage_id system/energy_contracts.json:exit_stage_id
system/hydros.json:diversion system/hydros.json:evaporation system/hydros.json:penalties
system/hydros.json:reference_volumes_hm3
system/hydro_production_models.json:productivity_override
system/lines.json:entry_stage_id system/lines.json:exit_stage_id system/lines.json:exchange_cost
system/lines.json:losses_percent
system/non_controllable_sources.json:curtailment_cost system/non_controllable_sources.json:entry_stage_id
system/non_controllable_sources.json:exit_stage_id
system/pumping_stations.json:entry_stage_id
system/thermals.json:entry_stage_id system/thermals.json:exit_stage_id
""".split()

COLUMNS = """
constraints/contract_bounds.parquet:max_mw constraints/contract_bounds.parquet:min_mw
constraints/contract_bounds.parquet:price_per_mwh
constraints/generic_constraint_bounds.parquet:block_id
constraints/hydro_bounds.parquet:max_diversion_m3s constraints/hydro_bounds.parquet:max_generation_mw
constraints/hydro_bounds.parquet:max_outflow_m3s constraints/hydro_bounds.parquet:max_storage_hm3
constraints/hydro_bounds.parquet:max_turbined_m3s constraints/hydro_bounds.parquet:min_generation_mw
constraints/hydro_bounds.parquet:min_outflow_m3s constraints/hydro_bounds.parquet:min_turbined_m3s
constraints/hydro_bounds.parquet:water_withdrawal_m3s
constraints/line_bounds.parquet:direct_mw constraints/line_bounds.parquet:reverse_mw
constraints/pumping_bounds.parquet:max_m3s constraints/pumping_bounds.parquet:min_m3s
constraints/thermal_bounds.parquet:cost_per_mwh constraints/thermal_bounds.parquet:max_generation_mw
constraints/thermal_bounds.parquet:min_generation_mw
system/fpha_hyperplanes.parquet:kappa
""".split()


@pytest.fixture(scope="module")
def cases(tmp_path_factory) -> dict[Path, float]:
    """Every random case with its optimum."""
    folders = {seed: tmp_path_factory.mktemp(f"seed{seed}") for seed in SEEDS}
    for seed, folder in folders.items():
        write_case(folder, seed, draw_flags(seed))
    return {folder: optimum(folder) for folder in folders.values()}


@pytest.mark.parametrize("part", FILES + FIELDS + COLUMNS)
def test_removing_any_part_changes_some_optimum(part, cases, tmp_path):
    name, _, key = part.partition(":")
    for folder, expected in cases.items():
        if not (folder / name).exists():
            continue
        changed = shutil.copytree(folder, tmp_path / folder.name)
        if not key:
            (changed / name).unlink()
        elif not take_away(changed / name, key):
            continue
        if abs(optimum(changed) - expected) > 1e-5 * abs(expected):
            return
    pytest.fail(f"{part} counts in none of {len(cases)} cases")


def take_away(path: Path, key: str) -> bool:
    """Whether there was such a key or column to take away."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        if key in table.column_names:
            pq.write_table(table.drop_columns([key]), path)
        return key in table.column_names
    text = path.read_text()
    content = json.loads(text, object_hook=lambda entry: {k: v for k, v in entry.items() if k != key})
    path.write_text(json.dumps(content))
    return f'"{key}"' in text

"""The tables of a simulation, one row per scenario, stage, entity and block.

Where a value belongs to the whole stage it is repeated on the row of every block. Storages, water values and
evaporation belong to the stage where blocks are parallel, and to the block where they are chronological.
"""

from __future__ import annotations

from cobre.core.outputs import Column, TableSchema, code, identifier, number, table

PLACE = (
    identifier("scenario_id", "simulated trajectory, counted from 0"),
    identifier("stage_id", "id of the stage in stages.json"),
    identifier("node_id", "node of the policy graph; in a chain the index of the stage"),
)
BLOCK = (
    identifier(
        "block_id", "block of the stage, counted from 0; null for values of a whole stage", is_nullable=True
    ),
)
STATE = (code("operative_state_code", "whether the entity operates in this stage: see operative_state"),)


def _money(name: str, description: str) -> Column:
    return number(name, "$", description)


COSTS = table(
    "costs",
    PLACE,
    BLOCK,
    (
        _money("total_cost", "immediate and future cost, in money of this stage"),
        _money("immediate_cost", "cost of this stage alone"),
        _money("future_cost", "expected cost of all later stages by the policy, in money of this stage"),
        number("discount_factor", "", "multiplies a cost of this stage to give its value in the first stage"),
        _money("thermal_cost", "fuel of thermal plants"),
        _money(
            "anticipated_thermal_cost", "fuel of thermal plants that commit in advance, paid at the decision"
        ),
        _money("contract_cost", "imports paid, minus exports earned"),
        _money("deficit_cost", "energy not supplied, all segments"),
        _money("excess_cost", "energy beyond the demand"),
        _money("storage_violation_cost", "storage below its minimum"),
        _money("filling_target_cost", "filling target of a new reservoir missed"),
        _money("hydro_violation_cost", "sum of the six columns that follow"),
        _money("outflow_violation_below_cost", "outflow below its minimum"),
        _money("outflow_violation_above_cost", "outflow above its maximum"),
        _money("turbined_violation_cost", "turbined flow below its minimum"),
        _money("generation_violation_cost", "hydro generation below its minimum"),
        _money("evaporation_violation_cost", "evaporation that differs from the formula"),
        _money("withdrawal_violation_cost", "water withdrawal that differs from the plan"),
        _money("inflow_penalty_cost", "negative inflow that was raised to zero"),
        _money("generic_violation_cost", "violations of generic constraints"),
        _money("spillage_cost", "water spilled or diverted"),
        _money("turbined_cost", "charge on turbined water"),
        _money("curtailment_cost", "available power of non-controllable sources that was not used"),
        _money("exchange_cost", "use of lines, both directions"),
        _money("pumping_cost", "energy of pumping at the spot price; no part of the objective"),
    ),
)

HYDROS = table(
    "hydros",
    PLACE,
    BLOCK,
    (
        identifier("hydro_id", "id of the hydro plant"),
        number("turbined_m3s", "m3/s", "flow through the turbines in the block"),
        number("spillage_m3s", "m3/s", "flow over the spillway in the block"),
        number(
            "outflow_m3s", "m3/s", "turbined and spilled flow in the block; diverted water is not part of it"
        ),
        number(
            "evaporation_m3s",
            "m3/s",
            "evaporation over the stage, or the block where blocks are chronological; null where not modelled",
            is_nullable=True,
        ),
        number(
            "diverted_inflow_m3s",
            "m3/s",
            "diverted water received; null without a canal that ends here",
            is_nullable=True,
        ),
        number(
            "diverted_outflow_m3s",
            "m3/s",
            "diverted water sent; null without a canal that begins here",
            is_nullable=True,
        ),
        number(
            "incremental_inflow_m3s",
            "m3/s",
            "natural inflow between this plant and those above, before withdrawal",
            is_of_stage=True,
        ),
        number(
            "inflow_m3s",
            "m3/s",
            "incremental inflow plus what arrives in the block of water that plants above turbine and spill, and of "
            "the inflow, less withdrawals, of plants above that do not exist in the stage",
        ),
        number(
            "storage_initial_hm3",
            "hm3",
            "storage at the beginning of the stage, or of the block where blocks are chronological",
            is_of_stage=True,
        ),
        number(
            "storage_final_hm3",
            "hm3",
            "storage at the end of the stage, or of the block where blocks are chronological",
            is_at_end=True,
        ),
        number("generation_mw", "MW", "mean power in the block"),
        number("generation_mwh", "MWh", "energy in the block"),
        number(
            "equivalent_productivity_mw_per_m3s",
            "MW/(m3/s)",
            "power per turbined flow; with planes at the reference volume and full flow",
            is_of_stage=True,
        ),
        number(
            "accumulated_productivity_mw_per_m3s",
            "MW/(m3/s)",
            "equivalent productivity of this plant and all below it",
            is_of_stage=True,
        ),
        number(
            "incremental_inflow_energy_mw",
            "MW",
            "incremental inflow times accumulated productivity",
            is_of_stage=True,
        ),
        number(
            "stored_energy_initial_mwh",
            "MWh",
            "energy of the storage above the minimum at the beginning, at the integrated accumulated productivity",
            is_of_stage=True,
        ),
        number(
            "stored_energy_final_mwh",
            "MWh",
            "energy of the storage above the minimum at the end, at the integrated accumulated productivity",
            is_at_end=True,
        ),
        _money("spillage_cost", "charge on spilled water"),
        number(
            "water_value_per_hm3",
            "$/hm3",
            "cost that one more hm3 arriving here in the stage (in the block where blocks are chronological) saves: "
            "minus the dual of the water balance; of a plant that does not exist in the stage: what it holds is worth",
        ),
        code("storage_binding_code", "which storage limit the final storage lies at: see storage_binding"),
        *STATE,
        number("turbined_slack_m3s", "m3/s", "turbined flow missing from its minimum"),
        number("outflow_slack_below_m3s", "m3/s", "outflow missing from its minimum"),
        number("outflow_slack_above_m3s", "m3/s", "outflow beyond its maximum"),
        number("generation_slack_mw", "MW", "generation missing from its minimum"),
        number("storage_violation_below_hm3", "hm3", "storage missing from its minimum", is_of_stage=True),
        number(
            "filling_target_violation_hm3", "hm3", "volume missing from the filling target", is_of_stage=True
        ),
        number("evaporation_violation_pos_m3s", "m3/s", "evaporated more than the formula says"),
        number("evaporation_violation_neg_m3s", "m3/s", "evaporated less than the formula says"),
        number(
            "inflow_nonnegativity_slack_m3s",
            "m3/s",
            "water added so that a negative inflow can be met",
            is_of_stage=True,
        ),
        number("water_withdrawal_violation_pos_m3s", "m3/s", "withdrawn beyond the plan", is_of_stage=True),
        number(
            "water_withdrawal_violation_neg_m3s",
            "m3/s",
            "missing from the planned withdrawal",
            is_of_stage=True,
        ),
        number(
            "integrated_equivalent_productivity_mw_per_m3s",
            "MW/(m3/s)",
            "equivalent productivity averaged over the storage range",
            is_of_stage=True,
        ),
        number(
            "integrated_accumulated_productivity_mw_per_m3s",
            "MW/(m3/s)",
            "integrated productivity of this plant and all below it",
            is_of_stage=True,
        ),
        number(
            "stored_energy_initial_mw",
            "MW",
            "stored_energy_initial_mwh over the hours of the stage",
            is_of_stage=True,
        ),
        number(
            "stored_energy_final_mw",
            "MW",
            "stored_energy_final_mwh over the hours of the stage",
            is_at_end=True,
        ),
    ),
)

THERMALS = table(
    "thermals",
    PLACE,
    BLOCK,
    (
        identifier("thermal_id", "id of the thermal plant"),
        number("generation_mw", "MW", "mean power in the block"),
        number("generation_mwh", "MWh", "energy in the block"),
        _money("generation_cost", "fuel"),
        Column("is_anticipated", "bool", "", "whether the plant commits before it delivers"),
        number(
            "anticipated_committed_mw", "MW", "commitment that is delivered in this stage", is_nullable=True
        ),
        number(
            "anticipated_decision_mw", "MW", "commitment made in this stage for a later one", is_nullable=True
        ),
    ),
    STATE,
)

EXCHANGES = table(
    "exchanges",
    PLACE,
    BLOCK,
    (
        identifier("line_id", "id of the line"),
        number("direct_flow_mw", "MW", "power sent from source to target"),
        number("reverse_flow_mw", "MW", "power sent from target to source"),
        number("net_flow_mw", "MW", "direct minus reverse flow"),
        number("net_flow_mwh", "MWh", "net flow times hours of the block"),
        number("losses_mw", "MW", "power lost on the line, both directions"),
        number("losses_mwh", "MWh", "losses times hours of the block"),
        _money("exchange_cost", "charge on the use of the line"),
    ),
    STATE,
)

BUSES = table(
    "buses",
    PLACE,
    BLOCK,
    (
        identifier("bus_id", "id of the bus"),
        number("load_mw", "MW", "demand, supplied or not"),
        number("load_mwh", "MWh", "demand times hours of the block"),
        number("deficit_mw", "MW", "demand not supplied, all segments"),
        number("deficit_mwh", "MWh", "deficit times hours of the block"),
        number("excess_mw", "MW", "power beyond the demand"),
        number("excess_mwh", "MWh", "excess times hours of the block"),
        number("spot_price", "$/MWh", "cost of one more MWh of demand in the block"),
    ),
)

PUMPING_STATIONS = table(
    "pumping_stations",
    PLACE,
    BLOCK,
    (
        identifier("pumping_station_id", "id of the pumping station"),
        number("pumped_flow_m3s", "m3/s", "flow from source to destination reservoir"),
        number("pumped_volume_hm3", "hm3", "pumped water in the block"),
        number("power_consumption_mw", "MW", "power taken from the bus"),
        number("energy_consumption_mwh", "MWh", "energy taken from the bus"),
        _money("pumping_cost", "energy at the spot price of its bus; no part of the objective"),
    ),
    STATE,
)

CONTRACTS = table(
    "contracts",
    PLACE,
    BLOCK,
    (
        identifier("contract_id", "id of the energy contract"),
        number("power_mw", "MW", "power imported or exported, never negative"),
        number("energy_mwh", "MWh", "power times hours of the block"),
        number("price_per_mwh", "$/MWh", "price; negative for exports that earn money"),
        _money("total_cost", "price times energy"),
    ),
    STATE,
)

NON_CONTROLLABLES = table(
    "non_controllables",
    PLACE,
    BLOCK,
    (
        identifier("non_controllable_id", "id of the non-controllable source"),
        number("generation_mw", "MW", "power used"),
        number("generation_mwh", "MWh", "energy used"),
        number("available_mw", "MW", "power available in this scenario"),
        number("curtailment_mw", "MW", "available power that was not used"),
        number("curtailment_mwh", "MWh", "curtailment times hours of the block"),
        _money("curtailment_cost", "charge on curtailment"),
    ),
    STATE,
)

INFLOW_LAGS = table(
    "inflow_lags",
    PLACE,
    (
        identifier("hydro_id", "id of the hydro plant"),
        identifier("lag_index", "1 for the period before the stage, 2 for the one before that, and so on"),
        number("inflow_m3s", "m3/s", "past inflow as the stage begins"),
    ),
)

GENERIC_VIOLATIONS = table(
    "violations/generic",
    PLACE,
    BLOCK,
    (
        identifier("constraint_id", "id of the generic constraint"),
        number(
            "slack_value",
            "",
            "violation in units of the constraint; of one with two bounds negative above the upper one",
        ),
        _money("slack_cost", "charge on the violation"),
    ),
)

HYDRO_BUS_GENERATION = table(
    "hydro_bus_generation",
    PLACE,
    BLOCK,
    (
        identifier("hydro_id", "id of the hydro plant"),
        identifier("bus_id", "id of the bus that receives the power"),
        number("turbined_m3s", "m3/s", "flow turbined by the units at this bus"),
        number("generation_mw", "MW", "mean power in the block"),
        number("generation_mwh", "MWh", "energy in the block"),
    ),
)

IN_TRANSIT = table(
    "in_transit",
    PLACE,
    (
        identifier("hydro_id", "id of the hydro plant that the water is on its way to"),
        identifier("lag", "1 for water that arrives in the next stage, 2 for the one after that, and so on"),
        number("in_transit_volume_hm3", "hm3", "water under way as the stage ends", is_of_stage=True),
        number(
            "delayed_arrival_hm3",
            "hm3",
            "water released before this stage that arrived in it, on the row of lag 1; 0 on the others",
        ),
    ),
)

TRANSIT_SEED = table(
    "transit_seed",
    PLACE[:1],
    (
        identifier("hydro_id", "id of the hydro plant that released the water"),
        Column("start_date", "date", "", "first day of the release"),
        Column("end_date", "date", "", "day after the last one of the release"),
        number("value_m3s", "m3/s", "mean flow: an entry of past_defluences of a study that goes on"),
    ),
)

ANTICIPATED_LANES = table(
    "anticipated_lanes",
    PLACE,
    (
        identifier("thermal_id", "id of the thermal plant"),
        identifier("delivery_date", "first day of the delivery, as YYYYMMDD"),
        number("deposited_decision_mw", "MW", "decided in this stage", is_of_stage=True),
        number(
            "carried_committed_mw",
            "MW",
            "decided up to the end of this stage and not yet delivered",
            is_of_stage=True,
        ),
    ),
)

FIXED_DELIVERIES = table(
    "fixed_deliveries",
    (
        identifier("thermal_id", "id of the thermal plant"),
        Column("start_date", "date", "", "first day of the delivery"),
        Column("end_date", "date", "", "day after the last one of the delivery"),
        number("value_mw", "MW", "generation that was decided before the study for days after it"),
    ),
)
"""Of ``anticipated/``."""

SIMULATION_TABLES: tuple[TableSchema, ...] = (
    COSTS,
    HYDROS,
    HYDRO_BUS_GENERATION,
    THERMALS,
    EXCHANGES,
    BUSES,
    PUMPING_STATIONS,
    CONTRACTS,
    NON_CONTROLLABLES,
    INFLOW_LAGS,
    IN_TRANSIT,
    TRANSIT_SEED,
    ANTICIPATED_LANES,
    GENERIC_VIOLATIONS,
)
"""Tables with one file per scenario."""

PATHS = table("paths", PLACE)
SCENARIO_SUMMARY = table(
    "scenario_summary",
    PLACE[:1],
    (
        number(
            "probability",
            "",
            "of the scenario where the tree was enumerated; null in a sample",
            is_nullable=True,
        ),
        _money(
            "discounted_immediate_cost",
            "discounted immediate costs of all stages, and what follows the last one by the cuts that stand there",
        ),
    ),
)

STAGE_SUMMARY = table(
    "stage_summary",
    PLACE[:2],
    (
        number("load_mwh", "MWh", "demand of all buses"),
        number("hydro_mwh", "MWh", "generation of hydro plants"),
        number("thermal_mwh", "MWh", "generation of thermal plants"),
        number("non_controllable_mwh", "MWh", "generation of non-controllable sources"),
        number("import_mwh", "MWh", "energy bought"),
        number("export_mwh", "MWh", "energy sold"),
        number("pumping_mwh", "MWh", "energy of pumping"),
        number("losses_mwh", "MWh", "lost on lines"),
        number("deficit_mwh", "MWh", "demand not supplied"),
        number("max_deficit_mw", "MW", "greatest deficit of a bus in a block", is_of_stage=True),
        number("excess_mwh", "MWh", "energy beyond the demand"),
        number("curtailment_mwh", "MWh", "available energy of non-controllable sources that was not used"),
        number("spillage_hm3", "hm3", "water spilled"),
        number("spillage_mwh", "MWh", "energy that spilled water would have given at its own plant"),
        number("storage_final_hm3", "hm3", "water stored at the end of the stage", is_of_stage=True),
        number("stored_energy_final_mwh", "MWh", "energy stored at the end of the stage", is_of_stage=True),
        _money("immediate_cost", "cost of the stage alone, not discounted"),
        _money("resource_cost", "thermal plants and contracts"),
        _money("recourse_cost", "deficit and excess"),
        _money("violation_cost", "violations of limits and generic constraints, negative inflows"),
        _money("regularization_cost", "spillage, turbined water, curtailment and exchange"),
        _money("imputed_cost", "energy of pumping at the spot price; no part of the objective"),
    ),
)
"""One row per scenario and stage: what most questions need, without opening the file of every scenario."""

COST_CATEGORIES = {
    "resource": ("thermal_cost", "anticipated_thermal_cost", "contract_cost"),
    "recourse": ("deficit_cost", "excess_cost"),
    "violation": (
        "storage_violation_cost",
        "filling_target_cost",
        "hydro_violation_cost",
        "inflow_penalty_cost",
        "generic_violation_cost",
    ),
    "regularization": ("spillage_cost", "turbined_cost", "curtailment_cost", "exchange_cost"),
    "imputed": ("pumping_cost",),
}
"""Kinds of cost, and the columns of ``costs`` that belong to each."""

"""The tables of a simulation, one row per scenario, stage, entity and block.

Where a value belongs to the whole stage it is repeated on the row of every block. Storages, water values and
evaporation belong to the stage where blocks are parallel, and to the block where they are chronological.
"""

from __future__ import annotations

from cobre.core.outputs import TableSchema, columns, table

PLACE = columns("""
    scenario_id  i32  simulated trajectory, counted from 0
    stage_id     i32  id of the stage in stages.json
    node_id      i32  node of the policy graph; in a chain the index of the stage
""")
BLOCK = columns("""
    block_id  i32?  block of the stage, counted from 0; null for values of a whole stage
""")
STATE = columns("""
    operative_state_code  i8  whether the entity operates in this stage: see operative_state
""")


COSTS = table(
    "costs",
    PLACE,
    BLOCK,
    """
        total_cost                    $  immediate and future cost, in money of this stage
        immediate_cost                $  cost of this stage alone
        future_cost                   $  expected cost of all later stages by the policy, in money of this stage
        discount_factor               -  multiplies a cost of this stage to give its value in the first stage
        thermal_cost                  $  fuel of thermal plants
        anticipated_thermal_cost      $  fuel of thermal plants that commit in advance, paid at the decision
        contract_cost                 $  imports paid, minus exports earned
        deficit_cost                  $  energy not supplied, all segments
        excess_cost                   $  energy beyond the demand
        storage_violation_cost        $  storage below its minimum
        filling_target_cost           $  filling target of a new reservoir missed
        hydro_violation_cost          $  sum of the six columns that follow
        outflow_violation_below_cost  $  outflow below its minimum
        outflow_violation_above_cost  $  outflow above its maximum
        turbined_violation_cost       $  turbined flow below its minimum
        generation_violation_cost     $  hydro generation below its minimum
        evaporation_violation_cost    $  evaporation that differs from the formula
        withdrawal_violation_cost     $  water withdrawal that differs from the plan
        inflow_penalty_cost           $  negative inflow that was raised to zero
        generic_violation_cost        $  violations of generic constraints
        spillage_cost                 $  water spilled or diverted
        turbined_cost                 $  charge on turbined water
        curtailment_cost              $  available power of non-controllable sources that was not used
        exchange_cost                 $  use of lines, both directions
        pumping_cost                  $  energy of pumping at the spot price; no part of the objective
    """,
)

HYDROS = table(
    "hydros",
    PLACE,
    BLOCK,
    """
        hydro_id                             i32              id of the hydro plant
        turbined_m3s                         m3/s             flow through the turbines in the block
        spillage_m3s                         m3/s             flow over the spillway in the block
        outflow_m3s                          m3/s             turbined and spilled flow in the block; diverted water \
            is not part of it
        evaporation_m3s                      m3/s?            evaporation over the stage, or the block where blocks \
            are chronological; null where not modelled
        diverted_inflow_m3s                  m3/s?            diverted water received; null without a canal that \
            ends here
        diverted_outflow_m3s                 m3/s?            diverted water sent; null without a canal that begins \
            here
        incremental_inflow_m3s               m3/s@stage       natural inflow between this plant and those above, \
            before withdrawal
        inflow_m3s                           m3/s             incremental inflow plus what arrives in the block of \
            water that plants above turbine and spill, and of the inflow, less withdrawals, of plants above that do \
            not exist in the stage
        storage_initial_hm3                  hm3@stage        storage at the beginning of the stage, or of the block \
            where blocks are chronological
        storage_final_hm3                    hm3@end          storage at the end of the stage, or of the block where \
            blocks are chronological
        generation_mw                        MW               mean power in the block
        generation_mwh                       MWh              energy in the block
        equivalent_productivity_mw_per_m3s   MW/(m3/s)@stage  power per turbined flow; with planes at the reference \
            volume and full flow
        accumulated_productivity_mw_per_m3s  MW/(m3/s)@stage  equivalent productivity of this plant and all below it
        incremental_inflow_energy_mw         MW@stage         incremental inflow times accumulated productivity
        stored_energy_initial_mwh            MWh@stage        energy of the storage above the minimum at the \
            beginning, at the integrated accumulated productivity
        stored_energy_final_mwh              MWh@end          energy of the storage above the minimum at the end, at \
            the integrated accumulated productivity
        spillage_cost                        $                charge on spilled water
        water_value_per_hm3                  $/hm3            cost that one more hm3 arriving here in the stage (in \
            the block where blocks are chronological) saves: minus the dual of the water balance; of a plant that \
            does not exist in the stage: what it holds is worth
        storage_binding_code                 i8               which storage limit the final storage lies at: see \
            storage_binding
    """,
    STATE,
    """
        turbined_slack_m3s                              m3/s             turbined flow missing from its minimum
        outflow_slack_below_m3s                         m3/s             outflow missing from its minimum
        outflow_slack_above_m3s                         m3/s             outflow beyond its maximum
        generation_slack_mw                             MW               generation missing from its minimum
        storage_violation_below_hm3                     hm3@stage        storage missing from its minimum
        filling_target_violation_hm3                    hm3@stage        volume missing from the filling target
        evaporation_violation_pos_m3s                   m3/s             evaporated more than the formula says
        evaporation_violation_neg_m3s                   m3/s             evaporated less than the formula says
        inflow_nonnegativity_slack_m3s                  m3/s@stage       water added so that a negative inflow can \
            be met
        water_withdrawal_violation_pos_m3s              m3/s@stage       withdrawn beyond the plan
        water_withdrawal_violation_neg_m3s              m3/s@stage       missing from the planned withdrawal
        integrated_equivalent_productivity_mw_per_m3s   MW/(m3/s)@stage  equivalent productivity averaged over the \
            storage range
        integrated_accumulated_productivity_mw_per_m3s  MW/(m3/s)@stage  integrated productivity of this plant and \
            all below it
        stored_energy_initial_mw                        MW@stage         stored_energy_initial_mwh over the hours of \
            the stage
        stored_energy_final_mw                          MW@end           stored_energy_final_mwh over the hours of \
            the stage
    """,
)

THERMALS = table(
    "thermals",
    PLACE,
    BLOCK,
    """
        thermal_id                i32   id of the thermal plant
        generation_mw             MW    mean power in the block
        generation_mwh            MWh   energy in the block
        generation_cost           $     fuel
        is_anticipated            bool  whether the plant commits before it delivers
        anticipated_committed_mw  MW?   commitment that is delivered in this stage
        anticipated_decision_mw   MW?   commitment made in this stage for a later one
    """,
    STATE,
)

EXCHANGES = table(
    "exchanges",
    PLACE,
    BLOCK,
    """
        line_id          i32  id of the line
        direct_flow_mw   MW   power sent from source to target
        reverse_flow_mw  MW   power sent from target to source
        net_flow_mw      MW   direct minus reverse flow
        net_flow_mwh     MWh  net flow times hours of the block
        losses_mw        MW   power lost on the line, both directions
        losses_mwh       MWh  losses times hours of the block
        exchange_cost    $    charge on the use of the line
    """,
    STATE,
)

BUSES = table(
    "buses",
    PLACE,
    BLOCK,
    """
        bus_id       i32    id of the bus
        load_mw      MW     demand, supplied or not
        load_mwh     MWh    demand times hours of the block
        deficit_mw   MW     demand not supplied, all segments
        deficit_mwh  MWh    deficit times hours of the block
        excess_mw    MW     power beyond the demand
        excess_mwh   MWh    excess times hours of the block
        spot_price   $/MWh  cost of one more MWh of demand in the block
    """,
)

PUMPING_STATIONS = table(
    "pumping_stations",
    PLACE,
    BLOCK,
    """
        pumping_station_id      i32   id of the pumping station
        pumped_flow_m3s         m3/s  flow from source to destination reservoir
        pumped_volume_hm3       hm3   pumped water in the block
        power_consumption_mw    MW    power taken from the bus
        energy_consumption_mwh  MWh   energy taken from the bus
        pumping_cost            $     energy at the spot price of its bus; no part of the objective
    """,
    STATE,
)

CONTRACTS = table(
    "contracts",
    PLACE,
    BLOCK,
    """
        contract_id    i32    id of the energy contract
        power_mw       MW     power imported or exported, never negative
        energy_mwh     MWh    power times hours of the block
        price_per_mwh  $/MWh  price; negative for exports that earn money
        total_cost     $      price times energy
    """,
    STATE,
)

NON_CONTROLLABLES = table(
    "non_controllables",
    PLACE,
    BLOCK,
    """
        non_controllable_id  i32  id of the non-controllable source
        generation_mw        MW   power used
        generation_mwh       MWh  energy used
        available_mw         MW   power available in this scenario
        curtailment_mw       MW   available power that was not used
        curtailment_mwh      MWh  curtailment times hours of the block
        curtailment_cost     $    charge on curtailment
    """,
    STATE,
)

INFLOW_LAGS = table(
    "inflow_lags",
    PLACE,
    """
        hydro_id    i32   id of the hydro plant
        lag_index   i32   1 for the period before the stage, 2 for the one before that, and so on
        inflow_m3s  m3/s  past inflow as the stage begins
    """,
)

GENERIC_VIOLATIONS = table(
    "violations/generic",
    PLACE,
    BLOCK,
    """
        constraint_id  i32  id of the generic constraint
        slack_value    -    violation in units of the constraint; of one with two bounds negative above the upper \
            one
        slack_cost     $    charge on the violation
    """,
)

HYDRO_BUS_GENERATION = table(
    "hydro_bus_generation",
    PLACE,
    BLOCK,
    """
        hydro_id        i32   id of the hydro plant
        bus_id          i32   id of the bus that receives the power
        turbined_m3s    m3/s  flow turbined by the units at this bus
        generation_mw   MW    mean power in the block
        generation_mwh  MWh   energy in the block
    """,
)

IN_TRANSIT = table(
    "in_transit",
    PLACE,
    """
        hydro_id               i32        id of the hydro plant that the water is on its way to
        lag                    i32        1 for water that arrives in the next stage, 2 for the one after that, and \
            so on
        in_transit_volume_hm3  hm3@stage  water under way as the stage ends
        delayed_arrival_hm3    hm3        water released before this stage that arrived in it, on the row of lag 1; \
            0 on the others
    """,
)

TRANSIT_SEED = table(
    "transit_seed",
    PLACE[:1],
    """
        hydro_id    i32   id of the hydro plant that released the water
        start_date  date  first day of the release
        end_date    date  day after the last one of the release
        value_m3s   m3/s  mean flow: an entry of past_defluences of a study that goes on
    """,
)

ANTICIPATED_LANES = table(
    "anticipated_lanes",
    PLACE,
    """
        thermal_id             i32       id of the thermal plant
        delivery_date          i32       first day of the delivery, as YYYYMMDD
        deposited_decision_mw  MW@stage  decided in this stage
        carried_committed_mw   MW@stage  decided up to the end of this stage and not yet delivered
    """,
)

FIXED_DELIVERIES = table(
    "fixed_deliveries",
    """
        thermal_id  i32   id of the thermal plant
        start_date  date  first day of the delivery
        end_date    date  day after the last one of the delivery
        value_mw    MW    generation that was decided before the study for days after it
    """,
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
    """
        probability                -?  of the scenario where the tree was enumerated; null in a sample
        discounted_immediate_cost  $   discounted immediate costs of all stages, and what follows the last one by \
            the cuts that stand there
    """,
)

STAGE_SUMMARY = table(
    "stage_summary",
    PLACE[:2],
    """
        load_mwh                 MWh        demand of all buses
        hydro_mwh                MWh        generation of hydro plants
        thermal_mwh              MWh        generation of thermal plants
        non_controllable_mwh     MWh        generation of non-controllable sources
        import_mwh               MWh        energy bought
        export_mwh               MWh        energy sold
        pumping_mwh              MWh        energy of pumping
        losses_mwh               MWh        lost on lines
        deficit_mwh              MWh        demand not supplied
        max_deficit_mw           MW@stage   greatest deficit of a bus in a block
        excess_mwh               MWh        energy beyond the demand
        curtailment_mwh          MWh        available energy of non-controllable sources that was not used
        spillage_hm3             hm3        water spilled
        spillage_mwh             MWh        energy that spilled water would have given at its own plant
        storage_final_hm3        hm3@stage  water stored at the end of the stage
        stored_energy_final_mwh  MWh@stage  energy stored at the end of the stage
        immediate_cost           $          cost of the stage alone, not discounted
        resource_cost            $          thermal plants and contracts
        recourse_cost            $          deficit and excess
        violation_cost           $          violations of limits and generic constraints, negative inflows
        regularization_cost      $          spillage, turbined water, curtailment and exchange
        imputed_cost             $          energy of pumping at the spot price; no part of the objective
    """,
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

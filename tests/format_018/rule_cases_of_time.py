"""Broken cases for more numbered rules of the public Cobre 0.18: lead times, rivers, policy graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from format_018.rule_cases import hydro, limit_a_block, stages, use_external
from format_018.small import Case018

Break = Callable[[Case018], Any]
STAGES, CONFIG, INITIAL = "stages.json", "config.json", "initial_conditions.json"


def graph(**changes: Any) -> Break:
    return lambda case: case.documents[STAGES]["policy_graph"].update(changes)


def edge(source: int, target: int, probability: float = 1.0) -> dict[str, Any]:
    return {"source_id": source, "target_id": target, "probability": probability}


def ahead(case: Case018, **lead: float) -> None:
    plant = case.documents["system/thermals.json"]["thermals"][0]
    plant["anticipated_config"] = lead


def commitment(case: Case018, start: str, end: str, value: float = 10.0) -> None:
    case.documents[INITIAL].setdefault("past_anticipated_commitments", []).append(
        {"thermal_id": 0, "start_date": start, "end_date": end, "value_mw": value}
    )


def one_stage_ahead(case: Case018) -> None:
    ahead(case, lead_stages=1)
    commitment(case, "2025-01-01", "2025-02-01")


def out_of_reach(case: Case018) -> None:
    ahead(case, lead_stages=4)
    commitment(case, "2025-01-01", "2025-04-01")


def constraint_on_delivery(case: Case018) -> None:
    one_stage_ahead(case)
    case.constrain("thermal_generation(0)", [{"stage_id": 1, "bound_upper": 50.0}])


def decision_of_an_ordinary_plant(case: Case018) -> None:
    case.constrain("anticipated_decision(0)", [{"stage_id": 1, "bound_upper": 50.0}])


def block_of_a_plant_ahead(case: Case018) -> None:
    one_stage_ahead(case)
    limit_a_block(case)


def calendar_after_a_gap(case: Case018) -> None:
    case.documents["post_study_stages.json"] = {
        "stages": [{"start_date": "2025-05-01", "duration_hours": 744.0}],
        "thermal_bounds": [],
    }


def with_unequal_stages(case: Case018) -> None:
    """Stages of 31, 28 and 20 days."""
    one_stage_ahead(case)
    last = stages(case)[2]
    last["end_date"], last["blocks"][0]["hours"] = "2025-03-21", 480.0


def river(**changes: Any) -> Break:
    """Water of the first plant takes some days to the second."""

    def change(case: Case018) -> None:
        hydro(case).update({"travel_time_hours": 48.0, **changes})
        case.documents[INITIAL]["past_defluences"] = [
            {"hydro_id": 0, "start_date": "2024-12-01", "end_date": "2025-01-01", "value_m3s": 3.0}
        ]

    return change


def meeting_waters(case: Case018) -> None:
    case.add_hydro(30.0, 60.0, flow=90.0, inflow=[10.0] * 3, downstream=1, travel_time_hours=72.0)
    plant = hydro(case, 2)
    plant["generation"]["max_generation_mw"] = plant["unit_groups"][0]["max_generation_mw"] = 100.0
    river()(case)
    observed = case.documents[INITIAL]["past_defluences"]
    observed.append({**observed[0], "hydro_id": 2})
    stages(case)[0]["block_mode"] = "chronological"


def releases(start: str, end: str) -> Break:
    def change(case: Case018) -> None:
        river()(case)
        case.documents[INITIAL]["past_defluences"][0].update(start_date=start, end_date=end)

    return change


def late_plant_below(case: Case018) -> None:
    river()(case)
    hydro(case, 1)["entry_stage_id"] = 1


NODES = ((0, 0), (1, 1), (2, 1), (3, 2), (4, 2))
EDGES = ((0, 1, 0.5), (0, 2, 0.5), (1, 3, 1.0), (2, 4, 1.0))


def tree(**changes: Any) -> Break:
    """A tree of two paths, both pinned to scenarios of the load."""

    def change(case: Case018) -> None:
        training = case.documents[CONFIG]["training"]
        training["selection"] = {"method": "enumerated"}
        external_of_all(case)
        nodes = [{"id": node, "stage_id": stage, "scenario_id": node % 2} for node, stage in NODES]
        edges = [edge(*each) for each in EDGES]
        case.documents[STAGES]["policy_graph"].update({"nodes": nodes, "transitions": edges, **changes})
        for stage in stages(case):
            stage.pop("num_openings", None)

    return change


def external_of_all(case: Case018) -> None:
    """Every class that has noise or members follows its files."""
    use_external(case, "load")
    source = case.documents[CONFIG]["training"]["scenario_source"]
    source["inflow"] = {"scheme": "external"}
    case.tables["scenarios/external_load_scenarios.parquet"] = [
        {"stage_id": stage, "scenario_id": number, "bus_id": bus, "value_mw": 50.0 + number}
        for stage in range(3)
        for number in range(2)
        for bus in (0, 1)
    ]
    case.tables["scenarios/external_inflow_scenarios.parquet"] = [
        {"stage_id": stage, "scenario_id": number, "hydro_id": plant, "value_m3s": 10.0 + number}
        for stage in range(3)
        for number in range(2)
        for plant in (0, 1)
    ]


def nodes_with(**first: Any) -> Break:
    """The tree whose last node is changed."""

    def change(case: Case018) -> None:
        tree()(case)
        case.documents[STAGES]["policy_graph"]["nodes"][-1].update(first)

    return change


def without_scenario(case: Case018) -> None:
    tree()(case)
    del case.documents[STAGES]["policy_graph"]["nodes"][-1]["scenario_id"]


def pinned_without_scenarios(case: Case018) -> None:
    plain_tree(case)
    case.documents[STAGES]["policy_graph"]["nodes"][-1]["scenario_id"] = 0


def plain_tree(case: Case018) -> None:
    """The tree with openings instead of scenarios."""
    case.documents[STAGES]["policy_graph"].update(
        nodes=[{"id": node, "stage_id": stage} for node, stage in NODES],
        transitions=[edge(*each) for each in EDGES],
    )


def openings_beside_scenarios(case: Case018) -> None:
    tree()(case)
    stages(case)[1]["num_openings"] = 1


def discount_on_an_edge(case: Case018) -> None:
    tree()(case)
    case.documents[STAGES]["policy_graph"]["transitions"][0]["annual_discount_rate_override"] = 0.1


def openings_from_a_file(case: Case018) -> None:
    plain_tree(case)
    training = case.documents[CONFIG]["training"]
    training["scenario_source"] = {"openings": {"source": "file"}}


def circle(case: Case018) -> None:
    tree()(case)
    case.documents[STAGES]["policy_graph"]["transitions"].append(edge(3, 0))


def an_edge_too_far(case: Case018) -> None:
    tree()(case)
    case.documents[STAGES]["policy_graph"]["transitions"].append(edge(0, 4))


def sampling_of_pinned_nodes(case: Case018) -> None:
    tree()(case)
    stages(case)[1]["sampling_method"] = "lhs"


CYCLE = [edge(0, 1), edge(1, 2), edge(2, 0)]
ERRORS: dict[str, Break] = {
    "5a.15": lambda case: ahead(case, lead_stages=1),
    "5a.17": decision_of_an_ordinary_plant,
    "5a.38": block_of_a_plant_ahead,
    "5a.47": calendar_after_a_gap,
    "travel_time.1": river(travel_time_hours=-1.0),
    "travel_time.5": releases("2024-12-31", "2025-01-01"),
    "travel_time.5b": releases("2024-12-01", "2025-01-03"),
    "travel_time.6": meeting_waters,
    "travel_time.12": late_plant_below,
    "5b.1": graph(transitions=[edge(0, 1), edge(1, 9)]),
    "5b.2": graph(transitions=[edge(0, 1, 0.5), edge(1, 2)]),
    "5b.3": graph(type="cyclic", annual_discount_rate=0.0, transitions=CYCLE),
    "5b.36 missing": without_scenario,
    "5b.36 senseless": pinned_without_scenarios,
    "5b.37": nodes_with(scenario_id=7),
    "5b.38.1": nodes_with(stage_id=9),
    "5b.38.2": nodes_with(id=3),
    "5b.38.3": circle,
    "5b.39": an_edge_too_far,
    "5b.42": discount_on_an_edge,
    "5b.43": openings_from_a_file,
}
WARNINGS: dict[str, Break] = {
    "5a.14": out_of_reach,
    "5a.18": constraint_on_delivery,
    "5a.28": with_unequal_stages,
    "travel_time.2": river(travel_time_hours=0.0),
    "travel_time.3": river(travel_time_hours=1.0),
    "travel_time.4": river(),
    "5b.40": plain_tree,
    "5b.41 beside scenarios": openings_beside_scenarios,
    "5b.44": sampling_of_pinned_nodes,
}

"""Policy graphs in the files of a case: what is read, what is refused, and what comes out."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cobre
from cobre.cli.planner_page import page
from cobre.study.queries.risks import deficit_risk
from cobre.study.queries.runs import RunData
from format_018.small import Case018

INFLOW = "scenarios/external_inflow_scenarios.parquet"
CONFIG, STAGES = "config.json", "stages.json"


def graph_case(nodes, edges, scenarios=None, selection=None):
    """Three months of a reservoir and a dear plant; ``scenarios[stage]`` are inflows of the files."""
    case = Case018([[744.0], [672.0], [744.0]], [40.0])
    case.add_thermal(50.0, 30.0)
    case.add_hydro(1.0, 30.0, inflow=[20.0, 20.0, 20.0])
    graph = case.documents[STAGES]["policy_graph"]
    graph["nodes"] = nodes
    graph["transitions"] = [{"source_id": a, "target_id": b, "probability": p} for a, b, p in edges]
    training = case.documents[CONFIG]["training"]
    if scenarios is not None:
        training["scenario_source"] = {"seed": 1, "inflow": {"scheme": "external"}}
        case.tables[INFLOW] = [
            {"stage_id": stage, "scenario_id": k, "hydro_id": 0, "value_m3s": value}
            for stage, values in enumerate(scenarios)
            for k, value in enumerate(values)
        ]
    training["selection"] = selection or {"method": "sampled", "forward_passes": 4}
    return case


def node(number, stage, **others):
    return {"id": number, "stage_id": stage, **others}


TREE = [node(0, 0, scenario_id=0), *(node(k, 1, scenario_id=k - 1) for k in (1, 2)),
        *(node(k, 2, scenario_id=k - 3) for k in (3, 4, 5))]  # fmt: skip
EDGES = [(0, 1, 0.4), (0, 2, 0.6), (1, 3, 1.0), (2, 4, 0.5), (2, 5, 0.5)]
SCENARIOS = [[20.0], [5.0, 35.0], [8.0, 2.0, 40.0]]
ENUMERATED = {"method": "enumerated"}


def tree(**changes):
    return graph_case(
        **{"nodes": TREE, "edges": EDGES, "scenarios": SCENARIOS, "selection": ENUMERATED, **changes}
    )


def fields(case, folder):
    return [error.field for error in cobre.validate(case.write(folder)).errors]


def test_a_tree_of_pinned_nodes_is_trained_and_simulated(tmp_path):
    case = tree()
    case.documents[CONFIG]["simulation"] = {"enabled": True, "selection": ENUMERATED}
    folder = case.write(tmp_path / "case")
    result = cobre.train(folder)
    assert result.final_upper_bound == pytest.approx(result.final_lower_bound, rel=1e-9)
    census = cobre.simulate(folder, result.policy, output=tmp_path / "out")
    assert census.mean_cost == pytest.approx(result.final_lower_bound, rel=1e-9)
    summary = pq.read_table(tmp_path / "out/simulation/scenario_summary.parquet").to_pydict()
    assert summary["probability"] == pytest.approx([0.4, 0.3, 0.3])
    paths = pq.read_table(tmp_path / "out/simulation/paths.parquet").to_pydict()
    assert paths["node_id"] == [0, 1, 3, 0, 2, 4, 0, 2, 5]
    for scenario, inflows in enumerate(([20.0, 5.0, 8.0], [20.0, 35.0, 2.0], [20.0, 35.0, 40.0])):
        rows = pq.read_table(tmp_path / f"out/simulation/hydros/scenario_id={scenario:04d}").to_pydict()
        assert rows["incremental_inflow_m3s"] == pytest.approx(inflows)
        assert rows["node_id"] == paths["node_id"][3 * scenario : 3 * scenario + 3]


def test_statistics_of_a_census_weigh_its_paths(tmp_path):
    """By hand: in the last month 8, 2 and 40 m3/s with probabilities 0.4, 0.3 and 0.3."""
    case = tree()
    case.documents[CONFIG]["simulation"] = {"enabled": True, "selection": ENUMERATED}
    case.tables[INFLOW][0]["value_m3s"] = 0.0  # so that one path has a deficit
    folder = case.write(tmp_path / "case")
    result = cobre.simulate(folder, cobre.train(folder).policy, output=tmp_path / "out")
    assert result.probabilities.tolist() == pytest.approx([0.4, 0.3, 0.3])
    inflow = result.quantiles("incremental_inflow_m3s", by=("stage",), shares=(0.05, 0.5, 0.75)).to_pydict()
    assert inflow["mean"] == pytest.approx([0.0, 0.4 * 5.0 + 0.6 * 35.0, 15.8])
    assert [inflow[name][2] for name in ("p5", "p50", "p75")] == [2.0, 8.0, 40.0]

    statistics, run = result.statistics, RunData(cobre.load_results(tmp_path / "out"))
    by_path = run.summary["deficit_mwh"].sum(axis=1)
    assert len(set(by_path.round(6))) > 1
    assert statistics["total_deficit_mwh"] == pytest.approx(by_path @ [0.4, 0.3, 0.3])
    assert run.mean(by_path) == pytest.approx(statistics["total_deficit_mwh"])
    assert run.fan(run.summary["deficit_mwh"]).mean.sum() == pytest.approx(statistics["total_deficit_mwh"])
    whole = deficit_risk(by_path, run.summary["load_mwh"].sum(axis=1), run.weights)
    assert whole.mean_mwh == pytest.approx(statistics["total_deficit_mwh"])
    assert whole.probabilities[0] == pytest.approx(statistics["deficit_frequency"])
    assert whole.cvar_mwh == by_path.max()

    shown = [text for _, text in page(result, None, 80)]
    assert any(f"{statistics['total_deficit_mwh']:,.1f} MWh on average" in text for text in shown)
    assert f"{statistics['mean_cost']:,.2f}, exactly: " in shown[1]


def test_paths_through_a_node_follow_each_other(tmp_path):
    """Scenarios are numbered as in the public Cobre, whatever the ids of the last nodes are."""
    ways = [(0, 1, 0.4), (0, 2, 0.6), (1, 3, 0.5), (1, 5, 0.5), (2, 4, 1.0)]
    case = tree(edges=ways)
    case.documents[CONFIG]["simulation"] = {"enabled": True, "selection": ENUMERATED}
    folder = case.write(tmp_path / "case")
    result = cobre.simulate(folder, cobre.train(folder).policy)
    assert result.paths["node_id"].to_pylist() == [0, 1, 3, 0, 1, 5, 0, 2, 4]
    assert result.probabilities.tolist() == pytest.approx([0.2, 0.2, 0.6])


def test_a_census_has_as_many_scenarios_as_paths(tmp_path):
    case = tree()
    case.documents[CONFIG]["simulation"] = {"enabled": True, "selection": ENUMERATED}
    folder = case.write(tmp_path / "case")
    policy = cobre.train(folder).policy
    with pytest.raises(cobre.ValidationError, match="the policy graph has 3 paths"):
        cobre.simulate(folder, policy, scenarios=5)


def test_sampled_scenarios_of_a_graph_follow_its_probabilities(tmp_path):
    folder = tree().write(tmp_path / "case")
    policy = cobre.train(folder).policy
    sampled = {"simulation": {"selection": {"method": "sampled", "num_scenarios": 400}}}
    cobre.simulate(folder, policy, config_overrides=sampled, output=tmp_path / "out")
    nodes = pq.read_table(tmp_path / "out/simulation/paths.parquet")["node_id"].to_pylist()
    leaves = nodes[2::3]
    assert [leaves.count(leaf) / 400 for leaf in (3, 4, 5)] == pytest.approx([0.4, 0.3, 0.3], abs=0.08)


def test_the_order_of_nodes_and_transitions_does_not_matter(tmp_path):
    plain = cobre.train(tree().write(tmp_path / "plain"))
    turned = cobre.train(tree(nodes=TREE[::-1], edges=EDGES[::-1]).write(tmp_path / "turned"))
    assert turned.policy.to_bytes() == plain.policy.to_bytes()


def test_a_policy_of_a_graph_is_not_simulated_on_a_chain(tmp_path):
    policy = cobre.train(tree().write(tmp_path / "tree")).policy
    chain = graph_case([], []).write(tmp_path / "chain")
    with pytest.raises(cobre.ValidationError, match=r"the policy is about nodes .*, the case about a chain"):
        cobre.simulate(chain, policy, scenarios=2)


NODES = "policy_graph.nodes."
TRANSITIONS = "policy_graph.transitions."
FREE = [node(0, 0), node(1, 1), node(2, 1), node(3, 2)]
MEETING = [(0, 1, 0.4), (0, 2, 0.6), (1, 3, 1.0), (2, 3, 1.0)]
BROKEN = {
    "a node twice": ({"nodes": [*FREE, node(3, 2)], "edges": MEETING}, NODES + "id"),
    "a stage that is not there": ({"nodes": [*FREE, node(4, 9)], "edges": MEETING}, NODES + "stage_id"),
    "a stage without a node": ({"nodes": FREE[:3], "edges": MEETING[:2]}, NODES + "stage_id"),
    "two roots": ({"nodes": [*FREE, node(4, 0)], "edges": [*MEETING, (4, 1, 1.0)]}, NODES + "stage_id"),
    "an edge to nowhere": ({"nodes": FREE, "edges": [*MEETING, (2, 8, 1.0)]}, TRANSITIONS + "target_id"),
    "an edge that skips a stage": (
        {"nodes": FREE, "edges": [(0, 1, 0.4), (0, 2, 0.3), (0, 3, 0.3), *MEETING[2:]]},
        TRANSITIONS + "target_id",
    ),
    "an early leaf": ({"nodes": FREE, "edges": MEETING[:3]}, TRANSITIONS + "source_id"),
    "an edge twice": ({"nodes": FREE, "edges": [*MEETING, (1, 3, 0.5)]}, TRANSITIONS + "target_id"),
    "no probability": (
        {"nodes": FREE, "edges": [(0, 1, 0.0), (0, 2, 1.0), *MEETING[2:]]},
        TRANSITIONS + "probability",
    ),
    "a node that nothing leads to": (
        {"nodes": [*FREE, node(4, 1)], "edges": [*MEETING, (4, 3, 1.0)]},
        TRANSITIONS + "target_id",
    ),
    "a scenario without files": (
        {"nodes": [*FREE[:3], node(3, 2, scenario_id=0)], "edges": MEETING},
        NODES + "scenario_id",
    ),
    "a scenario that is not there": (
        {"nodes": [*FREE[:3], node(3, 2, scenario_id=3)], "edges": MEETING, "scenarios": SCENARIOS},
        NODES + "scenario_id",
    ),
    "too few probabilities of openings": (
        {"nodes": [*FREE[:3], node(3, 2, opening_probabilities=[0.5, 0.5])], "edges": MEETING},
        NODES + "opening_probabilities",
    ),
    "enumerated paths that meet": (
        {"nodes": FREE, "edges": MEETING, "selection": ENUMERATED},
        "training.selection.method",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_graph_is_refused(name, tmp_path):
    changes, field = BROKEN[name]
    case = graph_case(**changes)
    assert fields(case, tmp_path / "case") == [field]


def test_a_discount_on_an_edge_is_refused(tmp_path):
    case = tree()
    case.documents[STAGES]["policy_graph"]["transitions"][0]["annual_discount_rate_override"] = 0.1
    assert fields(case, tmp_path / "case") == [TRANSITIONS + "annual_discount_rate_override"]


def test_several_openings_of_a_node_cannot_be_enumerated(tmp_path):
    case = graph_case([node(0, 0), node(1, 1), node(2, 2)], [(0, 1, 1.0), (1, 2, 1.0)], selection=ENUMERATED)
    case.documents[STAGES]["stages"][1]["num_openings"] = 2
    assert "training.selection.method" in fields(case, tmp_path / "case")


def test_openings_are_counted_where_no_scenario_is_named(tmp_path):
    case = graph_case(FREE, MEETING)
    del case.documents[STAGES]["stages"][1]["num_openings"]
    assert set(fields(case, tmp_path / "case")) == {"num_openings"}


def test_probabilities_that_do_not_sum_to_one_are_divided_by_their_sum(tmp_path):
    edges = [(0, 1, 0.2), (0, 2, 0.3), *EDGES[2:]]
    folder = tree(edges=edges).write(tmp_path / "half")
    (warning,) = [
        each for each in cobre.validate(folder).warnings if each.field == TRANSITIONS + "probability"
    ]
    assert "sum to 0.5" in warning.message
    assert (
        cobre.train(folder).final_lower_bound
        == cobre.train(tree().write(tmp_path / "whole")).final_lower_bound
    )


def test_the_rule_gap_needs_a_true_upper_bound(tmp_path):
    case = tree(selection={"method": "sampled", "forward_passes": 4})
    case.documents[CONFIG]["training"]["stopping_rules"].append({"type": "gap", "tolerance": 1.0})
    assert fields(case, tmp_path / "sampled") == ["training.stopping_rules.type"]
    empty = tree()
    empty.documents[CONFIG]["training"]["stopping_rules"].append({"type": "gap"})
    assert fields(empty, tmp_path / "empty") == ["training.stopping_rules.type"]


def test_the_rule_gap_ends_training(tmp_path):
    case = tree()
    case.documents[CONFIG]["training"]["stopping_rules"].append({"type": "gap", "relative_tolerance": 1e-6})
    result = cobre.train(case.write(tmp_path / "case"))
    assert result.termination_reason == "gap"


def test_tables_of_a_graph_name_the_node(tmp_path):
    folder = tree().write(tmp_path / "case")
    result = cobre.train(folder, output=tmp_path / "out")
    assert isinstance(result.convergence_history, pa.Table)
    history = pq.read_table(tmp_path / "out/training/convergence.parquet").to_pydict()
    assert set(history["upper_bound_kind"]) == {"exact"}
    assert history["forward_passes"][0] == 3


def cyclic_case(rate=0.0, probability=0.8, target=0):
    """Three months that come again and again."""
    case = graph_case([], [(2, target, probability)])
    case.documents[STAGES]["policy_graph"].update(type="cyclic", annual_discount_rate=rate)
    return case


def test_a_cycle_costs_more_than_its_first_round(tmp_path):
    folder = cyclic_case().write(tmp_path / "cycle")
    once = graph_case([], []).write(tmp_path / "once")
    result = cobre.train(folder)
    assert result.final_lower_bound > 2.0 * cobre.train(once).final_lower_bound
    assert result.policy.summary()["cuts_per_stage"][-1] > 0
    simulated = cobre.simulate(folder, result.policy, scenarios=3, output=tmp_path / "out")
    of_later_rounds = simulated.statistics["mean_end_cost"]
    assert simulated.mean_cost - of_later_rounds < 0.5 * result.final_lower_bound
    assert simulated.mean_cost == pytest.approx(result.final_lower_bound, rel=1e-6)
    rows = pq.read_table(tmp_path / "out/simulation/costs/scenario_id=0000").to_pydict()
    assert rows["stage_id"] == [0, 1, 2]
    assert rows["future_cost"][-1] > 0.0


def test_a_discount_ends_a_cycle_too(tmp_path):
    assert fields(cyclic_case(rate=0.5, probability=1.0), tmp_path / "discounted") == []
    assert fields(cyclic_case(probability=1.0), tmp_path / "endless") == ["policy_graph.annual_discount_rate"]


def test_unsupported_settings_of_a_cycle_are_refused(tmp_path):
    case = cyclic_case()
    case.documents[CONFIG]["training"]["selection"] = ENUMERATED
    case.documents[CONFIG]["upper_bound_evaluation"] = {"enabled": True}
    case.documents[CONFIG]["policy"] = {"boundary": {"path": "elsewhere"}}
    found = fields(case, tmp_path / "case")
    assert sorted(found) == ["policy.boundary", "training.selection.method", "upper_bound_evaluation.enabled"]
    nodes = cyclic_case()
    nodes.documents[STAGES]["policy_graph"]["nodes"] = FREE
    assert fields(nodes, tmp_path / "nodes") == ["policy_graph.nodes"]


def test_the_inner_bound_of_a_case(tmp_path):
    case = tree(selection={"method": "sampled", "forward_passes": 4})
    case.documents[CONFIG]["upper_bound_evaluation"] = {
        "enabled": True,
        "interval_iterations": 20,
        "max_vertices": 30,
    }
    result = cobre.train(case.write(tmp_path / "case"), output=tmp_path / "out")
    assert result.inner_bound == pytest.approx(result.final_lower_bound, rel=1e-6)
    history = pq.read_table(tmp_path / "out/training/convergence.parquet").to_pydict()
    assert history["inner_bound"][:19] == [None] * 19
    assert history["inner_bound"][19] == result.inner_bound

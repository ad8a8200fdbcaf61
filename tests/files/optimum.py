"""The least cost of a case directory: its whole scenario tree as one linear program.

Nothing here is shared with the package under test. Every node has its own columns; its water starts from
the storage columns of the node before it.
"""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

from files.folder import Folder, Row
from files.grid import add_grid
from files.inflows import Inflows, Past
from files.openings import read_openings
from files.program import INFINITY, Node, Program
from files.reservoirs import add_reservoirs

TERM = re.compile(r"([+-]?)\s*(?:([0-9.]+(?:[eE][+-]?\d+)?)\s*\*\s*)?(\w+)\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")


def optimum(path: Path) -> float:
    return Tree(Folder(path)).optimum()


class Tree:
    def __init__(self, folder: Folder) -> None:
        self.folder, self.program = folder, Program()
        self.inflows, self.openings = Inflows(folder), read_openings(folder)

    def optimum(self) -> float:
        stored = {row["hydro_id"]: row["value_hm3"] for row in self.folder.start["storage"]}
        initial = {hydro["id"]: stored.get(hydro["id"], 0.0) for hydro in self.folder.hydros}
        roots = [self._cost(0, opening, None, initial, self.inflows.start()) for opening in self.openings[0]]
        return self.program.minimum(self._risk(0, roots))

    def _risk(self, t: int, costs: list[int]) -> int:
        return self.program.risk(self.folder.stages[t].get("risk_measure", "expectation"), costs)

    def _cost(self, t: int, noise: dict, parent: Node | None, initial: dict[int, float], past: Past) -> int:
        folder = self.folder
        hydros = [hydro["id"] for hydro in folder.hydros]
        node = Node(
            self.program,
            folder.stages[t],
            folder.hours[t],
            noise,
            {h: self.inflows.value(h, t, past, noise["inflow", h]) for h in hydros},
            {h: [(parent.storage[h], 1.0)] if parent else [] for h in hydros},
            initial,
        )
        add_reservoirs(folder, node)
        add_grid(folder, node)
        for constraint in folder.constraints:
            add_constraint(folder, node, constraint)
        if t + 1 == len(folder.stages):
            return node.cost()
        following = self.inflows.follow(t, past, node.inflows)
        nothing = dict.fromkeys(hydros, 0.0)
        children = [self._cost(t + 1, opening, node, nothing, following) for opening in self.openings[t + 1]]
        return node.cost(self._discount(t), self._risk(t, children))

    def _discount(self, t: int) -> float:
        stage, graph = self.folder.stages[t], self.folder.horizon["policy_graph"]
        rate = graph["annual_discount_rate"]
        for transition in graph.get("transitions", []):
            if transition["source_id"] == stage["id"]:
                own = transition.get("annual_discount_rate_override")
                rate = rate if own is None else own
        start, end = (dt.date.fromisoformat(stage[key]) for key in ("start_date", "end_date"))
        return (1.0 + rate) ** (-(end - start).days / 365.25)


def add_constraint(folder: Folder, node: Node, constraint: Row) -> None:
    for bound in folder.constraint_bounds:
        if (bound["constraint_id"], bound["stage_id"]) != (constraint["id"], node.stage_id):
            continue
        only = bound.get("block_id")
        for block in range(len(node.hours)) if only is None else [only]:
            _add_row(node, constraint, bound["bound"], block)


def _add_row(node: Node, constraint: Row, bound: float, block: int) -> None:
    terms, slack = [], constraint["slack"]
    for sign, factor, name, entity, own_block in TERM.findall(constraint["expression"]):
        weight = float(factor or 1.0) * (-1.0 if sign == "-" else 1.0)
        columns, constant = node.variables[name, int(entity), int(own_block or block)]
        terms += [(column, weight * value) for column, value in columns]
        bound -= weight * constant
    sense = constraint["sense"]
    if slack["enabled"]:
        price = slack.get("penalty", 0.0) * node.hours[block]
        terms += [
            (node.priced(price), sign)
            for sign, needed in ((1.0, ">="), (-1.0, "<="))
            if sense in (needed, "==")
        ]
    node.program.row(terms, -INFINITY if sense == "<=" else bound, INFINITY if sense == ">=" else bound)

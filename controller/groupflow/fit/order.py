"""The order of a program's tables: which has to wait for which, and thus the stages that each may be in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter

from groupflow.fit.logs import Json

_KINDS = {"ixbar_read": "matches on", "action_read": "computes with", "output": "overwrites"}
"""of the dependencies that keep two tables out of one stage: what the later one does with a field that the
earlier one writes. Those of type `control` only order the tables within a stage, if they are in one."""


@dataclass(frozen=True)
class Dependency:
    before: str
    after: str
    kind: str
    """empty: it only comes later, and may be in the same stage; else it is at least a stage behind"""
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Order:
    """Of the tables of ingress or of egress, by name."""

    gress: str
    tables: Mapping[str, str]
    """of all that a table has, such as a register: the table"""
    dependencies: tuple[Dependency, ...]
    earliest: Mapping[str, int]
    behind: Mapping[str, int]
    """stages that a table needs behind it"""

    @property
    def needed(self) -> int:
        return 1 + max(self.earliest.values(), default=-1)

    def chain(self) -> Iterator[Dependency]:
        """The dependencies of a longest chain."""
        first = (name for name, stages in self.behind.items() if stages == self.needed - 1)
        name: str | None = next(first, None)
        while name:
            goes_on = (one for one in self.dependencies if one.before == name and self._is_tight(one))
            one = next(goes_on, None)
            name = one.after if one else None
            if one and one.kind:
                yield one

    def _is_tight(self, one: Dependency) -> bool:
        gap = self.earliest[one.after] - self.earliest[one.before]
        return gap == bool(one.kind) == self.behind[one.before] - self.behind[one.after]


def read_orders(graph: Json) -> tuple[Order, ...]:
    """The order of each part of a pipe, by the last graph of it."""
    graphs: dict[str, Json] = {each["metadata"]["gress"]: each for each in graph["graphs"]}
    return tuple(_order(gress, graphs[gress]) for gress in sorted(graphs, reverse=True))


def _order(gress: str, graph: Json) -> Order:
    names: dict[str, list[str]] = {
        each["id"]: [str(table["name"]) for table in each["metadata"]["tables"]] or [each["id"]]
        for each in graph["nodes"]
    }
    found = tuple(_dependencies(graph, {node: below[0] for node, below in names.items()}))
    waits: dict[str, list[Dependency]] = {below[0]: [] for below in names.values()}
    leads: dict[str, list[Dependency]] = {name: [] for name in waits}
    for one in found:
        waits[one.after].append(one)
        leads[one.before].append(one)
    ordered = tuple(
        TopologicalSorter({name: [one.before for one in waits[name]] for name in waits}).static_order()
    )
    earliest, behind = dict[str, int](), dict[str, int]()
    for name in ordered:
        earliest[name] = max((earliest[one.before] + bool(one.kind) for one in waits[name]), default=0)
    for name in reversed(ordered):
        behind[name] = max((behind[one.after] + bool(one.kind) for one in leads[name]), default=0)
    tables = {name: below[0] for below in names.values() for name in below}
    return Order(gress, tables, found, earliest, behind)


def _dependencies(graph: Json, names: Mapping[str, str]) -> Iterator[Dependency]:
    for each in graph["edges"]:
        about = each["metadata"]
        kind = _KINDS.get(about["sub_type"], "")
        before, after = names.get(each["source"]), names.get(each["target"])
        is_flow = "dependency" not in about.get("tags", ["dependency"])
        if before and after and before != after and not is_flow and (kind or about["type"] == "control"):
            fields = dict.fromkeys(str(one["field_name"]) for one in about.get("dep_fields", ()))
            yield Dependency(before, after, kind, tuple(fields))

"""The report: what a program takes of each stage, where its tables are, and what keeps them apart."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import cast

from groupflow.fit.logs import AGAIN, Json, Logs, reading
from groupflow.fit.order import Dependency, Order, read_orders

RESOURCES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "sram": ("rams", "srams", ("nRows", "nColumns")),
    "tcam": ("tcams", "tcams", ("nRows", "nColumns")),
    "map_ram": ("map_rams", "maprams", ("nRows", "nUnits")),
    "meter_alu": ("meter_alus", "meters", ("nAlus",)),
    "counter_alu": ("statistic_alus", "stats", ("nAlus",)),
    "hash_bit": ("hash_bits", "bits", ("nBits", "nFunctions")),
    "gateway": ("gateways", "gateways", ("nRows", "nUnits")),
    "instruction": ("vliw", "instructions", ("size",)),
    "table_id": ("logical_tables", "ids", ("size",)),
}
"""of a stage: the name here, and in the log the section, its list of used ones, and the numbers whose product
is the number of all. Registers, meters and selectors share the meter ALUs."""
MEMORIES = ("sram", "tcam", "map_ram", "meter_alu", "hash_bit")
FULL = 0.9  # share of a stage's memory, from which on the report says what to move


@dataclass(frozen=True)
class Table:
    name: str
    gress: str
    stages: tuple[int, ...]
    uses: Mapping[str, int]
    earliest: int | None
    latest: int | None
    """stages that its dependencies allow"""
    behind: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    program: str
    target: str
    pipe: str
    stages_available: int
    stages_needed: Mapping[str, int]
    """by dependencies alone"""
    available: Mapping[str, int]
    """resources of one stage"""
    stages: tuple[Mapping[str, int], ...]
    """resources that each takes"""
    tables: tuple[Table, ...]
    chains: Mapping[str, tuple[Dependency, ...]]
    parsers: tuple[Json, ...]
    containers: tuple[Json, ...]
    """of the packet header vector"""
    advice: tuple[str, ...]

    @property
    def summary(self) -> str:
        needed = max(self.stages_needed.values(), default=0)
        chain = f"; dependencies alone need {needed}" if needed else ""
        return f"{len(self.stages)} of {self.stages_available} stages of {self.target}{chain}"


def report(logs: Logs) -> Report:
    """The report of a pipe. Raises InvalidError."""
    orders = ()
    if logs.graph is not None:
        with reading(logs.folder / "graphs/dep.json"):
            orders = read_orders(logs.graph)
    with reading(logs.folder / "logs/resources.json"):
        found = logs.resources["resources"]
        found = found["pipes"][0] if "pipes" in found else found  # up to form 1.5
        mau, count = found["mau"]["mau_stages"], int(found["mau"]["nStages"])
        if not 0 < count < 100:
            raise ValueError(f"{count} stages")
        available, stages = _available(mau), tuple(map(_stage, mau))
        tables = tuple(_tables(mau, orders, count))
        parsers = tuple(map(_parser, found["parser"]["parsers"]))
        units = {
            (kind, int(each["width"])): int(each["units"])
            for kind, several in found["phv_containers"].items()
            for each in several
        }
        program = str(logs.resources["program_name"]).removesuffix(".p4")
    with reading(logs.folder / "logs/phv.json"):
        containers = tuple(_containers(logs.phv["containers"], units)) if logs.phv is not None else ()
    with reading(logs.folder / "../manifest.json"):
        target = str(logs.manifest["target"] if logs.manifest is not None else f"a chip of {count}")
    missing = [name for name, log in (("dep.json", logs.graph), ("phv.json", logs.phv)) if log is None]
    advice = (*_advice(available, stages, tables), *(f"{name} is missing: {AGAIN}" for name in missing))
    return Report(
        program, target, logs.folder.name, count, {order.gress: order.needed for order in orders}, available,
        stages, tables, {order.gress: tuple(order.chain()) for order in orders}, parsers, containers, advice,
    )  # fmt: skip


def _available(mau: Json) -> dict[str, int]:
    return {
        name: prod(int(mau[0][section][size]) for size in sizes) if mau else 0
        for name, (section, _, sizes) in RESOURCES.items()
    }


def _stage(stage: Json) -> dict[str, int]:
    return {name: len(stage[section][items]) for name, (section, items, _) in RESOURCES.items()}


def _users(element: Json) -> set[str]:
    """The tables that use an element of a stage, or what these are made of."""
    if isinstance(element, list):
        return set[str]().union(*map(_users, cast("list[Json]", element)))
    found = set[str]()
    for key, below in cast("dict[str, Json]", element).items() if isinstance(element, dict) else ():
        found |= {below} if key in ("used_by", "used_by_table", "table_name") else _users(below)
    return found


def _tables(mau: Json, orders: tuple[Order, ...], count: int) -> Iterator[Table]:
    """The tables in the order of their stages."""
    owners = {part: (table, order) for order in orders for part, table in order.tables.items()}
    placed, uses = defaultdict[str, list[int]](list), defaultdict[str, Counter[str]](Counter)
    for stage in mau:
        for name in sorted(_users(stage["logical_tables"]["ids"])):
            placed[name].append(int(stage["stage_number"]))
        for resource in MEMORIES:
            section, items, _ = RESOURCES[resource]
            for element in stage[section][items]:
                for table in {owners[user][0] if user in owners else user for user in _users(element)}:
                    uses[table][resource] += 1
    for name in sorted(placed, key=lambda each: placed[each][0]):
        _, order = owners.get(name, ("", None))
        stages, taken = tuple(placed[name]), dict(uses[name])
        if order is None:
            yield Table(name, "", stages, taken, None, None, ())
            continue
        behind = dict.fromkeys(one.before for one in order.dependencies if one.after == name and one.kind)
        earliest, latest = order.earliest[name], count - 1 - order.behind[name]
        earliest, latest = min(earliest, *stages), max(latest, *stages)
        yield Table(name, order.gress, stages, taken, earliest, latest, tuple(behind))


def _parser(parser: Json) -> Json:
    names = {row["next_state_name"] for row in parser["states"]}
    return {"gress": str(parser["gress"]), "states": len(names), "rows": len(parser["states"])}


def _containers(containers: Json, units: Mapping[tuple[str, int], int]) -> Iterator[Json]:
    used, bits = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for one in containers:
        kind = str(one["container_type"]), int(one["bit_width"])
        spans = [(each["slice_info"]["lsb"], each["slice_info"]["msb"]) for each in one["slices"]]
        used[kind] += 1
        bits[kind] += len({bit for low, high in spans for bit in range(low, min(high, 63) + 1)})
    for key, count in units.items():
        yield {"kind": key[0], "bits": key[1], "used": used[key], "of": count, "bits_used": bits[key]}


def _advice(
    available: Mapping[str, int], stages: tuple[Mapping[str, int], ...], tables: tuple[Table, ...]
) -> Iterator[str]:
    """For each full memory of a stage: the table that takes most of it, and where else that may be."""
    full = [
        (n, name)
        for n, used in enumerate(stages)
        for name in MEMORIES
        if used[name] >= FULL * available[name] > 0
    ]
    for number, name in full:
        there = [table for table in tables if number in table.stages and table.uses.get(name)]
        if largest := max(there, key=lambda table: table.uses[name], default=None):
            part = largest.uses[name] // len(largest.stages)
            used = {other: stage[name] + part for other, stage in enumerate(stages)}
            allowed = set(range(largest.earliest or 0, (largest.latest or -1) + 1)) - set(largest.stages)
            free = [str(other) for other in sorted(allowed) if used.get(other, 0) <= available[name]]
            where = f"it may move to stage {', '.join(free)}" if free else "make it smaller"
            told = f"stage {number}: {stages[number][name]} of {available[name]} {name.upper()}"
            yield f"{told}, most of it {largest.name}'s; {where}"

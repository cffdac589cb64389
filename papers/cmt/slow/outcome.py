"""What a run measured."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

from groupflow._native import slow_host_study
from papers.cmt.native import known
from papers.cmt.slow.plan import LINK_MBPS, Run


@dataclass(frozen=True)
class Group:
    """What hosts of one kind had, from when the slow one was slow (dataplane/apps/tree/src/study/slow.rs).

    Goodput in bit/s, times in s.
    """

    hosts: int
    goodput_median: float
    goodput_least: float
    end_least: float
    """in the last 10 s of the stream"""
    lag_most: float
    """behind the source, of those that are not cut off"""
    lag_end: float
    caught_up: float | None
    """until all that are not cut off were less than 0.5 s behind for good; None: never, or none is left"""
    skipped: int
    """bytes"""
    cut_off: int


@dataclass(frozen=True)
class Look:
    """How far behind the source the last host of each kind is, s."""

    at: float
    below: float | None
    others: float | None
    slow: float | None


GROUPS = ("below", "siblings", "others", "slow")


@dataclass(frozen=True)
class Outcome:
    """One run."""

    run: Run
    groups: Mapping[str, Group]
    """those that were below the slow host, its siblings, all others (siblings among them), itself"""
    clusters: int
    without: int
    """hosts that found no room, and are in none of the groups"""
    depth: int
    children: int
    moves: int
    slow_moves: int
    source_children: int
    """in the end; it offers to serve 4"""
    overloaded: int
    """hosts that serve more than they offer, in the end"""
    behind: int
    """how often a host was told that its new parent has not what comes next"""
    reports: int
    reported: float | None
    """until its parent told of the slow host first, s"""
    written: int
    looks: tuple[Look, ...]
    simulated_s: float
    packet_hops: int = 0
    """none: connections carry bytes"""


Outcomes: TypeAlias = Sequence[Outcome]


def run_one(run: Run) -> Outcome:
    """Runs one simulation."""
    found: dict[str, Any] = json.loads(slow_host_study(json.dumps(run.spec())))
    groups = {name: known(Group, found[name]) for name in GROUPS}
    looks = tuple(known(Look, look) for look in found["looks"])
    return known(Outcome, found | {"run": run, "groups": groups, "looks": looks})


def of(outcomes: Outcomes, name: str, *modes: str, link_mbps: float = LINK_MBPS) -> list[Outcome]:
    """Those with that demotion, or where none is slow; with those modes, if some are named."""
    alike = [o for o in outcomes if o.run.name == name and o.run.link_mbps == link_mbps]
    return [o for o in alike if not modes or o.run.mode in modes]


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    """Of a table, for each kind of host."""
    run = outcome.run
    common = {"who_is_moved": run.name, "mode": run.mode, "link_mbps": run.link_mbps}
    common |= {"hosts": run.hosts, "seed": run.seed}
    left_out = {"run", "groups", "looks", "packet_hops"}
    own = {
        field.name: getattr(outcome, field.name) for field in fields(Outcome) if field.name not in left_out
    }
    return [common | own | {"kind": name} | asdict(group) for name, group in outcome.groups.items()]

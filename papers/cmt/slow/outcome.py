"""Measurements of a run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

from groupflow._native import slow_host_study
from papers.cmt.native import known
from papers.cmt.slow.plan import LINK_MBPS, Run


@dataclass(frozen=True)
class Group:
    """Measurements of hosts of one kind, once one host is slow (dataplane/apps/tree/src/study/slow.rs).

    Goodput in bit/s, times in s.
    """

    hosts: int
    goodput_median: float
    goodput_least: float
    end_least: float
    """least goodput in the last 10 s of the stream"""
    lag_most: float
    """greatest delay behind the source, of hosts that are not cut off"""
    lag_end: float
    caught_up: float | None
    """time until all hosts not cut off were less than 0.5 s behind for good; None: never, or all cut off"""
    skipped: int
    """bytes"""
    cut_off: int


@dataclass(frozen=True)
class Look:
    """Delay of the last host of each kind behind the source at a moment, s."""

    at: float
    below: float | None
    others: float | None
    slow: float | None


GROUPS = ("below", "siblings", "others", "slow")


@dataclass(frozen=True)
class Outcome:
    """Measurements of one run."""

    run: Run
    groups: Mapping[str, Group]
    """by kind: below the slow host, its siblings, all others (siblings among them), the slow host itself"""
    clusters: int
    without: int
    """hosts that found no parent with room, and are in none of the groups"""
    depth: int
    children: int
    moves: int
    slow_moves: int
    source_children: int
    """children of the source at the end; it offers to serve 4"""
    overloaded: int
    """hosts that serve more children than they offer, at the end"""
    behind: int
    """times that a host was told that its new parent lacks the next bytes"""
    reports: int
    reported: float | None
    """time until the slow host's parent reported it first, s"""
    written: int
    looks: tuple[Look, ...]
    simulated_s: float
    packet_hops: int = 0
    """none: simulated connections carry bytes, not packets"""


Outcomes: TypeAlias = Sequence[Outcome]


def run_one(run: Run) -> Outcome:
    """Runs one simulation."""
    found: dict[str, Any] = json.loads(slow_host_study(json.dumps(run.spec())))
    groups = {name: known(Group, found[name]) for name in GROUPS}
    looks = tuple(known(Look, look) for look in found["looks"])
    return known(Outcome, found | {"run": run, "groups": groups, "looks": looks})


def of(outcomes: Outcomes, name: str, *modes: str, link_mbps: float = LINK_MBPS) -> list[Outcome]:
    """Outcomes with that demotion, or without a slow host; only of `modes`, if some are given."""
    alike = [o for o in outcomes if o.run.name == name and o.run.link_mbps == link_mbps]
    return [o for o in alike if not modes or o.run.mode in modes]


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    """Rows of a table, one for each kind of host."""
    run = outcome.run
    common = {"who_is_moved": run.name, "mode": run.mode, "link_mbps": run.link_mbps}
    common |= {"hosts": run.hosts, "seed": run.seed}
    left_out = {"run", "groups", "looks", "packet_hops"}
    own = {
        field.name: getattr(outcome, field.name) for field in fields(Outcome) if field.name not in left_out
    }
    return [common | own | {"kind": name} | asdict(group) for name, group in outcome.groups.items()]

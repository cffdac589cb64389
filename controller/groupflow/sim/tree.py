"""Clustered trees (docs/results/tree.md): dispatchers, and hosts that pass on the stream of one of them."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Demotion: TypeAlias = Literal["never", "largest_latency", "slowest"]
Slow: TypeAlias = Literal["wait", "isolate", "skip"]

PORT = 7400


@dataclass(frozen=True)
class TreeMember:
    """A host of a tree, measured by its name."""

    host: str
    children: int
    """number of children that it offers to serve"""
    start_ns: int = 0
    """time at which it begins to join"""


@dataclass(frozen=True)
class Tree:
    """A stream from a source to the hosts of a tree. The first member is the source."""

    name: str
    """of the dispatchers in results"""
    dispatchers: str
    """the dispatchers' host"""
    members: tuple[TreeMember, ...]
    rate: int
    """of the stream, bit/s"""
    stream_ns: int
    """time at which the stream begins"""
    size: int | None = None
    """bytes of the stream; None: it has no end"""
    demotion: Demotion = "slowest"
    slow: Slow = "wait"
    cache_bytes: int = 8 << 20
    window: int = 1024
    """most packets in flight on a connection, each way; as Linux's receive buffer grows"""
    one_by_one: bool = False
    """whether a host sends to a child only once the child before has what was sent to it"""


@dataclass(frozen=True)
class TreePlace:
    """The place of a host in its tree, and what became of its stream."""

    parent: str | None
    joined: bool
    """whether it ever had a parent"""
    moves: int
    """orders to another parent since then"""
    backlogs: int
    """reports that data accumulate for one of its children"""
    skipped: int
    """bytes that its reader will not get"""
    cut_off: bool
    """whether the stream was broken off at this host"""
    complete: bool
    """whether it has the whole stream"""


def places(tree: Tree, summary: dict[str, Any]) -> dict[str, TreePlace]:
    """The places of a tree's hosts, from the summary of a network."""
    flows = {flow["flow"]: flow["tree"] for flow in summary["flows"]}
    hosts = [member.host for member in tree.members]

    def place(form: dict[str, Any]) -> TreePlace:
        parent: int | None = form["parent"]
        named: dict[str, Any] = form | {"parent": None if parent is None else hosts[parent]}
        return TreePlace(**named)

    return {host: place(flows[host]) for host in hosts}


def specs(trees: tuple[Tree, ...]) -> list[dict[str, Any]]:
    """The trees as the core reads them (dataplane/netsim/src/spec/tree.rs)."""
    return [
        {
            "name": tree.name,
            "dispatchers": tree.dispatchers,
            "port": PORT,
            # Latencies do not change, so that no host needs to look for a nearer parent.
            "policy": {"demotion": tree.demotion, "review": 0},
            "cache_bytes": tree.cache_bytes,
            "slow": tree.slow,
            "window_packets": tree.window,
            "one_by_one": tree.one_by_one,
            "members": [_member(tree, place) for place in range(len(tree.members))],
        }
        for tree in trees
    ]


def _member(tree: Tree, place: int) -> dict[str, Any]:
    member = tree.members[place]
    form = {
        "name": member.host,
        "host": member.host,
        "children": member.children,
        "start_ns": member.start_ns,
    }
    source = {"start_ns": tree.stream_ns, "rate_bps": tree.rate, "bytes": tree.size}
    return form | {"source": None if place else source}

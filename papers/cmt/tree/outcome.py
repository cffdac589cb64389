"""What a run measured."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any, TypeAlias

from groupflow._native import tree_study
from papers.cmt.native import known
from papers.cmt.tree.plan import Run


@dataclass(frozen=True)
class Shape:
    """One way to reach all hosts, over links between routers (dataplane/apps/tree/src/study/measure.rs)."""

    reached: int
    stress_mean: float
    """copies of a packet on a link that carries it"""
    stress_max: int
    copies: int
    """over all links"""
    stretch_mean: float
    """delay over that of unicast"""
    stretch_p95: float
    latest_ms: float
    depth_mean: float
    depth_max: int


@dataclass(frozen=True)
class Churn:
    """What came of hosts that came and went."""

    gone: int
    moves_a_departure: float
    repair_median_ms: float
    """without a parent"""
    repair_p95_ms: float
    reached_mean: float
    """share of the hosts that are there, looked at once a second"""
    reached_least: float
    cut_off: int
    """in the end: hosts of the tree that the stream does not reach"""
    waiting: int
    """hosts that find no room in it"""


@dataclass(frozen=True)
class Outcome:
    """One run."""

    run: Run
    waiting: int
    """hosts that find no room"""
    clusters: int
    cluster_depth: int
    largest: int
    join_mean_ms: float
    join_p95_ms: float
    messages_a_join: float
    probes_a_join: float
    overloaded: int
    """hosts that are to send more than their link carries"""
    ways: Mapping[str, Shape]
    """tree, chain, unicast, multicast"""
    churn: Churn | None
    simulated_s: float
    packet_hops: int = 0
    """none: copies are counted, not sent"""


Outcomes: TypeAlias = Sequence[Outcome]

IN_TABLE = (
    "waiting", "clusters", "cluster_depth", "join_mean_ms", "join_p95_ms", "messages_a_join", "probes_a_join",
    "overloaded",
)  # fmt: skip
WAYS = ("tree", "chain", "unicast", "multicast")


def run_one(run: Run) -> Outcome:
    """Runs one simulation."""
    found: dict[str, Any] = json.loads(tree_study(json.dumps(run.spec())))
    churn = found["churn"] and known(Churn, found["churn"])
    ways = {way: known(Shape, found[way]) for way in WAYS}
    return known(Outcome, found | {"run": run, "ways": ways, "churn": churn})


def means(
    outcomes: Outcomes, of: Callable[[Outcome], float], by: Callable[[Run], float]
) -> dict[float, float]:
    """Over the seeds."""
    values: dict[float, list[float]] = {}
    for outcome in outcomes:
        values.setdefault(by(outcome.run), []).append(of(outcome))
    return {key: fmean(found) for key, found in sorted(values.items())}


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    """Of a table, for each way."""
    run = outcome.run
    common = {"hosts": run.hosts, "seed": run.seed, "threshold_ms": run.threshold_ms}
    tree = {name: getattr(outcome, name) for name in IN_TABLE}
    churn = outcome.churn
    lasting = {
        f"churn_{field.name}": getattr(churn, field.name) if churn else None for field in fields(Churn)
    }
    found: list[dict[str, Any]] = []
    for way in WAYS:
        shape = {field.name: getattr(outcome.ways[way], field.name) for field in fields(Shape)}
        own = tree | lasting if way == "tree" else dict.fromkeys(tree | lasting)
        found.append(common | {"way": way} | shape | own)
    return found

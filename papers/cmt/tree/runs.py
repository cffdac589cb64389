"""The runs. The paper gives no topology, sizes or figures of the tree: all of these are chosen here."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any, TypeAlias, TypeVar

from groupflow._native import tree_study
from groupflow.study.experiment import grouped

SIZES = (100, 300, 1_000, 3_000, 10_000)
QUICK_SIZES = (100, 300, 1_000)
SEEDS, QUICK_SEEDS = 5, 2
TRANSIT, DOMAINS, ROUTERS = 10, 4, 5
"""transit routers, stub domains of each, routers of a domain: 210 routers"""
JOINS_PER_S = 100
CHURN_PERMILLE, CHURN_S = 100, 60
"""hosts of a thousand that leave while as many join, and the seconds for it; half of those that leave fail"""
SILENCE_S = 0.6
"""silence after which a failure is noticed, as in `gfagent tree-recv`"""
THRESHOLD_MS = 5.0
"""latency from which on hosts are in different clusters, the default of `groupflow tree serve`"""


@dataclass(frozen=True)
class Run:
    """One network with its hosts."""

    hosts: int
    seed: int
    churn_permille: int = CHURN_PERMILLE

    def spec(self) -> dict[str, int]:
        """The run as the simulation reads it; times in ns."""
        return {
            "hosts": self.hosts,
            "joins_per_s": JOINS_PER_S,
            "transit": TRANSIT,
            "domains": DOMAINS,
            "routers": ROUTERS,
            "threshold_ns": round(THRESHOLD_MS * 1e6),
            "churn_permille": self.churn_permille,
            "churn_ns": CHURN_S * 10**9,
            "silence_ns": round(SILENCE_S * 1e9),
            "seed": self.seed,
        }


def by_size(quick: bool, seed: int) -> list[Run]:
    sizes, seeds = (QUICK_SIZES, QUICK_SEEDS) if quick else (SIZES, SEEDS)
    return [Run(hosts, number) for hosts in sizes for number in range(seed, seed + seeds)]


Kind = TypeVar("Kind")


def known(kind: type[Kind], found: Mapping[str, Any]) -> Kind:
    """The dataclass from those of the fields that it has."""
    names = [field.name for field in fields(kind)]  # pyright: ignore[reportArgumentType]
    return kind(**{name: found[name] for name in names if name in found})


@dataclass(frozen=True)
class Shape:
    """One way to reach all hosts, over links between routers (dataplane/apps/tree/src/study/large.rs)."""

    reached: int
    stress_max: int
    """most copies of a packet on one link"""
    copies: int
    """sum of copies over all links"""
    stretch_mean: float
    """mean ratio of the delay to that of unicast"""
    depth_mean: float
    depth_by_capacity: Mapping[str, float]
    """mean depth of hosts by the number of children that they offer to serve"""


@dataclass(frozen=True)
class Churn:
    """Effects of hosts that come and go."""

    gone: int
    moves_a_departure: float
    repair_median_ms: float
    """median time that a host is without a parent"""
    repair_p95_ms: float
    reached_mean: float
    """mean share of the present hosts that the stream reaches, sampled once a second"""
    reached_least: float
    cut_off: int
    """hosts of the tree that the stream does not reach at the end"""
    waiting: int
    """hosts that find no parent with room"""


@dataclass(frozen=True)
class Outcome:
    """Measurements of one run."""

    run: Run
    waiting: int
    """hosts that find no parent with room"""
    clusters: int
    join_mean_ms: float
    join_p95_ms: float
    messages_a_join: float
    probes_a_join: float
    overloaded: int
    """hosts that have to send more than their link carries"""
    ways: Mapping[str, Shape]
    """shapes by name: tree, chain, unicast, multicast"""
    churn: Churn | None
    simulated_s: float
    packet_hops: int = 0
    """none: copies are counted, not sent"""


Outcomes: TypeAlias = Sequence[Outcome]

IN_TABLE = (
    "waiting", "clusters", "join_mean_ms", "join_p95_ms", "messages_a_join", "probes_a_join",
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
    """Means over the seeds of a figure of outcomes, by a parameter of runs."""
    values = grouped(outcomes, lambda outcome: by(outcome.run))
    return {key: fmean(map(of, found)) for key, found in sorted(values.items())}


def rows(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """Rows of a table, one for each way."""
    common = {"hosts": outcome.run.hosts, "seed": outcome.run.seed}
    own = {name: getattr(outcome, name) for name in IN_TABLE}
    own |= {f"churn_{field.name}": getattr(outcome.churn, field.name, None) for field in fields(Churn)}
    for way in WAYS:
        shape = {field.name: getattr(outcome.ways[way], field.name) for field in fields(Shape)[:-1]}
        yield common | {"way": way} | shape | (own if way == "tree" else dict.fromkeys(own))

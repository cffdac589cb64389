"""The runs. The paper gives neither rates nor figures of demotion: all of these are chosen here."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias

from groupflow.sim.tree import Demotion, Slow

DEMOTIONS: tuple[Demotion, ...] = ("never", "largest_latency", "slowest")
"""rule for the host to move down: none, the paper's, the default"""
MODES: tuple[Slow, ...] = ("isolate", "skip", "wait")
"""treatment of a host so slow that the bytes it needs next leave the cache"""
NONE_SLOW = "none slow"
SEEDS, QUICK_SEEDS = 5, 1
HOSTS = 30
"""hosts besides the source"""
RATE_MBPS = 4.0
LINK_MBPS = 20.0
"""link rate of each host, up and down: room for the four children that a host serves at most"""
SLOW_MBPS = RATE_MBPS / 4
SLOW_AT_S, STREAM_S = 10, 60
CACHE_BYTES = 4 << 20
"""8.4 s of the stream; the agent's default of 16 MiB would outlast half of the study"""


@dataclass(frozen=True)
class Run:
    """One tree with its stream."""

    demotion: Demotion
    mode: Slow
    seed: int
    is_slow: bool = True
    """whether the run has a slow host"""
    link_mbps: float = LINK_MBPS
    hosts: int = HOSTS
    rate_mbps: float = RATE_MBPS
    stream_s: int = STREAM_S
    children: int | None = None
    """children that each host serves, the source too; None: different numbers"""
    access_ms: float | None = None
    """one-way latency from each host to the network; None: different ones"""
    one_by_one: bool = False
    """whether a host sends a packet to a child only when the child before has it"""

    @property
    def name(self) -> str:
        return self.demotion if self.is_slow else NONE_SLOW


def slow_host(quick: bool, seed: int) -> list[Run]:
    """A run without a slow host, and runs of every rule in every mode."""
    seeds = range(seed, seed + (QUICK_SEEDS if quick else SEEDS))
    none = [Run("slowest", "isolate", number, is_slow=False) for number in seeds]
    cases: list[tuple[Demotion, Slow]] = [(demotion, mode) for mode in MODES for demotion in DEMOTIONS]
    return none + [Run(demotion, mode, number) for demotion, mode in cases for number in seeds]


@dataclass(frozen=True)
class Group:
    """Measurements of hosts of one kind, once one host is slow. Goodput in bit/s, times in s."""

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


GROUPS = ("below", "others", "slow")


@dataclass(frozen=True)
class Outcome:
    """Measurements of one run."""

    run: Run
    groups: Mapping[str, Group]
    """by kind: below the slow host, all others, the slow host itself"""
    without: int
    """hosts that found no parent with room, and are in none of the groups"""
    children: int
    moves: int
    slow_moves: int
    source_children: int
    """children of the source at the end; it offers to serve 4"""
    reports: int
    reported: float | None
    """time until the slow host's parent first reported a child, in steps of 0.1 s"""
    looks: tuple[Look, ...]
    simulated_s: float
    packet_hops: int


Outcomes: TypeAlias = Sequence[Outcome]


def of(outcomes: Outcomes, name: str, *modes: str) -> list[Outcome]:
    """Outcomes with that demotion, or without a slow host; only of `modes`, if some are given."""
    alike = [o for o in outcomes if o.run.name == name]
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

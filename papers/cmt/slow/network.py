"""The network of a run: a star of hosts around one router, the stream's source, and the dispatchers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import loads
from random import Random
from statistics import median
from typing import Any

import yaml

from groupflow import sim
from groupflow._native import NativeSim
from groupflow.files.topology import parse
from groupflow.sim.runner import build
from groupflow.sim.tree import places
from groupflow.study.pool import end_when_told
from papers.cmt.slow.runs import CACHE_BYTES, SLOW_AT_S, SLOW_MBPS, Group, Look, Outcome, Run

SECOND, MILLISECOND = 10**9, 10**6
JOIN_NS, REST_NS = 50 * MILLISECOND, 5 * SECOND
"""time between two joins, and from the last one until the stream begins"""
ACCESS_US = (500, 2500)
"""one-way latency from a host to the router: all hosts are nearer to the source than 5 ms"""
CHILDREN = (2, 4)
"""bounds of the number of children that hosts offer to serve; the source offers the most"""
LOOK_NS = 100 * MILLISECOND
LOOKS_A_REPORT = 5
LATE_S = 0.5
"""delay behind the source from which on a host is late"""
END_S = 10
"""last part of the stream, in which the tree should have settled"""
QUEUE, WINDOW = 100, 22
"""packets that wait before a link, and that a connection has under way; 20 Mbit/s with a round trip of 10 ms
hold 17. More would fill the queue of the slow link, where thin flows lose packets: hosts would be taken for
dead."""
WALL_MS = 100
CORE, DISPATCHERS, SOURCE = "core", "d", "h0"


@dataclass(frozen=True)
class Moment:
    """The hosts at a time in the stream."""

    at: float
    """s"""
    places: Mapping[str, sim.TreePlace]
    read: Mapping[str, int]
    """bytes that each host's reader has"""

    def lag(self, host: str, rate_mbps: float) -> float | None:
        """How long ago the source was to send the byte that the host gets next, s; None: it is cut off."""
        place = self.places[host]
        due = (self.read[host] + place.skipped) * 8 / (rate_mbps * 1e6)
        return None if place.cut_off else self.at - due

    def children(self, host: str) -> int:
        return sum(place.parent == host for place in self.places.values())

    def is_below(self, host: str, top: str) -> bool:
        above = self.places[host].parent
        return above is not None and (above == top or self.is_below(above, top))

    def moves(self) -> int:
        return sum(place.moves for place in self.places.values())

    def reports(self) -> int:
        return sum(place.backlogs for place in self.places.values())


def run_one(run: Run) -> Outcome:
    """Runs one simulation."""
    rng = Random(run.seed)
    scenario = _scenario(run, rng)
    network = build(scenario)
    moments = _moments(network, scenario.trees[0])
    before = [next(moments) for _ in range(SLOW_AT_S * SECOND // LOOK_NS)][-1]
    slow = _chosen(before, rng)
    if run.is_slow:
        network.set_link_rate(slow, CORE, round(SLOW_MBPS * 1e6))
    after = list(moments)
    hosts = [host for host in before.places if host != SOURCE]
    below = [host for host in hosts if before.is_below(host, slow)]
    others = [host for host in hosts if host not in (slow, *below) and before.places[host].parent]
    kinds = {"below": below, "others": others, "slow": [slow]}
    parents = [moment.places[slow].parent for moment in (before, *after)]
    reported = (
        moment.at - SLOW_AT_S
        for parent, moment, earlier in zip(parents, after, (before, *after), strict=False)
        if parent is not None and moment.places[parent].backlogs > earlier.places[parent].backlogs
    )
    return Outcome(
        run=run,
        groups={kind: _group(run, names, before, after) for kind, names in kinds.items()},
        without=len(hosts) - len(below) - len(others) - 1,
        children=before.children(slow),
        moves=after[-1].moves() - before.moves(),
        slow_moves=after[-1].places[slow].moves - before.places[slow].moves,
        source_children=after[-1].children(SOURCE),
        reports=after[-1].reports() - before.reports(),
        reported=next(reported, None),
        looks=tuple(_look(run, kinds, moment) for moment in after[LOOKS_A_REPORT - 1 :: LOOKS_A_REPORT]),
        simulated_s=scenario.duration_ns / SECOND,
        packet_hops=network.hops(),
    )


def _scenario(run: Run, rng: Random) -> sim.Scenario:
    names = [f"h{number}" for number in range(run.hosts + 1)]
    stream_ns = run.hosts * JOIN_NS + REST_NS
    drawn = [ACCESS_US[0], *(rng.randint(*ACCESS_US) for _ in names[1:])]
    delays = [access_us / 1000 if run.access_ms is None else run.access_ms for access_us in drawn]
    offered = [CHILDREN[1], *(rng.randint(*CHILDREN) for _ in names[1:])]
    members = tuple(
        sim.TreeMember(name, children if run.children is None else run.children, number * JOIN_NS)
        for number, (name, children) in enumerate(zip(names, offered, strict=True))
    )
    link = {"rate": f"{run.link_mbps:g}mbit", "queue": QUEUE}
    ends = [*zip(names, delays, strict=True), (DISPATCHERS, ACCESS_US[0] / 1000)]
    topology: dict[str, Any] = {
        "name": "slow",
        "switches": {CORE: {"device_id": 1, "grpc": 9600}},
        "hosts": {name: {"ip": f"10.0.{number}.1/24"} for number, name in enumerate((*names, DISPATCHERS))},
        "links": [{"ends": [name, CORE], "delay": f"{delay:g}ms"} | link for name, delay in ends],
    }
    tree = sim.Tree(
        "tree",
        DISPATCHERS,
        members,
        rate=round(run.rate_mbps * 1e6),
        stream_ns=stream_ns,
        demotion=run.demotion,
        slow=run.mode,
        cache_bytes=CACHE_BYTES,
        window=WINDOW,
        one_by_one=run.one_by_one,
    )
    return sim.Scenario(
        name=f"{run.name}-{run.mode}-{run.seed}",
        topology=parse(yaml.safe_dump(topology, sort_keys=False), "slow"),
        flows=(),
        trees=(tree,),
        duration_ns=stream_ns + run.stream_s * SECOND,
        sample_ns=LOOK_NS,
        seed=run.seed,
        kinds={CORE: "fifo"},
    )


def _moments(network: NativeSim, tree: sim.Tree) -> Iterator[Moment]:
    """The hosts, every 100 ms of the stream."""
    now, until, finished = 0, tree.stream_ns, False
    while not finished:
        until += LOOK_NS
        while now < until and not finished:
            now, _, finished = network.step(WALL_MS, until)
            end_when_told(None)
        summary = loads(network.summary())
        read = {flow["flow"]: flow["delivered_bytes"] for flow in summary["flows"]}
        yield Moment((now - tree.stream_ns) / SECOND, places(tree, summary), read)


def _chosen(moment: Moment, rng: Random) -> str:
    """A host that serves at least two others and is not its parent's only child; if there is none, any host
    that serves one."""
    hosts = [host for host in moment.places if host != SOURCE]
    serving = [host for host in hosts if moment.children(host) > 1]
    fit = [host for host in serving if moment.children(moment.places[host].parent or "") > 1]
    return rng.choice(fit) if fit else next(host for host in hosts if moment.children(host) > 0)


def _last(run: Run, hosts: list[str], moment: Moment) -> float | None:
    """Delay of the last of these hosts; None: all are cut off, or there are none."""
    lags = (moment.lag(host, run.rate_mbps) for host in hosts)
    return max((lag for lag in lags if lag is not None), default=None)


def _look(run: Run, kinds: Mapping[str, list[str]], moment: Moment) -> Look:
    lags = {kind: _last(run, hosts, moment) for kind, hosts in kinds.items()}
    return Look(at=moment.at, **lags)


def _group(run: Run, hosts: list[str], before: Moment, after: list[Moment]) -> Group:
    end = after[-1]
    settled = next(moment for moment in (before, *after) if moment.at >= max(run.stream_s - END_S, before.at))
    all_of_it, last_part = (
        [(end.read[host] - since.read[host]) * 8 / (end.at - since.at) for host in hosts]
        for since in (before, settled)
    )
    lags = [(moment.at, lag) for moment in after if (lag := _last(run, hosts, moment)) is not None]
    lag_end = _last(run, hosts, end) or 0.0
    cut_off = sum(end.places[host].cut_off for host in hosts)
    late = max((at for at, lag in lags if lag > LATE_S), default=before.at)
    return Group(
        hosts=len(hosts),
        goodput_median=median(all_of_it) if hosts else 0.0,
        goodput_least=min(all_of_it, default=0.0),
        end_least=min(last_part, default=0.0),
        lag_most=max((lag for _, lag in lags), default=0.0),
        lag_end=lag_end,
        caught_up=late - before.at if lag_end <= LATE_S and cut_off < len(hosts) else None,
        skipped=sum(end.places[host].skipped for host in hosts),
        cut_off=cut_off,
    )

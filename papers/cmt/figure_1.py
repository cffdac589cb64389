"""Fig. 1 of the paper: IP multicast, a chain of hosts, and a better tree, in its network of two routers.

The figure is not in the paper's text, which has a source S and a recipient V at router R1, and recipients M1
and M2 at R2 (3.1.1). netsim carries one stream over each: P4 switches copy it for IP multicast, hosts pass it
on over TCP in the others. Copies on a link are its bytes, both directions, over those of the stream; messages
are so rare that none waits for another. Rates and delays of the links are chosen, the same for all ways.

Which tree dispatchers build is looked at in networks of two routers and three hosts at random places.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from groupflow import sim
from groupflow._native import tree_study
from groupflow.files.topology import parse
from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import bar, save, subplots
from groupflow.study.experiment import Simulation
from papers.cmt.tree.runs import Run as TreeRun

SENDERS: Mapping[str, Mapping[str, str]] = {
    "multicast": {},
    "unicast": {"v": "s", "m1": "s", "m2": "s"},
    "chain": {"m1": "s", "m2": "m1", "v": "m2"},
    "tree": {"v": "s", "m1": "s", "m2": "m1"},
}
"""by way: of each recipient, the host that sends to it"""
RECIPIENTS = ("v", "m1", "m2")
ROUTERS = "r1-r2"
NETWORK = """
name: figure-1
defaults: {link: {rate: 100mbit, delay: 1ms, queue: 200}}
switches: {r1: {device_id: 1, grpc: 9561}, r2: {device_id: 2, grpc: 9562}}
hosts: {s: {ip: 10.0.1.1/24}, v: {ip: 10.0.1.2/24}, m1: {ip: 10.0.2.1/24}, m2: {ip: 10.0.2.2/24}}
links:
- {ends: [s, r1]}
- {ends: [v, r1]}
- {ends: [m1, r2]}
- {ends: [m2, r2]}
- {ends: [r1, r2], delay: 10ms}
"""
FRAME_BYTES = 1514
MESSAGE = sim.Messages(1448, 50_000_000)
"""a full packet 20 times a second, at times that are the same for all ways"""
BEGIN_NS, END_NS, SAMPLE_NS = 10**9, 3 * 10**9, 2 * 10**5
NETWORKS = 50
"""of two routers, in which dispatchers place three hosts"""
SAME_MS = 1.0
"""difference of delays up to which they are about the same: a host at the same router is 2 ms away"""


@dataclass(frozen=True)
class Run:
    way: str
    seed: int


@dataclass(frozen=True)
class Outcome:
    run: Run
    copies: Mapping[str, float]
    """by link"""
    arrivals_s: Mapping[str, Sequence[float]]
    """of the messages, by recipient"""
    simulated_s: float
    packet_hops: int


Outcomes: TypeAlias = Mapping[str, Outcome]


def run_one(run: Run, folder: Path) -> Outcome:
    senders = SENDERS[run.way]
    session = sim.GroupSession(1, "s", RECIPIENTS, 0, sender_after_ns=BEGIN_NS, messages=MESSAGE)
    traffic = sim.TcpTraffic("newreno", messages=MESSAGE)
    hosts = sim.SplitSession("hosts", "s", RECIPIENTS, traffic, start_ns=BEGIN_NS, overlay=senders)
    scenario = sim.Scenario(
        f"figure-1-{run.way}",
        parse(NETWORK, "figure-1"),
        flows=(),
        duration_ns=END_NS,
        sessions=() if senders else (session,),
        splits=(hosts,) if senders else (),
        sample_ns=SAMPLE_NS,
        seed=run.seed,
    )
    results = sim.run(scenario, out=folder)
    names = {to: hosts.hop(senders[to], to) if senders else session.member(to) for to in RECIPIENTS}
    arrivals = {to: list(_arrivals(results, name)) for to, name in names.items()}
    sent = results.link_bytes
    whole = FRAME_BYTES * max(map(len, arrivals.values()))
    copies = {f"{a}-{b}": (sent[a, b] + sent[b, a]) / whole for a, b in sorted(sent) if a < b}
    return Outcome(run, copies, arrivals, results.simulated_s, results.packet_hops)


def _arrivals(results: sim.Results, flow: str) -> Iterator[float]:
    series, there = results.throughput(flow), 0
    for time, delivered in zip(series["time_s"], series["delivered_bytes"], strict=True):
        yield from [time] * (int(delivered) // MESSAGE.size - there)
        there = int(delivered) // MESSAGE.size


def later_ms(outcomes: Outcomes, way: str, recipient: str, than: str = "unicast") -> float:
    """How much later a recipient has a message than another way brings it, mean."""
    pairs = zip(*(outcomes[each].arrivals_s[recipient] for each in (way, than)), strict=False)
    return 1000 * fmean(one - other for one, other in pairs)


def judge(outcomes: Outcomes) -> list[Claim]:
    """The paper's claims about the figure, and the finding on the dispatchers."""
    copies = {way: {link: round(value) for link, value in o.copies.items()} for way, o in outcomes.items()}
    later = {to: later_ms(outcomes, "multicast", to) for to in RECIPIENTS}
    most = max(later.values(), key=abs)
    longer = {to: later_ms(outcomes, "chain", to) for to in ("m2", "v")}
    redundant = {link: copies["chain"][link] for link in (ROUTERS, "m1-r2", "m2-r2")}
    sooner = later_ms(outcomes, "chain", "v", than="tree")
    same = later_ms(outcomes, "tree", "m2", than="chain")
    elsewhere = max(count for link, count in copies["tree"].items() if link != ROUTERS)
    where, ms = "3.1.1, Fig. 1", "ms, mean"
    return [
        Claim("figure-1-multicast-copies", where, "IP multicast: at most one copy over any link", 1,
              max(copies["multicast"].values()), "copies", max(copies["multicast"].values()) == 1, ""),
        Claim("figure-1-multicast-delay", where, "IP multicast: each has data with the delay of unicast", 0,
              most, ms, abs(most) <= SAME_MS, f"within {SAME_MS:g} ms; {_listed(later)}"),
        Claim("figure-1-chain-copies", where, "a chain: redundant data over R1-R2, R2-M1 and R2-M2", "> 1",
              min(redundant.values()), "copies, the least", min(redundant.values()) > 1, ""),
        Claim("figure-1-chain-delay", where, "a chain: M2 and V have data later; in the better tree V sooner",
              "later", min(longer.values()), "ms after unicast, mean",
              min(sooner, *longer.values()) > SAME_MS,
              f"by more than {SAME_MS:g} ms; {_listed(longer)}; V {sooner:.1f} ms after the tree's"),
        Claim("figure-1-tree-copies", where, "the better tree: a single copy over R1-R2, more over others",
              1, copies["tree"][ROUTERS], "copies", copies["tree"][ROUTERS] == 1 < elsewhere,
              f"elsewhere at most {elsewhere}"),
        Claim("figure-1-tree-m2", where, "the better tree: M2 has data when it has in the chain", 0, same, ms,
              abs(same) <= SAME_MS, f"within {SAME_MS:g} ms"),
        _dispatchers(),
    ]  # fmt: skip


def _dispatchers() -> Claim:
    """The finding that hosts which join are placed as in the better tree, wherever they are."""
    size = {"transit": 2, "domains": 1, "routers": 1, "joins_per_s": 1}
    specs = (TreeRun(3, seed, churn_permille=0).spec() | size for seed in range(1, NETWORKS + 1))
    found = [json.loads(tree_study(json.dumps(spec))) for spec in specs]
    single = sum(each["tree"]["copies"] == each["multicast"]["copies"] for each in found)
    chains = sum(each["chain"]["copies"] > each["multicast"]["copies"] for each in found)
    return finding("figure-1", "dispatchers", "dispatchers build trees with a single copy between routers",
                   single, f"of {NETWORKS} networks", single == NETWORKS and chains > 0,
                   f"all; a chain in the order of joining has more in {chains}")  # fmt: skip


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{to.upper()} {value:+.1f} ms" for to, value in values.items())


def draw(path: Path, outcomes: Outcomes) -> None:
    """Draws copies by link and lateness by recipient, a bar for each way."""
    drawing, (copies, later) = subplots(1, 2, figsize=(9.6, 3.2))
    for place, (way, outcome) in enumerate(outcomes.items()):
        for panel, values in (
            (copies, outcome.copies),
            (later, {to: later_ms(outcomes, way, to) for to in RECIPIENTS}),
        ):
            at = [n + 0.2 * (place - 1.5) for n in range(len(values))]
            panel.bar(at, list(values.values()), 0.2, label=way, **bar(place))
            panel.set_xticks(range(len(values)), [name.upper() for name in values])
    copies.set(xlabel="Link", ylabel="Copies of a message, acknowledgements too")
    later.set(xlabel="Recipient", ylabel="Later than by unicast [ms]")
    copies.legend()
    save(drawing, path)


SIMULATION: Simulation[Run, Outcome, Outcomes] = Simulation(
    simulate=run_one,
    group=lambda outcomes: {outcome.run.way: outcome for outcome in outcomes},
    rows=lambda outcome: [{"way": outcome.run.way, **outcome.copies}],
    title=lambda run: f"Fig. 1, {run.way}",
    cost=lambda run: 1,
    folder=lambda run: f"figure-1/{run.way}",
)
FIGURE_1 = SIMULATION.study(
    "figure-1", "Fig. 1: IP multicast, a chain and a better tree",
    lambda quick, seed: [Run(way, seed) for way in SENDERS], judge, draw,
)  # fmt: skip

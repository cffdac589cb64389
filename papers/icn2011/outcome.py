"""Measurements of one run, by the paper's indices (section IV.B), and their means over seeds."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from statistics import fmean, pstdev
from typing import TypeAlias

from groupflow import sim
from groupflow.sim.results import FlowResult
from groupflow.study.experiment import Simulation, by_case, seeded
from groupflow.study.files import Row
from groupflow.study.pool import end_when_told
from papers.icn2011 import network
from papers.icn2011.network import AGENTS, MESSAGE, SWITCH_OF, flow_name, session
from papers.icn2011.paper import (
    BEYOND,
    FRAME_BYTES,
    GROUP_PAYLOAD,
    MEGABIT,
    MESSAGE_PACKETS,
    MSS,
    QUICK_SECONDS,
    QUICK_SECONDS_BEYOND,
    QUICK_SEEDS,
    SECONDS,
    SEEDS,
    Case,
    Run,
    is_near,
)

FULL = "queue_full"
"""reason of a lost packet. Ticks of diffusion-type flow control also end in a switch, but are no loss."""


@dataclass(frozen=True)
class Indices:
    """The paper's evaluation indices, and further figures that explain them."""

    consumption_mbps: float
    """frames on the link from a sender to its agent; the mean over the senders"""
    reception_mbps: float
    """the least that a member received of a stream; the mean over the streams"""
    received_mbps: float
    """all that a member received; the mean over members"""
    effective: float
    """reception throughput of a stream over its application's rate (Tr / D); the mean over the streams"""
    nearest_mbps: float
    """the most that a member received of a stream; the mean over the streams"""
    cache_ratio: float
    """the most that SA1 cached over all that senders transmitted (Cmax / Dmax); 0 without agents"""
    own_cache_ratio: float
    """the same over what the senders beside SA1 transmitted"""
    acknowledgements_mbps: float
    """frames sent to a sender, except those of other senders' streams; the mean over the senders"""
    lost_at_senders: float
    """packets lost in senders' full output buffers"""
    lost_in_network: float
    """packets lost in all other queues"""
    timeouts: float


@dataclass(frozen=True)
class Outcome:
    """Measurements of a run."""

    run: Run
    indices: Indices
    simulated_s: float
    packet_hops: int
    wall_s: float


@dataclass(frozen=True)
class Point:
    """Mean and spread of a case over all seeds."""

    mean: Indices
    spread: Indices
    """standard deviations"""


Points: TypeAlias = Mapping[Case, Point]


def measure(run: Run, results: sim.Results) -> Outcome:
    """The indices of a run."""
    case = run.case
    seconds = results.simulated_s
    flows = _by_stream(results.flows)
    streams: list[list[float]] = []
    received: dict[str, float] = {}
    offered: list[float] = []
    transmitted: dict[str, int] = dict.fromkeys(AGENTS, 0)
    for source in case.sources:
        members = case.receivers(source)
        names = [last_hop(case, source, member) for member in members]
        rates = [(flows[name].delivered_bytes or 0) * 8 / seconds / MEGABIT for name in names]
        streams.append(rates)
        for member, rate in zip(members, rates, strict=True):
            received[member] = received.get(member, 0.0) + rate
        firsts = [flows[name] for name in _first_hops(case, source)]
        offered.append((firsts[0].offered_bytes or 0) * 8 / seconds / MEGABIT)
        sent = sum(flow.sent_packets - (flow.retransmissions or 0) for flow in firsts)
        transmitted[SWITCH_OF[source]] += sent * (GROUP_PAYLOAD if case.method == "group" else MSS)
    peaks = results.peak_cached_bytes
    cached = peaks.get("s1", peaks.get("sa1", 0))
    links = results.link_bytes
    up = [links[case.entry(source), SWITCH_OF[source]] for source in case.sources]
    at_senders = sum(results.dropped(case.entry(source), FULL) for source in case.sources)
    return Outcome(
        run=run,
        indices=Indices(
            consumption_mbps=fmean(up) * 8 / seconds / MEGABIT,
            reception_mbps=fmean(min(rates) for rates in streams),
            received_mbps=fmean(received.values()),
            effective=fmean(
                min(rates) / rate if rate else 0.0 for rates, rate in zip(streams, offered, strict=True)
            ),
            nearest_mbps=fmean(max(rates) for rates in streams),
            cache_ratio=cached / max(sum(transmitted.values()), 1),
            own_cache_ratio=cached / max(transmitted["s1"], 1),
            acknowledgements_mbps=_acknowledgements(case, results, flows),
            lost_at_senders=at_senders,
            lost_in_network=results.dropped(reason=FULL) - at_senders,
            timeouts=sum(flow.timeouts or 0 for flow in results.flows.values()),
        ),
        simulated_s=seconds,
        packet_hops=results.packet_hops,
        wall_s=results.wall_s,
    )


def _acknowledgements(case: Case, results: sim.Results, flows: Mapping[str, FlowResult]) -> float:
    """Rate of frames on the links to senders that carry no data for them."""
    data = 0.0
    for source in case.sources:
        for member in set(case.receivers(source)) & set(case.sources):
            flow = flows[last_hop(case, source, member)]
            group = case.method == "group"  # whose members also count packets without data
            packets = (flow.delivered_bytes or 0) / GROUP_PAYLOAD if group else flow.delivered_packets
            data += packets * FRAME_BYTES
    down = sum(results.link_bytes[SWITCH_OF[source], case.entry(source)] for source in case.sources)
    return (down - data) * 8 / results.simulated_s / MEGABIT / len(case.sources)


def _by_stream(flows: Mapping[str, FlowResult]) -> Mapping[str, FlowResult]:
    """Flows by the names of their streams: the connections of a stream's messages are one flow."""
    found: dict[str, FlowResult] = {}
    for name, flow in flows.items():
        stream = re.sub(rf"{MESSAGE}\d+", "", name)
        if stream != name:
            flow = replace(flow, offered_bytes=MESSAGE_PACKETS * MSS)
        found[stream] = _together(found[stream], flow) if stream in found else flow
    return found


def _together(one: FlowResult, other: FlowResult) -> FlowResult:
    names = ("sent_packets", "offered_bytes", "delivered_packets", "delivered_bytes", "retransmissions")
    return replace(one, **{n: (getattr(one, n) or 0) + (getattr(other, n) or 0) for n in names})


def last_hop(case: Case, source: str, member: str) -> str:
    """Name of the connection by which a member receives, or of its part in a session."""
    if case.method == "unicast":
        return flow_name(source, member)
    if case.method == "group":
        return session(case, source).member(member)
    if case.method == "members":
        return f"{source}-{case.overlay(source)[member]}-{member}"
    agent = "s1" if is_near(member) else "s2"
    return f"{source}-{agent}-{member}"


def _first_hops(case: Case, source: str) -> list[str]:
    """Names of a sender's connections, or of its part in a session."""
    if case.method == "unicast":
        return [flow_name(source, member) for member in case.receivers(source)]
    if case.method == "group":
        return [session(case, source).member(source)]
    if case.method == "members":
        return [last_hop(case, source, to) for to, sender in case.overlay(source).items() if sender == source]
    return [f"{source}-{source}-{SWITCH_OF[source]}"]


def points(outcomes: Iterable[Outcome]) -> dict[Case, Point]:
    """Mean and spread of each case over its seeds."""
    cases: dict[Case, list[Outcome]] = by_case(outcomes)
    return {case: Point(_each(found, fmean), _each(found, pstdev)) for case, found in cases.items()}


def _each(found: list[Outcome], statistic: Callable[[Iterable[float]], float]) -> Indices:
    columns = {f.name: [float(getattr(each.indices, f.name)) for each in found] for f in fields(Indices)}
    return Indices(**{name: statistic(column) for name, column in columns.items()})


def row(outcome: Outcome) -> Row:
    """A row of a table: the run's case and seed, then its indices."""
    run = outcome.run
    indices = {name: round(value, 6) for name, value in asdict(outcome.indices).items()}
    cost = {"packet_hops": outcome.packet_hops, "wall_s": round(outcome.wall_s, 3)}
    return {**asdict(run.case), "seed": run.seed, "simulated_s": run.seconds, **indices, **cost}


def run_one(run: Run) -> Outcome:
    scenario = network.scenario(run.case, seconds=run.seconds, seed=run.seed)
    return measure(run, sim.run(scenario, end_when_told))


SIMULATION: Simulation[Run, Outcome, Points] = Simulation(
    simulate=run_one,
    group=points,
    rows=lambda outcome: [row(outcome)],
    title=lambda run: f"{run.case.method} {run.case.load:g}",
    cost=lambda run: run.cost,
)


def runs(cases: Callable[[bool], Iterable[Case]]) -> Callable[[bool, int], list[Run]]:
    """Makes runs of the cases with the paper's number of seeds and duration; or of the short variant, in
    which methods beyond the paper's have one seed."""
    made = seeded(cases, lambda case, seed, quick: Run(case, seed, _seconds(case, quick)), SEEDS, QUICK_SEEDS)
    return lambda quick, seed: [
        run for run in made(quick, seed) if not (quick and run.case.method in BEYOND and run.seed > seed)
    ]


def _seconds(case: Case, quick: bool) -> float:
    if not quick:
        return SECONDS
    return QUICK_SECONDS_BEYOND if case.method in BEYOND else QUICK_SECONDS

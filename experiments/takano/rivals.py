"""What else could be done on the paper's line: drop-tail queues, marks (ECN), and pauses hop by hop (XOFF).

The line, the hosts and the TCP parameters are those of `network.py`; the nodes are routers without P4.

- "drop-tail": one queue a link, as TCP alone has in the paper.
- "ecn": the same queue marks a packet that finds a ninth of the buffer waiting; TCP answers as to a loss.
- "xoff": each node stops a neighbour before its buffer is full. Each neighbour upstream gets an equal part of
  the buffer, less the headroom that its link needs; it goes on at two thirds of that. A source's link has the
  line's rate: a pause can hold what waits before an interface, not what is in node 1 at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import yaml

from experiments.takano import network
from experiments.takano.outcome import Outcome, load
from experiments.takano.paper import LINK_DELAY_NS, PACKET_BYTES, Case
from groupflow import sim
from groupflow.sim.model import Variant
from groupflow.topology import parse

Method: TypeAlias = Literal["drop-tail", "ecn", "xoff"]
METHODS: tuple[Method, ...] = ("drop-tail", "ecn", "xoff")
TCPS: tuple[Variant, ...] = ("tahoe", "newreno", "sack", "cubic")
CASES = ("2", "4")
"""the paper's scenarios in which they are compared"""

ECN_PART = 9
XON_PART = 2 / 3
FRAMES_BEGUN = 2
"""one that the node is sending when it has to tell, and one that the neighbour is sending when it is told"""


@dataclass(frozen=True)
class Row:
    """One run in figures. Means and spreads are over the time after the background has joined."""

    case: str
    tcp: str
    method: str
    mean_efficiency: float
    """of the target flow, 0 to 1"""
    efficiency_spread: float
    """standard deviation"""
    fairness: float
    """the slower flow's throughput over the faster one's"""
    drops: int
    """packets; early ones are those before the background joined"""
    early_drops: int
    fullest_queue: float
    """packets, at any node at any sample"""
    fullest_node: int
    retransmissions: int
    marks: int = 0
    pauses: int = 0


@dataclass(frozen=True)
class Rival:
    """One run: its figures and its series."""

    row: Row
    outcome: Outcome


def scenario(case: Case, method: Method, *, seconds: float | None = None, seed: int = 1) -> sim.Scenario:
    """One run of the case, with its TCP, on routers that follow the method."""
    base = network.scenario(case, dfc=False, seconds=seconds, seed=seed)
    nodes = range(1, case.nodes + 1)
    flows, topology = base.flows, base.topology
    if method == "xoff":
        topology = parse(_paced_sources(case), topology.name)
    if method == "ecn":
        flows = tuple(replace(f, traffic=replace(network.traffic(case), ecn=True)) for f in flows)
    return replace(
        base,
        name=f"rivals-{case.name}-{case.tcp}-{method}",
        topology=topology,
        flows=flows,
        kinds={network.switch(node): "fifo" for node in nodes},
        fifos={network.switch(node): options(case, method, node) for node in nodes},
    )


def _paced_sources(case: Case) -> str:
    """The line, where a source's link has the rate of the others."""
    form = yaml.safe_load(network.topology_text(case))
    sources = {network.source_of(flow) for flow in network.FLOW_NUMBERS}
    for link in form["links"]:
        if sources.intersection(link["ends"]):
            link["rate"] = f"{case.bandwidth_bps}bit"
    return yaml.safe_dump(form, sort_keys=False)


def options(case: Case, method: Method, node: int) -> sim.FifoOptions:
    """What a node does before its queue is full."""
    if method == "drop-tail":
        return sim.FifoOptions()
    if method == "ecn":
        return sim.FifoOptions(ecn=max(case.buffer // ECN_PART, 1))
    delays = upstream_delays(case, node)
    room = case.buffer - sum(headroom(case, delay) for delay in delays)
    # A queue that holds all of the buffer drops the next packet: xoff stays below it.
    xoff = min(room // len(delays), case.buffer - 1)
    if xoff < 1:
        needed = case.buffer - room + len(delays)
        raise ValueError(
            f"scenario {case.name}: a buffer of {case.buffer} packets is less than node {node}'s headroom;"
            f" XOFF needs {needed} or more"
        )
    return sim.FifoOptions(xoff=xoff, xon=math.floor(xoff * XON_PART))


def upstream_delays(case: Case, node: int) -> list[int]:
    """The delay (ns) of each link by which data comes to the node: from the node before, and from sources."""
    line = [LINK_DELAY_NS] if node > 1 else []
    sources = [0 for at in (1, case.background_at) if at == node]
    return line + sources


def headroom(case: Case, delay_ns: int) -> int:
    """Packets that arrive by a link after it was to be paused: two delays at its rate, and frames begun."""
    bits = 2 * delay_ns * case.bandwidth_bps / 1e9
    return math.ceil(bits / (8 * PACKET_BYTES)) + FRAMES_BEGUN


def row(method: str, outcome: Outcome, *, marks: int = 0, pauses: int = 0) -> Row:
    """The figures of a run, of these methods or another."""
    fullest = outcome.queues.max(axis=0)
    return Row(
        case=outcome.case.name,
        tcp=outcome.case.tcp,
        method=method,
        mean_efficiency=outcome.mean_efficiency,
        efficiency_spread=outcome.efficiency_spread,
        fairness=outcome.fairness,
        drops=outcome.dropped,
        early_drops=outcome.early_drops,
        fullest_queue=float(fullest.max()),
        fullest_node=int(np.argmax(fullest)) + 1,
        retransmissions=sum(outcome.retransmissions.values()),
        marks=marks,
        pauses=pauses,
    )


def run_one(case: Case, method: Method, *, out: Path, seconds: float | None = None, seed: int = 1) -> Rival:
    """Runs one scenario; its data is in a folder of its own."""
    described = scenario(case, method, seconds=seconds, seed=seed)
    out.mkdir(parents=True, exist_ok=True)
    results = sim.run(described, out=out / described.name)
    outcome = load(case, False, results, network.joins_s(seconds))
    marks, pauses = results.signalled("ecn_marked"), results.signalled("pauses")
    return Rival(row(method, outcome, marks=marks, pauses=pauses), outcome)


def compare(
    case: Case,
    *,
    out: Path,
    tcps: Iterable[Variant] = TCPS,
    methods: Sequence[Method] = METHODS,
    seconds: float | None = None,
    seed: int = 1,
    jobs: int = 1,
) -> list[Rival]:
    """All methods with each TCP, in this order. Data goes to folders in `out`."""
    chosen: list[tuple[Case, Method]] = [
        (replace(case, tcp=tcp), method) for tcp in tcps for method in methods
    ]
    with ProcessPoolExecutor(jobs) as pool:
        pending = [
            pool.submit(run_one, each, method, out=out, seconds=seconds, seed=seed) for each, method in chosen
        ]
        try:
            return [run.result() for run in pending]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise

"""The paper's network (Fig. 5) as a netsim scenario: a line of P4 switches and the two flows.

What the paper leaves open, and what is chosen here:

- A host's link has no delay and no rate, as ns-2's agents sit in the node itself: what TCP sends is in the
  first node's queue at once. (So TCP alone overflows that queue in slow start, too; the paper's losses at node
  15 are counted from when the background starts.)
- With the control, the host is the external node of eq. 9 and shapes its flow to r_0, with d_0 = d.
- With the control, the buffer of 1800 packets is each flow's; without, it is one queue's.
- 1500 bytes are the whole frame; acknowledgements are 54 bytes and share the way back with feedback only.
- TCP has ns-2's parameters: an initial window of 2, an acknowledgement for each packet, timeouts from 0.2 s.
"""

from __future__ import annotations

from fractions import Fraction

import yaml

from experiments.takano.paper import (
    ALPHA,
    BACKGROUND,
    BACKGROUND_START_S,
    LINK_DELAY_NS,
    PACKET_BYTES,
    TARGET,
    Case,
)
from groupflow import sim
from groupflow.sim.model import VARIANTS, Variant
from groupflow.topology import parse

NANOSECONDS = 10**9
ETHERNET_BYTES = 14
HOST_QUEUE = 1_000_000
"""packets: a host keeps what its TCP sends until the link takes it"""
FLOW_NUMBERS = {TARGET: 1, BACKGROUND: 2}


def switch(number: int) -> str:
    return f"n{number}"


def scenario(case: Case, *, dfc: bool, seconds: float | None = None, seed: int = 1) -> sim.Scenario:
    """One run of the case. `seconds` shortens it, and lets the background join after a quarter of that."""
    duration = case.seconds if seconds is None else seconds
    starts = {TARGET: 0.0, BACKGROUND: joins_s(seconds)}
    base = sim.Scenario(
        name=f"takano-{case.name}-{'dfc' if dfc else 'tcp'}",
        topology=parse(topology_text(case), f"takano-{case.name}"),
        flows=tuple(
            sim.Flow(
                name=name,
                source=source_of(name),
                destination=sink_of(name),
                traffic=traffic(case),
                start_ns=round(start * NANOSECONDS),
            )
            for name, start in starts.items()
        ),
        duration_ns=round(duration * NANOSECONDS),
        seed=seed,
    )
    return sim.with_diffusion(base, control(case)) if dfc else base


def joins_s(seconds: float | None) -> float:
    """When the background traffic starts, in a run shortened to `seconds`."""
    return BACKGROUND_START_S if seconds is None else min(BACKGROUND_START_S, seconds / 4)


def source_of(flow: str) -> str:
    return f"source{FLOW_NUMBERS[flow]}"


def sink_of(flow: str) -> str:
    return f"sink{FLOW_NUMBERS[flow]}"


def traffic(case: Case) -> sim.TcpTraffic:
    if case.tcp not in VARIANTS:
        raise ValueError(f"scenario {case.name}: no TCP {case.tcp!r}; one of {', '.join(VARIANTS)}")
    variant: Variant = case.tcp
    return sim.TcpTraffic(variant, case.window, packet=PACKET_BYTES - ETHERNET_BYTES, profile="ns2")


def control(case: Case) -> sim.Diffusion:
    return sim.Diffusion(
        d=Fraction(str(case.diffusion)),
        alpha=Fraction(str(ALPHA)),
        flows=tuple(FLOW_NUMBERS),
        packet_bytes=PACKET_BYTES,
        queue_packets=case.buffer,
        host_delay_ns=LINK_DELAY_NS,
    )


def topology_text(case: Case) -> str:
    """The line, with a source and a sink for each flow."""
    at = {TARGET: 1, BACKGROUND: case.background_at}
    rate = f"{case.bandwidth_bps}bit"
    line: dict[str, object] = {"rate": rate, "delay": f"{LINK_DELAY_NS}ns", "queue": case.buffer}
    inside: dict[str, object] = {"rate": "unlimited", "delay": 0, "queue": HOST_QUEUE}
    links = [{"ends": [switch(n), switch(n + 1)]} | line for n in range(1, case.nodes)]
    for name, node in at.items():
        links.append({"ends": [source_of(name), switch(node)]} | inside)
        links.append({"ends": [sink_of(name), switch(case.nodes)]} | inside)
    hosts = [end(name) for name in at for end in (source_of, sink_of)]
    return yaml.safe_dump(
        {
            "name": f"takano-{case.name}",
            "switches": {switch(n): {"device_id": n, "grpc": 9600 + n} for n in range(1, case.nodes + 1)},
            "hosts": {host: {"ip": f"10.0.{place}.1/24"} for place, host in enumerate(hosts, 1)},
            "links": links,
        },
        sort_keys=False,
    )

"""The paper's network (Fig. 5) as a netsim scenario: a line of P4 switches and the flows.

Parameters that the paper leaves open, as chosen here:

- A host's link has no delay and no rate, as ns-2's agents sit in the node itself: packets of TCP enter the
  first node's queue at once. (So TCP alone overflows that queue in slow start, too; losses at node 15
  are counted from when the background starts.)
- With the control, the host is the external node of eq. 9 and shapes its flow to r_0, with d_0 = d.
- With the control, the buffer of 1800 packets is each flow's; without, it is one queue's.
- 1500 bytes are the whole frame; acknowledgements are 54 bytes and share the way back with feedback only.
- TCP has ns-2's parameters: an initial window of 2, an acknowledgement for each packet, timeouts from 0.2 s.
- The background starts at 0.1 s and links are alike in one run; in its repetitions it starts less than a
  millisecond later, and each link is longer by less than a microsecond (plan.py).
"""

import math
from dataclasses import replace
from fractions import Fraction

from groupflow import sim
from groupflow.files.topology import read_form
from groupflow.sim.model import VARIANTS, Backlog, Variant
from papers.takano.paper import LINK_DELAY_NS, PACKET_BYTES, Case, Source
from papers.takano.plan import Run

NANOSECONDS = 10**9
ETHERNET_BYTES = 14
HOST_QUEUE = 1_000_000
"""packets: a host keeps its TCP's packets until the link takes them"""


def scenario(run: Run) -> sim.Scenario:
    """The run on P4 switches, with or without the control."""
    case = run.case
    base = sim.Scenario(
        name=f"takano-{run.label}",
        topology=read_form(topology(case, paced=run.paced), f"takano-{case.name}"),
        flows=tuple(
            sim.Flow(
                name=source.flow,
                source=source_host(number),
                destination=sink_host(number),
                traffic=_traffic(case, source),
                start_ns=round(source.start_s * NANOSECONDS),
                stop_ns=None if math.isinf(source.stop_s) else round(source.stop_s * NANOSECONDS),
            )
            for number, source in enumerate(case.sources, 1)
        ),
        duration_ns=round(case.seconds * NANOSECONDS),
        sample_ns=run.sample_ns,
        seed=run.seed,
    )
    if run.control != "dfc":
        return base
    controlled = sim.with_diffusion(base, control(run))
    if any(source.udp_bps for source in case.sources):
        controlled = sim.with_udp_in(controlled, queue=1)
    flows = (replace(flow, backlog=_backlog(run, flow.name)) for flow in controlled.flows)
    return replace(controlled, flows=tuple(flows))


def _backlog(run: Run, flow: str) -> Backlog | None:
    """The host's own queue of a flow, by the run's reading of hosts."""
    if flow not in run.taking and run.host_queue is None:
        return None
    d = run.case.diffusion * NANOSECONDS / LINK_DELAY_NS if flow in run.taking else 0.0
    return Backlog(HOST_QUEUE if run.host_queue is None else run.host_queue, d)


def switch(number: int) -> str:
    return f"n{number}"


def source_host(number: int) -> str:
    """The source of the case's flow with this number, from 1, which is its number in feedback, too."""
    return f"source{number}"


def sink_host(number: int) -> str:
    return f"sink{number}"


def _traffic(case: Case, source: Source) -> sim.TcpTraffic | sim.UdpTraffic:
    if rate := source.udp_bps or (case.link_rates_bps[-1] if case.tcp == "udp" else 0):
        return sim.UdpTraffic(rate, packet=PACKET_BYTES - ETHERNET_BYTES)
    return traffic(case)


def traffic(case: Case) -> sim.TcpTraffic:
    if case.tcp not in VARIANTS:
        raise ValueError(f"scenario {case.name}: no TCP {case.tcp!r}; one of {', '.join(VARIANTS)}")
    variant: Variant = case.tcp
    packet, gamma = PACKET_BYTES - ETHERNET_BYTES, case.vegas_gamma
    return sim.TcpTraffic(variant, case.window, packet=packet, profile="ns2", vegas_gamma=gamma)


def control(run: Run) -> sim.Diffusion:
    case = run.case
    return sim.Diffusion(
        d=Fraction(str(case.diffusion)),
        alpha=Fraction(str(case.alpha)),
        flows=tuple(source.flow for source in case.sources if not source.udp_bps),
        packet_bytes=PACKET_BYTES,
        queue_packets=case.buffer,
        host_delay_ns=LINK_DELAY_NS if run.shaped else None,
        bound=run.bound,
        pool=case.buffer if run.pool else None,
    )


def topology(case: Case, *, paced: bool = False) -> dict[str, object]:
    """The line, with a source and a sink for each flow."""
    rate = f"{case.bandwidth_bps}bit"
    inside: dict[str, object] = {"rate": "unlimited", "delay": 0, "queue": HOST_QUEUE}
    links: list[dict[str, object]] = [
        {"ends": [switch(n), switch(n + 1)], "rate": f"{bps}bit", "delay": f"{ns}ns", "queue": case.buffer}
        for n, (bps, ns) in enumerate(zip(case.link_rates_bps, case.link_delays_ns, strict=True), 1)
    ]
    hosts: list[str] = []
    for number, source in enumerate(case.sources, 1):
        ends = source_host(number), sink_host(number)
        hosts += ends
        pace = {"rate": rate} if paced else {}
        links.append({"ends": [ends[0], switch(source.node)]} | inside | pace)
        links.append({"ends": [ends[1], switch(case.nodes)]} | inside)
    return {
        "name": f"takano-{case.name}",
        "switches": {switch(n): {} for n in range(1, case.nodes + 1)},
        "hosts": hosts,
        "links": links,
    }

"""The same chain, flows and control in netsim."""

import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from experiments.common.beside import DELAYED_ACK_NS, VARIANTS
from experiments.diffusion.result import FRAME_BYTES, Method, Plan, Result, Series
from groupflow import sim
from groupflow.files import variants
from groupflow.model.topology import Topology

NANOSECONDS = 10**9
HOST_QUEUE = 1_000_000
"""packets: a kernel keeps any number that its TCP sends"""


def run(topology: Topology, plan: Plan, control: str, method: Method) -> Result:
    """Simulates a run. Raises ScenarioError."""
    traffic = sim.TcpTraffic(VARIANTS[control], plan.window_packets, delayed_ack_ns=DELAYED_ACK_NS)
    scenario = sim.Scenario(
        name=f"{topology.name}-{control}",
        topology=variants.with_links(
            topology, lambda link: replace(link, queue=HOST_QUEUE) if link.rate is None else link
        ),
        flows=tuple(
            sim.Flow(each.name, each.sender, each.receiver, traffic, round(each.start_s * NANOSECONDS))
            for each in plan.flows
        ),
        duration_ns=round(plan.seconds * NANOSECONDS),
        sample_ns=round(plan.sample_s * NANOSECONDS),
    )
    if method != "tcp":
        names = tuple(flow.name for flow in plan.flows)
        # A host's link has no delay here: as at the controller, d_0 is that of the link downstream.
        host_delay = max(link.spec.delay_ns for link in topology.links) if method == "shaped" else None
        d = Fraction(plan.diffusion)
        wanted = sim.Diffusion(d, names, packet_bytes=FRAME_BYTES, host_delay_ns=host_delay)
        scenario = sim.with_diffusion(scenario, wanted)
    with tempfile.TemporaryDirectory() as folder:
        results = sim.run(scenario, out=Path(folder) / "run")
        switches = list(topology.switches)[:-1]
        samples = round(plan.seconds / plan.sample_s)
        time_s: Series = np.linspace(plan.sample_s, samples * plan.sample_s, samples)
        queues = np.zeros((len(time_s), len(switches)))
        for name, series in results.queue_packets().items():
            if name in switches:
                for at, packets in zip(series["time_s"], series["packets"], strict=True):
                    row = min(round(at / plan.sample_s), len(time_s)) - 1
                    queues[row, switches.index(name)] = packets
        goodput: dict[str, float] = {}
        for flow in plan.flows:
            series = results.throughput(flow.name)
            delivered = dict(zip(series["time_s"], series["delivered_bytes"], strict=True))
            settled = [at for at in delivered if at >= plan.settled_s]
            span = settled[-1] - settled[0]
            goodput[flow.name] = (delivered[settled[-1]] - delivered[settled[0]]) * 8 / span
        return Result(
            where="netsim",
            control=control,
            method=method,
            time_s=time_s,
            queues=queues,
            goodput_bps=goodput,
            drops={name: results.dropped(name, "queue_full") for name in switches},
            retransmitted={name: flow.retransmissions or 0 for name, flow in results.flows.items()},
        )

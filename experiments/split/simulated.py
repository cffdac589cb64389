"""A case in netsim: the reproduction's scenario, with the rates and the TCP of the kernel's run."""

import tempfile
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from experiments.common.beside import DELAYED_ACK_NS
from experiments.split.plan import Message, Plan, Result, Where, streams
from groupflow import sim
from groupflow.files import variants
from papers.icn2011 import network
from papers.icn2011.outcome import FULL, last_hop
from papers.icn2011.paper import WINDOW, Case

KERNEL_AHEAD_BYTES = 2 << 20
"""Lead of a sender before the slowest member at one agent in the kernel's form of E2E, in bytes: an allowance
of 1 MiB that the agent reads, and a receive buffer of the same size (docs/explanation/split.md)."""
_SWITCHES = {"sa1": "s1", "sa2": "s2"}
"""of cache agents, as caches are told by switch"""
TICK_NS = 1_000_000
"""resolution of the times of messages"""


def run(plan: Plan, case: Case, where: Where) -> Result:
    """Simulates a case. Raises ScenarioError."""
    results = sim.run(scenario(plan, case, exact=where == "netsim exact"))
    carried, peaks = results.link_bytes, results.peak_cached_bytes
    return Result(
        where=where,
        case=case,
        received_bps={
            stream: (results.flows[last_hop(case, *stream)].delivered_bytes or 0) * 8 / plan.seconds
            for stream in streams(case)
        },
        # A sender's output buffer is at the begin of its link in the real network.
        link_bytes={
            ends: carried[case.entry(ends[0]), case.entry(ends[1])] for ends in plan.directions(case)
        },
        cache_peak_bytes={_SWITCHES.get(node, node): peak for node, peak in peaks.items()},
        dropped=results.dropped(reason=FULL),
    )


def scenario(plan: Plan, case: Case, *, exact: bool) -> sim.Scenario:
    """`exact`: E2E as in the paper; else as a program over kernel TCP can do it."""
    base = network.scenario(case, seconds=plan.seconds, seed=plan.seed)
    messages = sim.Messages(plan.message_bytes, case.period_ns)
    traffic = sim.TcpTraffic(case.tcp, WINDOW, messages=messages, delayed_ack_ns=DELAYED_ACK_NS)
    splits = tuple(replace(split, traffic=traffic) for split in base.splits)
    if case.method == "e2e" and not exact:
        splits = tuple(replace(split, mode="n2n", cache_bytes=KERNEL_AHEAD_BYTES) for split in splits)
    return replace(
        base,
        topology=variants.with_links(base.topology, lambda spec: replace(spec, rate=spec.rate and plan.rate)),
        flows=tuple(replace(flow, traffic=traffic) for flow in base.flows),
        splits=splits,
        sessions=tuple(replace(session, messages=messages) for session in base.sessions),
    )


@cache
def message_times(plan: Plan, case: Case, source: str) -> tuple[Message, ...]:
    """Times in s from the start at which netsim's sender writes, with the bytes: for the kernel's sender.

    The times are those seen by a member whose links are infinitely fast.
    """
    unicast = scenario(plan, replace(case, method="unicast", tcp="sack"), exact=False)
    fast = replace(
        unicast,
        topology=variants.with_links(unicast.topology, lambda spec: replace(spec, rate=None, delay_ns=0)),
        flows=tuple(flow for flow in unicast.flows if flow.source == source)[:1],
        sample_ns=TICK_NS,
    )
    with tempfile.TemporaryDirectory() as folder:
        series = sim.run(fast, out=Path(folder) / "run").throughput(fast.flows[0].name)
    counts = [0.0, *series["delivered_bytes"]]
    arrived = zip(series["time_s"], pairwise(counts), strict=True)
    return tuple((at, int(now - before)) for at, (before, now) in arrived if now > before)

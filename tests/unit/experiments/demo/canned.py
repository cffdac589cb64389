"""A made-up run of the demo, for tests of the report."""

from dataclasses import replace

from experiments.demo.results import (
    AgentResult,
    Parameters,
    QueueSample,
    ReceiverResult,
    Report,
    Run,
    Transport,
)
from groupflow.files import variants
from groupflow.lab.measure import LinkUse, SwitchHealth
from groupflow.model.topology import Topology

MIB = 1 << 20
SIZE = 64 * MIB
HEALTHY = tuple(
    SwitchHealth(name, False, "99 % of packets left within 0.4 ms of their time") for name in ("s1", "s2")
)
BUSY = (SwitchHealth("s1", True, "99 % of packets left within 20 ms of their time"),)


def topology(members: int = 5) -> Topology:
    return variants.with_members(variants.named("fig5"), members)


def receiver(name: str) -> ReceiverResult:
    slow = 0.05 * (ord(name[1]) - ord("b")) + 0.01 * int(name[2])
    series = tuple((t / 5, min(SIZE, int(SIZE * max(0.0, t / 5 - 0.05 - slow) / 5.85))) for t in range(1, 30))
    return ReceiverResult(name, 5.9 + slow, 400 + 10 * int(name[2]), "", series)


def links(network: Topology, *, tcp: bool = False, count: int = SIZE) -> tuple[LinkUse, ...]:
    """Data flows away from ma1; every direction back carries a hundredth."""
    uses: list[LinkUse] = []
    receivers = [name for name in network.hosts if name[0] == "m" and name != "ma1"]
    beyond = [name for name in receivers if network.hosts[name].switch == "s2"]
    for link in network.links:
        for near, far in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
            towards = near == "ma1" or (near, far) == ("s1", "s2") or (near[0] == "s" and far in receivers)
            towards = towards or (not tcp and far in ("sa1", "sa2"))
            carried = len(receivers) if near == "ma1" else len(beyond) if far == "s2" else 1
            copies = (1.052 * (carried if tcp else 1)) if towards else 0.011
            if tcp and {near, far} & {"sa1", "sa2"}:
                copies = 0.0
            uses.append(LinkUse(link.name, near, far, int(copies * count), copies))
    return tuple(uses)


def queues(seconds: float, lost: int, full: int) -> tuple[QueueSample, ...]:
    steps = range(20)
    return tuple(QueueSample(at * seconds / 19, 9 * at, full * at // 19, lost * at // 19) for at in steps)


def report(members: int = 5) -> Report:
    network = topology(members)
    receivers = tuple(receiver(name) for name in network.hosts if name[0] == "m" and name != "ma1")
    part = 19 * MIB if members == 5 else SIZE
    parameters = Parameters(
        topology="fig5",
        file="64 MiB of random bytes",
        file_bytes=SIZE,
        sha256="ab" * 32,
        members=members,
        mode="e2e",
        policy="strict",
        switch="gfswitch",
        rate_bps=100_000_000,
        delay_ms=10.0,
        ideal_seconds=5.4,
        started="2026-08-01 12:00:00",
    )
    agents = (AgentResult("sa1", 2 * MIB, 500, 312, 1100), AgentResult("sa2", 3 * MIB // 2, 610, 320, 1400))
    note = "TCP got 19 MiB instead of 64 MiB" if part < SIZE else ""
    lossy = Run(
        0.01,
        receivers,
        agents,
        21,
        25,
        Transport(6.2, SIZE, links(network), HEALTHY, queues(6.2, 14_321, 0)),
        Transport(24.3, part, links(network, tcp=True, count=part), HEALTHY, queues(24.3, 9_876, 543)),
        note,
    )
    idle = (AgentResult("sa1", MIB // 2, 0, 0, 0), AgentResult("sa2", MIB // 2, 0, 0, 0))
    exact = tuple(replace(each, repaired_packets=0) for each in receivers)
    whole = replace(
        lossy, loss=0.0, receivers=exact, agents=idle, retransmitted=0, nacks=0,
        group=replace(lossy.group, queues=queues(5.7, 0, 0)),
    )  # fmt: skip
    return Report(parameters, (whole, lossy), ("gfswitch emulates loss on all links.",))


def changed(found: Report, **changes: object) -> Report:
    """With other values in the first run."""
    first, *more = found.runs
    return replace(found, runs=(replace(first, **changes), *more))  # pyright: ignore[reportArgumentType]

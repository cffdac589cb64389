"""A made-up run of the demo, for tests of the report."""

from experiments.demo.results import (
    AgentResult,
    Baseline,
    Parameters,
    ReceiverResult,
    Report,
    Sample,
    SenderResult,
)
from groupflow.lab.measure import LinkUse, SwitchHealth
from groupflow.network import variants
from groupflow.network.topology import Topology

MIB = 1 << 20
SIZE = 64 * MIB
HEALTHY = tuple(
    SwitchHealth(name, False, "99 % of packets left within 0.4 ms of their time") for name in ("s1", "s2")
)


def topology(members: int = 5) -> Topology:
    return variants.with_members(variants.named("fig5"), members)


def receiver(name: str, **changes: object) -> ReceiverResult:
    slow = 0.05 * (ord(name[1]) - ord("b")) + 0.01 * int(name[2])
    seconds = 5.9 + slow
    series = tuple(
        Sample(t / 5, min(SIZE, int(SIZE * max(0.0, t / 5 - 0.05 - slow) / 5.85))) for t in range(1, 30)
    )
    values: dict[str, object] = {
        "name": name,
        "ok": True,
        "seconds": seconds,
        "goodput_bps": int(SIZE * 8 / seconds),
        "repaired_packets": 400 + 10 * int(name[2]),
        "sha256": "ab" * 32,
        "series": series,
    }
    return ReceiverResult(**(values | changes))  # pyright: ignore[reportArgumentType]


def links(network: Topology, *, tcp: bool = False, size: int = SIZE) -> tuple[LinkUse, ...]:
    """Data flows away from ma1; every direction back carries a hundredth."""
    uses: list[LinkUse] = []
    receivers = [name for name in network.hosts if name[0] == "m" and name != "ma1"]
    beyond = [name for name in receivers if network.hosts[name].switch == "s2"]
    for link in network.links:
        for near, far in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
            towards = (
                near == "ma1"
                or (near, far) == ("s1", "s2")
                or (near in network.switches and far in receivers)
            )
            towards = towards or (not tcp and far in ("sa1", "sa2"))
            count = len(receivers) if near == "ma1" else len(beyond) if far == "s2" else 1
            copies = (1.052 * (count if tcp else 1)) if towards else 0.011
            if tcp and {near, far} & {"sa1", "sa2"}:
                copies = 0.0
            uses.append(LinkUse(link.name, near, far, int(copies * size), copies))
    return tuple(uses)


def report(members: int = 5, **changes: object) -> Report:
    network = topology(members)
    receivers = tuple(receiver(name) for name in network.hosts if name[0] == "m" and name != "ma1")
    part = 47 * MIB if members == 5 else SIZE
    values: dict[str, object] = {
        "parameters": Parameters(
            topology="fig5",
            file="64 MiB of random bytes",
            file_bytes=SIZE,
            sha256="ab" * 32,
            members=members,
            mode="e2e",
            policy="strict",
            switch="gfswitch",
            loss=0.01,
            rate_bps=100_000_000,
            delay_ms=10.0,
            started="2026-08-01 12:00:00",
        ),
        "receivers": receivers,
        "sender": SenderResult("ma1", 6.2, 46345, 21, 25),
        "links": links(network),
        "agents": (
            AgentResult("sa1", 2 * MIB, 812, 500, 312, 1100),
            AgentResult("sa2", 3 * MIB // 2, 930, 610, 320, 1400),
        ),
        "health": HEALTHY,
        "baseline": Baseline(
            part,
            59.3,
            {r.name: 40.0 + i for i, r in enumerate(receivers)},
            links(network, tcp=True, size=part),
            HEALTHY,
            note="TCP got 47 MiB instead of 64 MiB: the whole file was expected to take about 84 s"
            if part < SIZE
            else "",
        ),
        "ideal_seconds": 5.64,
        "notes": ("Loss is emulated on every link and in both directions.",),
    }
    return Report(**(values | changes))  # pyright: ignore[reportArgumentType]

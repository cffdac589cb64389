"""Models 1 and 2 as netsim scenarios.

    t0 t1 t2 - r0 \\          i0 i1 i2 (interference terminals)
                   r2 ======= r3 - server
    t3 t4 t5 - r1 /             \\ iserver

The paper's figures 2 and 4 are not in its text. The text names Routers 2 and 3, between which is the
interference, and says that many connections share that line then.
"""

from collections.abc import Mapping
from typing import Any

from groupflow import sim
from groupflow.control.gather.climber import Climber
from groupflow.control.gather.comparison import Comparison
from groupflow.control.gather.model import Limits, Policy
from groupflow.control.gather.policies import Untuned
from groupflow.control.gather.sakajiri import Sakajiri
from groupflow.files.topology import read_form
from groupflow.sim.gather import Gathering
from papers.sakajiri.paper import HIGH, LOW, SITUATIONS, Case, Method, Run

SERVER, RIVAL_SERVER = "server", "iserver"
RIVALS = ("i0", "i1", "i2")
MSS = 1000
"""bytes: ns-2's default packet"""
PACKET = MSS + 52
FAST = "100mbit"
RIVAL_WINDOW = 1000
"""packets: no limit"""
NANOSECONDS = 10**9

POLICIES: Mapping[Method, Policy[Any]] = {
    "both": Sakajiri(),
    "buffer": Sakajiri(connections=False),
    "comparison": Comparison(),
    "kernel-1": Untuned(1),
    "kernel-4": Untuned(4),
    "kernel-16": Untuned(16),
    "climber": Climber(),
}


def scenario(run: Run) -> sim.Scenario:
    """The network, and the interference."""
    case = run.case
    start, stop = (round(second * NANOSECONDS) for second in run.interference_s)
    traffic = sim.TcpTraffic("reno", RIVAL_WINDOW, packet=MSS + 40, profile="ns2")
    rivals = tuple(
        sim.Flow(f"{host}-{number}", host, RIVAL_SERVER, traffic, start, stop)
        for host in RIVALS
        for number in range(case.links.rivals)
    )
    duration_ns = round(run.seconds * NANOSECONDS)
    return sim.Scenario(
        name=f"{case.method}-{case.tcp}-{case.situation}-{run.seed}",
        topology=read_form(topology(case), "sakajiri"),
        flows=rivals if case.interference else (),
        duration_ns=duration_ns,
        sample_ns=duration_ns,
        seed=run.seed,
        kinds=dict.fromkeys(("r0", "r1", "r2", "r3"), "fifo"),
    )


def gathering(run: Run) -> Gathering:
    """The clients that are tuned, and the policy."""
    case = run.case
    situation = SITUATIONS[case.situation]
    if case.tcp == "bbr":
        raise ValueError("netsim has no BBR; run the case on kernel TCP")
    stretches = tuple(
        (when, client, router(client), access_ns(ms)) for when, client, ms in situation.stretched(run.seconds)
    )
    return Gathering(
        senders=situation.senders(run.seconds),
        server=SERVER,
        traffic=sim.TcpTraffic(case.tcp, RIVAL_WINDOW, packet=PACKET, profile="ns2"),
        limits=Limits(situation.buffer, case.links.connections, segment=MSS),
        policy=Sakajiri(gamma=case.gamma, xi=case.xi) if case.method == "both" else POLICIES[case.method],
        stretches=stretches,
    )


def topology(case: Case) -> dict[str, Any]:
    """The network in the form of a topology file."""
    links, situation = case.links, SITUATIONS[case.situation]
    rtts, losses = situation.rtts_ms(links), situation.losses(links)
    rival_ns = (links.rival_rtt_ms - 2 * CORE_MS) * 10**6 // 4
    hosts = [*LOW, *HIGH, SERVER, *RIVALS, RIVAL_SERVER]
    wires = [
        *(
            _link(t, router(t), FAST, access_ns(rtts[t]), links.queue) | {"loss": f"{losses[t]:.9f}"}
            for t in (*LOW, *HIGH)
        ),
        _link("r0", "r2", FAST, EDGE_MS * 10**6, links.queue),
        _link("r1", "r2", FAST, EDGE_MS * 10**6, links.queue),
        _link("r2", "r3", f"{round(links.bottleneck_mbps * 1000)}kbit", CORE_MS * 10**6, links.queue),
        _link("r3", SERVER, FAST, EDGE_MS * 10**6, links.queue),
        *(_link(host, "r2", FAST, rival_ns, links.queue) for host in RIVALS),
        _link("r3", RIVAL_SERVER, FAST, rival_ns, links.queue),
    ]
    return {"name": "sakajiri", "switches": {f"r{n}": {} for n in range(4)}, "hosts": hosts, "links": wires}


EDGE_MS, CORE_MS = 1, 5
"""one-way delays: to and from Routers 2 and 3, and between these; terminals' links have the rest"""


def access_ns(rtt_ms: int) -> int:
    return round((rtt_ms / 2 - 2 * EDGE_MS - CORE_MS) * 10**6)


def router(terminal: str) -> str:
    return "r0" if terminal in LOW else "r1"


def _link(a: str, b: str, rate: str, delay_ns: int, queue: int) -> dict[str, Any]:
    return {"ends": [a, b], "rate": rate, "delay": f"{delay_ns}ns", "queue": queue}

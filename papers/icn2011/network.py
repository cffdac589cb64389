"""Fig. 5 of the paper as a netsim scenario: topologies/fig5.yaml, with the members and the delay of a case.

docs/results/icn2011.md lists the parameters that the paper leaves open, and the choices made here. In short:

- Nodes and senders have output buffers of 200 packets: for a sender, a router before its link. (In ns-2
  agents sit in the node, and TCP's packets enter its queue at once.)
- A split agent is s1 or s2 with its agent host; with unicast they are ordinary routers. P4 switches do the
  same to the packet (tests/unit/papers/icn2011/test_runs.py) and take longer.
- With group sessions all of these are P4 switches, with cache agents at s1 and s2; with TCP through members
  s1 and s2 are routers, and a member that sends on has an output buffer, too.
- A sender writes its messages into one connection that stays: unicast has one for each member. With
  `each_message` a message has connections of its own (studies.py).

Beyond the paper, P4 switches r1, r2, ... may stand between the agents (studies.py).
"""

import random
from fractions import Fraction
from itertools import count, pairwise, takewhile
from typing import Any, cast

import yaml

from groupflow import sim
from groupflow.data import TOPOLOGIES
from groupflow.files.repetition import expand
from groupflow.files.topology import read_form
from groupflow.model.flow import FlowSettings
from groupflow.model.topology import Topology
from groupflow.sim.model import Kind
from papers.icn2011 import paper

FIG5 = TOPOLOGIES / "fig5.yaml"
AGENTS = ("s1", "s2")
SWITCH_OF = {"ma1": "s1", "mb1": "s1", "mc1": "s2", "md1": "s2"}
NANOSECONDS = 10**9
MESSAGE = "/"
"""before the number of a message, in the name of its stream"""
JOIN_NS = 100_000_000
"""time in which the receivers of a group session have joined"""
NARROW_BPS = paper.LINK_BPS // 2
"""rate of the last link before SA2, where there are routers between the agents"""


def scenario(case: paper.Case, *, seconds: float = paper.SECONDS, seed: int = 1) -> sim.Scenario:
    """The scenario of one run of the case."""
    traffic = sim.TcpTraffic(
        case.tcp,
        paper.WINDOW,
        packet=paper.PACKET_BYTES,
        profile="ns2",
        size=paper.MESSAGE_BYTES if case.each_message else None,
        messages=None if case.each_message else _messages(case),
    )
    streams = [(source, *each) for source in case.sources for each in _starts(case, source, seconds, seed)]
    flows = (
        sim.Flow(flow_name(name, member), source, member, traffic, start_ns)
        for source, name, start_ns in streams
        for member in case.receivers(source)
    )
    splits = (
        sim.SplitSession(
            name,
            source,
            case.receivers(source),
            traffic,
            "e2e" if case.method == "e2e" else "n2n",
            start_ns,
            overlay=case.overlay(source) if case.method == "members" else {},
        )
        for source, name, start_ns in streams
    )
    duration_ns = round(seconds * NANOSECONDS)
    made = sim.Scenario(
        name=f"{case.method}-{case.senders}-{case.members}-{case.delay_ms}ms-{case.load}-{seed}",
        topology=topology(case),
        flows=tuple(flows) if case.method == "unicast" else (),
        duration_ns=duration_ns,
        sessions=tuple(session(case, s) for s in case.sources) if case.method == "group" else (),
        splits=() if case.method in ("unicast", "group") else tuple(splits),
        sample_ns=duration_ns,
        seed=seed,
        kinds=_kinds(case),
        agents=dict.fromkeys(AGENTS, sim.AgentOptions(case.agent_pps)),
    )
    return sim.with_diffusion(made, _control(case)) if case.diffusion and made.splits else made


def _messages(case: paper.Case) -> sim.Messages:
    return sim.Messages(paper.MESSAGE_BYTES, case.period_ns)


def _control(case: paper.Case) -> sim.Diffusion:
    """The control of streams from SA1 to SA2; SA1 shapes them to r_0 (eq. 9 of Takano et al.)."""
    return sim.Diffusion(
        d=Fraction(str(case.diffusion)),
        flows=tuple(f"{source}-s1-s2" for source in case.sources if SWITCH_OF[source] == "s1"),
        packet_bytes=paper.FRAME_BYTES,
        host_delay_ns=_link_delay_ns(case),
    )


def _starts(case: paper.Case, source: str, seconds: float, seed: int) -> list[tuple[str, int]]:
    """A sender's streams, by their names, and when each starts (ns): one; or one for each message i, at
    (tr + ti)(x + i), where x is between -0.5 and 0.5."""
    if not case.each_message:
        return [(source, 0)]
    draw = random.Random(f"{seed}/{source}")
    times = (round(case.period_ns * (draw.uniform(-0.5, 0.5) + i)) for i in count(1))
    within = takewhile(lambda at: at < seconds * NANOSECONDS, times)
    return [(f"{source}{MESSAGE}{number}", at) for number, at in enumerate(within)]


def flow_name(stream: str, member: str) -> str:
    """Name of a unicast connection."""
    return f"{stream}-{member}"


def session(case: paper.Case, source: str) -> sim.GroupSession:
    """A sender's group session. If its stream is controlled, the sender shapes to the rate, too."""
    control = None
    if case.diffusion is not None:
        size = paper.FRAME_BYTES
        control = FlowSettings(d=str(case.diffusion), external=True, packet_bytes=size, measure=False)
    id = paper.SENDERS.index(source) + 1
    return sim.GroupSession(
        *(id, source, case.receivers(source)),
        size=0,
        sender_after_ns=JOIN_NS,
        messages=_messages(case),
        control=control,
    )


def _link_delay_ns(case: paper.Case) -> int:
    """Delay of each link between the agents: routers divide the way in equal parts."""
    return case.delay_ms * 10**6 // (case.routers + 1)


def _kinds(case: paper.Case) -> dict[str, Kind]:
    if case.method == "group":
        return {}
    kinds: dict[str, Kind] = dict.fromkeys(AGENTS, "agent" if case.method in paper.SPLIT else "fifo")
    for host in case.buffered:
        kinds[case.entry(host)] = "fifo"
    return kinds


def topology(case: paper.Case) -> Topology:
    """Fig. 5 with a case's members, delay, and output buffers of senders before their links."""
    form = cast(dict[str, Any], expand(yaml.safe_load(FIG5.read_text())))
    members = (f"m{network}{n}" for network in "bcd" for n in range(1, case.members + 1))
    kept = {"ma1", *members, "sa1", "sa2"}
    form["hosts"] = {name: host for name, host in form["hosts"].items() if name in kept}
    links = [link for link in form["links"] if kept | set(AGENTS) >= set(link["ends"])]
    links = [link for link in links if set(link["ends"]) != set(AGENTS)] + _between(case)
    for number in range(1, case.routers + 1):
        form["switches"][f"r{number}"] = {}
    for source in case.buffered:
        buffer = case.entry(source)
        form["switches"][buffer] = {}
        (outer,) = (link for link in links if source in link["ends"])
        outer["ends"] = [buffer if end == source else end for end in outer["ends"]]
        links.append({"ends": [source, buffer], "rate": "unlimited", "delay": 0, "queue": 1_000_000})
    form["links"] = links
    return read_form(form, "fig5")


def _between(case: paper.Case) -> list[dict[str, Any]]:
    """The link between the agents; or, with routers, links of which the last is narrow."""
    nodes = [AGENTS[0], *(f"r{number}" for number in range(1, case.routers + 1)), AGENTS[1]]
    links: list[dict[str, Any]] = [
        {"ends": list(ends), "delay": f"{_link_delay_ns(case)}ns"} for ends in pairwise(nodes)
    ]
    if case.routers:
        links[-1]["rate"] = f"{NARROW_BPS}bit"
    return links

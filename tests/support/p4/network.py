"""One switch with a session on it: ports, addresses and table entries that the P4 tests share.

port 1: the sender, member 1        port 3, 4: receivers, members 3 and 4 (branches 0 and 1)
port 2: the cache agent             port 5:    the next switch (branch 2)

Chips number their ports otherwise: the environment's `PTF_FIRST_PORT=8` makes them 8 to 12.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import finsy as fy
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from groupflow.control.sessions.desired import KEEPALIVES, REQUESTS
from groupflow.p4rt.entries import Rate
from groupflow.switch import Output, Switch
from tests.support.p4.layers import DATA, GROUP_PORT, RESET, Group

CPU_PORT = 510
BUILD = Path(__file__).parents[3] / "p4src" / "build"
JSON = BUILD / "groupflow.json"
P4INFO = BUILD / "groupflow.p4info.txtpb"

SESSION, SOURCE = 7, 1
GROUP_ADDRESS = "239.0.0.7"
FIRST_PORT = int(os.environ.get("PTF_FIRST_PORT", "1"))
UPSTREAM, AGENT, FIRST, SECOND, DOWN = PORTS = range(FIRST_PORT, FIRST_PORT + 5)
ROUTER_MAC = "02:00:00:00:00:01"
DATA_GROUP, ACK_GROUP, REPAIR_GROUP, UPSTREAM_GROUP = 100, 101, 102, 103
INDEX = 9
ALL_BRANCHES = 0xFF

DROP = {
    "none": 0,
    "malformed": 1,
    "checksum": 2,
    "unknown_protocol": 3,
    "not_for_us": 4,
    "ttl": 5,
    "no_route": 6,
    "no_arp": 7,
    "unknown_session": 8,
    "wrong_port": 9,
    "unknown_branch": 10,
    "unknown_type": 11,
    "no_upstream": 12,
    "not_controller": 13,
    "wrong_neighbour": 14,
    "not_generator": 15,
    "unknown_flow": 16,
    "refused": 17,
    "spoofed": 18,
    "not_agent": 19,
    "not_switch": 20,
    "fragment": 21,
    "foreign_group": 22,
    "metered": 23,
    "beyond": 24,
}


def mac(port: int) -> str:
    """The MAC of the host on a port."""
    return f"02:00:0a:00:00:{port:02x}"


def ip(port: int) -> str:
    """The address of the host on a port."""
    return f"10.0.0.{port}"


def stream_entry(active: int = 0b111, **changes: int) -> fy.P4TableEntry:
    """The session's stream; `changes` replaces action parameters."""
    parameters = {
        "index": INDEX,
        "data_group": DATA_GROUP,
        "ack_group": ACK_GROUP,
        "repair_group": REPAIR_GROUP,
        "upstream_group": UPSTREAM_GROUP,
        "upstream_port": UPSTREAM,
        "agent_port": AGENT,
        "active": active,
        "queue": 0,
    } | changes
    return fy.P4TableEntry(
        "streams",
        match=fy.P4TableMatch({"session": SESSION, "source": SOURCE}),
        action=fy.P4TableAction("stream", **parameters),
    )


def branch_entry(branch: int, port: int, member: int) -> fy.P4TableEntry:
    """Acknowledgements of `member` on `port` count for `branch`."""
    return fy.P4TableEntry(
        "branches",
        match=fy.P4TableMatch({"session": SESSION, "source": SOURCE, "ingress_port": port, "member": member}),
        action=fy.P4TableAction("from_branch", branch=branch),
    )


def neighbour_entry(port: int) -> fy.P4TableEntry:
    """The host or switch on a port; its number as a replica is the port's."""
    if port == DOWN:
        action = fy.P4TableAction("to_switch", src=ROUTER_MAC, dst="02:00:00:00:00:02")
    else:
        action = fy.P4TableAction("to_host", src=ROUTER_MAC, dst=mac(port), ip=ip(port), port=30000 + port)
    return fy.P4TableEntry("neighbours", match=fy.P4TableMatch({"instance": port}), action=action)


def group_entry(group: int, *ports: int) -> fy.P4MulticastGroupEntry:
    """A multicast group with a replica for the neighbour on each port."""
    return fy.P4MulticastGroupEntry(group, replicas=[(port, port) for port in ports])


def admit_entry() -> fy.P4TableEntry:
    """Frames to ROUTER_MAC are for the switch."""
    return fy.P4TableEntry(
        "l3_admit", match=fy.P4TableMatch({"dst_mac": ROUTER_MAC}), action=fy.P4TableAction("admit_to_l3")
    )


def route_entry(prefix: str, port: int, dst: str | None = None) -> fy.P4TableEntry:
    """Unicast to the prefix leaves on a port; `dst` is the MAC there, by default its host's."""
    return fy.P4TableEntry(
        "ipv4_route",
        match=fy.P4TableMatch({"ipv4_dst": prefix}),
        action=fy.P4TableAction("route", port=port, src=ROUTER_MAC, dst=dst or mac(port)),
    )


def host_entry(port: int) -> fy.P4TableEntry:
    """The port leads to its host."""
    return _source(port, "host")


def agent_entry(port: int) -> fy.P4TableEntry:
    """The port leads to a switch's agent, which also sends from the addresses of TCP sessions."""
    return _source(port, "agent", sessions="10.200.0.0", mask="255.255.0.0")


def _source(port: int, action: str, **sessions: str) -> fy.P4TableEntry:
    return fy.P4TableEntry(
        "port_sources",
        match=fy.P4TableMatch({"ingress_port": port}),
        action=fy.P4TableAction(action, mac=mac(port), ip=ip(port), **sessions),
    )


def rate_entry(cell: int, rate: Rate) -> fy.P4MeterEntry:
    """The rate of messages to the controller in a cell of the meter."""
    rates = fy.P4MeterConfig(cir=rate.packets, cburst=rate.burst, pir=rate.packets, pburst=rate.burst)
    return fy.P4MeterEntry("punt_meter", index=cell, config=rates)


def guarded(switch: Switch) -> Switch:
    """Installs what the controller says of this file's ports (5 is a switch's), and routes to the hosts."""
    hosts = (UPSTREAM, AGENT, FIRST, SECOND)
    for port in (*hosts, DOWN):
        switch.write([~rate_entry(2 * port, REQUESTS), ~rate_entry(2 * port + 1, KEEPALIVES)])
    switch.write([+(agent_entry(port) if port == AGENT else host_entry(port)) for port in hosts])
    switch.write([+admit_entry(), *(+route_entry(f"{ip(port)}/32", port) for port in hosts)])
    return switch


def new_switch() -> Switch:
    """The program on a switch without entries."""
    return Switch.load(JSON, P4INFO, ports=range(9), priority_queues=8)


def with_session(switch: Switch, active: int = 0b111, **changes: int) -> Switch:
    """Installs the session of this file's heading."""
    switch.write(
        [+neighbour_entry(p) for p in (UPSTREAM, AGENT, FIRST, SECOND, DOWN)]
        + [
            +group_entry(DATA_GROUP, AGENT, FIRST, SECOND, DOWN),
            +group_entry(ACK_GROUP, UPSTREAM, AGENT),
            +group_entry(REPAIR_GROUP, AGENT),
            +group_entry(UPSTREAM_GROUP, UPSTREAM),
            +stream_entry(active, **changes),
            +branch_entry(0, FIRST, FIRST),
            +branch_entry(1, SECOND, SECOND),
            +branch_entry(2, DOWN, 0),
        ]
    )
    return switch


def frame(
    port: int, kind: int = DATA, payload: bytes = b"", *, dst: str = GROUP_ADDRESS, **fields: int
) -> Packet:
    """A group packet of the host on `port`."""
    fields = {"session": SESSION, "source": SOURCE, "member": port} | fields
    return (
        Ether(src=mac(port), dst="01:00:5e:00:00:07")
        / IP(src=ip(port), dst=dst, ttl=64)
        / UDP(sport=GROUP_PORT, dport=GROUP_PORT)
        / Group(type=kind, **fields)
        / Raw(payload)
    )


def reset(switch: Switch, branch: int = ALL_BRANCHES, seq: int = 0) -> list[Output]:
    """The controller's RESET through the pipeline."""
    packet = frame(0, RESET, member=branch, seq=seq)
    switch.packet_out(packet, egress_port=0, inject=1, padding=0)
    return switch.advance(0)


def ports(outputs: list[Output]) -> list[int]:
    """The ports on which frames left."""
    return sorted(output.port for output in outputs)


def only(outputs: list[Output]) -> Packet:
    """The one frame that left, parsed."""
    assert len(outputs) == 1, outputs
    return Ether(outputs[0].frame)


def drops(switch: Switch) -> dict[str, int]:
    """Drop counters that are not 0, by reason."""
    found: dict[str, int] = {}
    for name, index in DROP.items():
        (entry,) = switch.read(fy.P4CounterEntry("drops", index=index))
        if entry.packet_count:
            found[name] = entry.packet_count
    _agrees(switch, sum(found.values()), lambda stats: stats["drops"]["ingress"])
    return found


def absorbed(switch: Switch) -> int:
    """Packets that did their work at the switch, as the program and the switch count them."""
    counters = ("absorbed", "own_repairs")
    counted = sum(switch.read(fy.P4CounterEntry(name, index=0))[0].packet_count for name in counters)
    _agrees(switch, counted, lambda stats: stats["absorbed"])
    return counted


def _agrees(switch: Switch, counted: int, find: Callable[[Any], int]) -> None:
    """The switch counts as its program does. A switch in a process of its own is not asked."""
    if hasattr(switch, "stats"):
        assert find(json.loads(switch.stats())) == counted

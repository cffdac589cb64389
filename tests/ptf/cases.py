"""The form of a case: entries of a switch, and steps, each a frame in and all that comes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import finsy as fy
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from tests.conformance.process_switch import RemoteSwitch
from tests.ptf.profiles import PROFILES
from tests.support.p4 import network
from tests.support.p4.layers import SYNC, Group
from tests.support.p4.network import DOWN, DROP, ROUTER_MAC, ip, mac

Out = tuple[int, Packet | bytes]
"""a frame that leaves, after its port"""


@dataclass(frozen=True)
class Target:
    """A running switch with groupflow's program."""

    profile: str
    switch: RemoteSwitch


@dataclass(frozen=True)
class Frame:
    """A frame into a port; a packet-out with `inject` if the port is `CONTROLLER`."""

    port: int
    packet: Packet | bytes
    out: tuple[Out, ...] = ()
    punted: int = 0
    """the reason of the packet-in that holds the frame as it came; 0: there is none"""
    drop: str = ""
    """the counter that has it"""


@dataclass(frozen=True)
class Write:
    """Updates by P4Runtime between two frames."""

    updates: tuple[Any, ...]


@dataclass(frozen=True)
class Counted:
    """The packets that an entity counts during the frames, and the bytes if they are given."""

    entity: Any
    packets: int
    bytes: int | None = None


Step = Frame | Write | Counted
State = Callable[[RemoteSwitch], None]


@dataclass(frozen=True)
class Case:
    state: State
    """the entries that are there before the first step"""
    steps: tuple[Step, ...]
    needs: str = ""
    """a feature that some targets do not have: `profiles.py`"""


CONTROLLER = -1


def bare(_: RemoteSwitch) -> None:
    """No entries."""


def session(switch: RemoteSwitch) -> None:
    """The session of network.py; 999 packets of its stream were sent, and none is acknowledged."""
    network.with_session(switch)  # type: ignore[arg-type]
    network.reset(switch)  # type: ignore[arg-type]
    switch.run(network.UPSTREAM, network.frame(network.UPSTREAM, SYNC, seq=1000))
    switch.packet_ins.clear()


def guarded(switch: RemoteSwitch) -> None:
    """The session, and what the controller says of the hosts behind the ports."""
    session(switch)
    network.guarded(switch)  # type: ignore[arg-type]


def run(target: Target, case: Case) -> None:
    """Plays a case on an empty switch, and compares whole frames: a difference tells the step's number."""
    if reason := PROFILES[target.profile].get(case.needs):
        pytest.skip(f"{target.profile}: {reason}")
    switch = target.switch
    switch.clear()
    case.state(switch)
    for number, step in enumerate(case.steps, 1):
        match step:
            case Write(updates):
                switch.write(updates)
            case Counted(entity, packets, size):
                (entry,) = switch.read(entity)
                assert entry.packet_count == packets, f"step {number}"
                assert size is None or entry.byte_count == size, f"step {number}"
            case Frame():
                _play_frame(switch, step, f"step {number}")


def _play_frame(switch: RemoteSwitch, step: Frame, where: str) -> None:
    switch.packet_ins.clear()
    before = drops(switch)
    sent = padded(step.packet)
    if step.port == CONTROLLER:
        switch.packet_out(sent, egress_port=0, inject=1, padding=0)
        left = switch.advance(0)
    else:
        left = switch.run(step.port, sent)
    got = sorted((output.port, output.frame.hex()) for output in left)
    assert got == sorted((port, padded(packet).hex()) for port, packet in step.out), where
    told = [(each.metadata["reason"], each.payload) for each in switch.packet_ins]
    assert told == ([(step.punted, sent)] if step.punted else []), where
    if step.punted and step.port != CONTROLLER:
        assert switch.packet_ins[0].metadata["ingress_port"] == step.port, where
    assert drops(switch) - before == ({step.drop: 1} if step.drop else {}), where


def drops(switch: RemoteSwitch) -> Counter[str]:
    """Packets dropped, by reason."""
    names = {index: name for name, index in DROP.items()}
    counted = {each.index: each.packet_count for each in switch.read(fy.P4CounterEntry("drops"))}
    return Counter({names[index]: count for index, count in counted.items() if index in names})


def padded(packet: Packet | bytes) -> bytes:
    """A frame of at least 60 bytes, without its check sequence: a wire carries no shorter ones."""
    return bytes(packet).ljust(60, b"\0")


def fresh(packet: Packet) -> Packet:
    """The packet with the header's checksum computed anew."""
    del packet[IP].chksum
    return Ether(bytes(packet))


def to_host(packet: Packet, port: int) -> Packet:
    """The copy that the host on a port gets."""
    copy = _copied(packet, mac(port))
    copy[IP].dst, copy[UDP].dport = ip(port), 30000 + port
    return fresh(copy)


def to_switch(packet: Packet) -> Packet:
    """The copy that the next switch gets."""
    return fresh(_copied(packet, "02:00:00:00:00:02"))


def copies(packet: Packet, *ports: int) -> tuple[Out, ...]:
    """A copy for the neighbour on each port."""
    return tuple((port, to_switch(packet) if port == DOWN else to_host(packet, port)) for port in ports)


def routed(packet: Packet, port: int) -> Out:
    """The packet one hop further."""
    copy = Ether(bytes(packet))
    copy.src, copy.dst = ROUTER_MAC, mac(port)
    copy[IP].ttl -= 1
    return port, fresh(copy)


def _copied(packet: Packet, dst: str) -> Packet:
    copy = Ether(bytes(packet))
    copy.src, copy.dst = ROUTER_MAC, dst
    copy[IP].ttl -= 1
    copy[UDP].chksum = 0
    return copy


def with_group(packet: Packet, **fields: int) -> Packet:
    """The packet with other values in its group header."""
    changed = Ether(bytes(packet))
    for name, value in fields.items():
        setattr(changed[Group], name, value)
    del changed[Group].checksum
    return changed

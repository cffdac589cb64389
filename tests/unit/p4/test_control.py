"""Signalling with the controller: packet-in, packet-out, and the ports that may use each."""

from __future__ import annotations

import pytest
from scapy.layers.l2 import Ether

from groupflow.switch import Switch, WriteError
from tests.support.p4 import network
from tests.support.p4.diffusion import PROBE, feedback
from tests.support.p4.layers import (
    ACK,
    DATA,
    JOIN,
    KEEPALIVE,
    LEAVE,
    QUERY,
    REPAIR,
    REPLY,
    REPORT,
    RESET,
    Group,
)
from tests.support.p4.network import (
    CPU_PORT,
    DATA_GROUP,
    FIRST,
    REPAIR_GROUP,
    UPSTREAM,
    drops,
    frame,
    group_entry,
    ip,
    ports,
    reset,
    stream_entry,
)


@pytest.mark.parametrize("kind", [JOIN, LEAVE, KEEPALIVE, QUERY, REPORT])
def test_messages_of_hosts_reach_the_controller_with_their_port(bare: Switch, kind: int) -> None:
    sent = frame(FIRST, kind, b"payload", member=0)
    assert bare.run(FIRST, sent) == []
    (packet_in,) = bare.packet_ins
    assert packet_in.metadata == {"ingress_port": FIRST, "reason": 1}
    assert packet_in.payload == bytes(sent)


@pytest.mark.parametrize("kind", [DATA, ACK, REPLY, RESET, 0, 13, 255])
def test_nothing_else_of_a_host_does(switch: Switch, kind: int) -> None:
    switch.run(FIRST, frame(FIRST, kind))
    assert switch.packet_ins == []


def test_a_packet_out_leaves_as_it_is(bare: Switch) -> None:
    packet = b"\x02" * 60
    bare.packet_out(packet, egress_port=3, inject=0, padding=0)
    (output,) = bare.advance(0)
    assert (output.port, output.frame) == (3, packet)


def test_a_packet_out_to_the_controllers_port_comes_back(bare: Switch) -> None:
    packet = b"\x02" * 60
    bare.packet_out(packet, egress_port=CPU_PORT, inject=0, padding=0)
    assert bare.advance(0) == []
    (packet_in,) = bare.packet_ins
    assert packet_in.metadata == {"ingress_port": CPU_PORT, "reason": 4}
    assert packet_in.payload == packet


def test_a_probe_of_the_controllers_is_not_answered(bare: Switch) -> None:
    """An answer would leave by the controller's port without the header of a packet-in."""
    bare.packet_out(feedback(77, flags=PROBE), egress_port=0, inject=1, padding=0)
    assert bare.advance(0) == bare.packet_ins == []
    assert drops(bare) == {"not_switch": 1}


def test_no_agent_is_at_the_controllers_port(bare: Switch) -> None:
    with pytest.raises(WriteError, match="agent_port"):
        bare.write([+stream_entry(agent_port=CPU_PORT, repair_group=REPAIR_GROUP)])
    bare.write([+stream_entry(agent_port=CPU_PORT, repair_group=0)])  # where it means nothing


def test_port_0_is_a_port(bare: Switch) -> None:
    """A packet-out leaves there, and an agent there gets no copy of what it sends itself."""
    bare.packet_out(b"\x02" * 60, egress_port=0, inject=0, padding=0)
    assert ports(bare.advance(0)) == [0]
    network.with_session(bare, agent_port=0, repair_group=REPAIR_GROUP)
    bare.write([~group_entry(DATA_GROUP, 0, FIRST)])
    assert ports(bare.run(0, frame(FIRST, REPAIR, seq=1))) == [FIRST]
    assert ports(bare.run(UPSTREAM, frame(UPSTREAM, DATA, seq=1))) == [0, FIRST]


def test_a_packet_out_needs_its_fields(bare: Switch) -> None:
    with pytest.raises(ValueError, match=r"egress_port|metadata"):
        bare.packet_out(b"x", inject=0, padding=0)
    with pytest.raises(ValueError, match="no field color"):
        bare.packet_out(b"x", egress_port=1, inject=0, padding=0, color=1)


@pytest.mark.parametrize("kind", [RESET, REPLY])
def test_a_host_cannot_play_the_controller(switch: Switch, kind: int) -> None:
    assert switch.run(FIRST, frame(FIRST, kind, member=0xFF, seq=1000)) == []
    assert switch.run(UPSTREAM, frame(UPSTREAM, kind, dst=ip(FIRST))) == []
    assert drops(switch) == {"not_controller": 2}


def test_a_reset_of_an_unknown_stream_is_dropped(bare: Switch) -> None:
    reset(bare)
    assert bare.packet_ins == []
    assert drops(bare) == {"unknown_session": 1}


def test_the_controllers_reset_comes_back(switch: Switch) -> None:
    reset(switch, branch=2, seq=9)
    (packet_in,) = switch.packet_ins
    group = Ether(packet_in.payload)[Group]
    assert (packet_in.metadata["reason"], group.type, group.member, group.seq) == (2, RESET, 2, 9)

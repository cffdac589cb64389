"""The group header for scapy, written from docs/protocol.md: independent of the Rust encoder."""

from __future__ import annotations

import struct

from scapy.fields import ByteField, IntField, ShortField, XShortField
from scapy.layers.inet import UDP
from scapy.packet import Packet, bind_layers
from scapy.utils import checksum

GROUP_PORT = 26470
DATA, REPAIR, ACK, NACK, SYNC, JOIN, LEAVE, KEEPALIVE, REPLY, RESET, QUERY, REPORT = range(1, 13)
FORCED = 0x04


class Group(Packet):
    """The 24-byte group header."""

    name = "Group"
    fields_desc = [  # noqa: RUF012 (scapy's way)
        ByteField("version", 1),
        ByteField("type", DATA),
        ByteField("flags", 0),
        ByteField("poll", 0),
        IntField("session", 0),
        ShortField("source", 0),
        ShortField("member", 0),
        IntField("seq", 0),
        IntField("stamp", 0),
        ShortField("length", None),
        XShortField("checksum", None),
    ]

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        if self.length is None:
            pkt = pkt[:20] + struct.pack("!H", len(pay)) + pkt[22:]
        if self.checksum is None:
            pkt = pkt[:22] + struct.pack("!H", checksum(pkt[:22] + b"\0\0")) + pkt[24:]
        return pkt + pay


bind_layers(UDP, Group, dport=GROUP_PORT)
bind_layers(UDP, Group, sport=GROUP_PORT)

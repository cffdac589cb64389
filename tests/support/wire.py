"""Reads the controller's frames to hosts, byte by byte: a second opinion on the wire format."""

import struct
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

ETHERNET, IPV4, UDP, GROUP = 14, 20, 8, 24
_KINDS = {1: "joined", 2: "refused", 3: "alive", 4: "unknown", 5: "notice", 6: "delegated", 7: "left"}
_CODES = ("", "unknown_session", "wrong_token", "full", "bad_request", "no_source", "expired", "unavailable")
_NOTICES = (
    "",
    "joined",
    "left",
    "lost",
    "deleted",
    "switch_lost",
    "switch_back",
    "agent_lost",
    "agent_back",
    "complete",
)
_FIELDS: dict[str, tuple[str, list[str]]] = {
    "joined": (
        ">HHIQBBHHI",
        ["member", "source", "window", "rate", "mode", "policy", "keepalive_ms", "receivers", "start_seq"],
    ),
    "alive": (">HB", ["receivers", "sources"]),
    "delegated": (
        ">IHBBBIHQQ",
        ["session", "source", "active", "mode", "policy", "window", "branches", "max_bytes", "rate"],
    ),
    "unknown": (">", []),
    "left": (">", []),
}


@dataclass(frozen=True)
class Received:
    """A REPLY as a host sees it."""

    kind: str
    request_id: int
    session: int
    member: int
    """member of the group header"""
    udp_port: int
    eth_dst: str
    ip_dst: str
    values: dict[str, int] = field(default_factory=dict[str, int])
    word: str = ""
    """code of a refusal, or kind of a notice"""
    text: str = ""
    shares: dict[tuple[str, int], tuple[int, int]] = field(
        default_factory=dict[tuple[str, int], tuple[int, int]]
    )
    """rate and bytes of a DELEGATED's shares, by address and port"""

    def __getitem__(self, name: str) -> int:
        return self.values[name]


def read_reply(frame: bytes) -> Received:
    ip, group = frame[ETHERNET:], frame[ETHERNET + IPV4 + UDP :]
    assert group[1] == 9, "not a REPLY"
    payload = group[GROUP:]
    kind = _KINDS[payload[0]]
    common: dict[str, Any] = {
        "kind": kind,
        "request_id": int.from_bytes(payload[1:5], "big"),
        "session": int.from_bytes(group[4:8], "big"),
        "member": int.from_bytes(group[10:12], "big"),
        "udp_port": int.from_bytes(ip[IPV4 + 2 : IPV4 + 4], "big"),
        "eth_dst": frame[:6].hex(":"),
        "ip_dst": ".".join(map(str, ip[16:20])),
    }
    body = payload[5:]
    if kind == "refused":
        return Received(**common, word=_CODES[body[0]], text=body[2 : 2 + body[1]].decode())
    if kind == "notice":
        about, length = int.from_bytes(body[1:3], "big"), body[3]
        receivers = int.from_bytes(body[4 + length : 6 + length], "big")
        rate = int.from_bytes(body[6 + length : 14 + length], "big")
        values = {"about": about, "receivers": receivers, "rate": rate}
        return Received(**common, values=values, word=_NOTICES[body[0]], text=body[4 : 4 + length].decode())
    layout, names = _FIELDS[kind]
    rest = struct.calcsize(layout)
    shares = {
        (str(IPv4Address(ip)), port): (rate, most)
        for ip, port, rate, most in struct.iter_unpack(">IHQI", body[rest:])
    }
    values = dict(zip(names, struct.unpack(layout, body[:rest]), strict=True))
    return Received(**common, values=values, shares=shares)

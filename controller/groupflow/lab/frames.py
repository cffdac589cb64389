"""Frames with group packets of hosts, from docs/reference/protocol.md: independent of the Rust encoder."""

import struct
from ipaddress import IPv4Address

GROUP_PORT = 26470
_TYPES = {"join": 6, "leave": 7, "keepalive": 8, "query": 11, "report": 12}
_ROLES = {"sender": 1, "receiver": 2, "cache": 3, "listener": 4}
_STARTS = {"now": 0, "start": 1, "resume": 2}
_REASONS = {"done": 0, "aborted": 1}
_REPORTS = {"slow": 1, "caught_up": 2, "complete": 3, "cache_full": 4, "cache_room": 5}


def _checksummed(header: bytes, at: int) -> bytes:
    """The header with the Internet checksum (RFC 1071) in the two bytes at `at`, which are zero."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    total = ~(total + (total >> 16)) & 0xFFFF
    return header[:at] + total.to_bytes(2, "big") + header[at + 2 :]


def group_frame(
    kind: int,
    *,
    eth: tuple[str, str],
    ip: tuple[str, str],
    udp: tuple[int, int],
    session: int,
    source: int = 0,
    member: int = 0,
    seq: int = 0,
    payload: bytes = b"",
) -> bytes:
    """A group packet in a frame; each pair is source and destination."""
    group = struct.pack(">BBBBIHHIIHH", 1, kind, 0, 0, session, source, member, seq, 0, len(payload), 0)
    group = _checksummed(group, 22) + payload
    length = 8 + len(group)
    addresses = b"".join(IPv4Address(address).packed for address in ip)
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, 17, 0) + addresses
    macs = b"".join(bytes.fromhex(mac.replace(":", "")) for mac in reversed(eth))
    return macs + b"\x08\0" + _checksummed(header, 10) + struct.pack(">HHHH", *udp, length, 0) + group


def request_frame(
    type_: str,
    *,
    eth_src: str,
    ip_src: str,
    udp_src: int,
    session: int,
    source: int = 0,
    member: int = 0,
    seq: int = 0,
    request_id: int = 1,
    **fields: str | int,
) -> bytes:
    """A host's request in a frame. `fields` are those of `Control` that belong to the type."""

    def code(name: str, codes: dict[str, int], default: str) -> int:
        return codes[str(fields.pop(name, default))]

    def number(name: str) -> int:
        return int(fields.pop(name, 0))

    def text(name: str) -> bytes:
        encoded = str(fields.pop(name, "")).encode()
        return bytes([len(encoded)]) + encoded

    match type_:
        case "join":
            role = code("role", _ROLES, "receiver")
            payload = struct.pack(">BBI", role, code("start", _STARTS, "now"), request_id)
            payload += text("name") + text("token")
            payload += struct.pack(">H", number("port")) if role == _ROLES["listener"] else b""
            payload += struct.pack(">Q", number("target")) if "target" in fields else b""
        case "leave":
            payload = struct.pack(">IB", request_id, code("reason", _REASONS, "done"))
        case "keepalive":
            payload = struct.pack(">III", request_id, number("next"), number("repairs"))
        case "report":
            kind = code("kind", _REPORTS, "complete")
            payload = struct.pack(">BHII", kind, number("about"), number("value"), request_id)
        case _:
            payload = struct.pack(">I", request_id)
    assert not fields, f"a {type_} has no {', '.join(fields)}"
    return group_frame(
        _TYPES[type_],
        eth=(eth_src, "01:00:5e:00:00:00"),
        ip=(ip_src, str(IPv4Address(0xEF000000 | session & 0xFFFFFF))),
        udp=(udp_src, GROUP_PORT),
        session=session,
        source=source,
        member=member,
        seq=seq,
        payload=payload,
    )

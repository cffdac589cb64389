"""The kinds of packets for which p4testgen runs, and what is assumed of each.

p4testgen's search finds few packets that pass all checks; with the assumptions of a kind it finds those.
"""

from __future__ import annotations

from collections.abc import Mapping

Kind = Mapping[str, str]
"""by a state of the parser, what is assumed of the headers that it has extracted; by `action NAME`, of that
action's parameters"""


def ipv4(more: str, **states: str) -> Kind:
    """Whole IPv4 packets."""
    whole = "hdr.ipv4.version == 4 && hdr.ipv4.ihl == 5 && hdr.ipv4.ttl > 1 && hdr.ipv4.total_length >= 20"
    ethernet = "hdr.ethernet.ethertype == 0x800"
    return {
        "parse_ethernet": ethernet,
        "parse_ipv4": f"{whole} && hdr.ipv4.total_length <= 106 && {more}",
        **states,
    }


def group(more: str, *, to: str = "== 239") -> Kind:
    """Whole packets of a session; `to`: the destination's first byte."""
    udp = "hdr.ipv4.protocol == 17 && hdr.ipv4.flags == 0 && hdr.ipv4.fragment_offset == 0"
    lengths = "hdr.ipv4.total_length == hdr.udp.length + 20 && hdr.udp.length == hdr.group.length + 32"
    session = "hdr.group.version == 1 && hdr.ipv4.dst[23:0] == hdr.group.session[23:0]"
    ends = f"{lengths} && {session} && {more}"
    return {
        **ipv4(f"{udp} && hdr.ipv4.dst[31:24] {to}"),
        "parse_udp": "hdr.udp.dst_port == 26470",
        "parse_group": ends,
    }


def ethernet(ethertype: str, **states: str) -> Kind:
    return {"parse_ethernet": f"hdr.ethernet.ethertype == {ethertype}", **states}


DEEP = {f"action {name}": "false" for name in ("host", "agent", "unknown_session", "unknown_branch")}
"""what ends no path early: nothing is known of the port, and all of the stream"""


def ack(more: str, stream: str) -> Kind:
    """Acknowledgements that pass a second time."""
    kind = group(f"hdr.group.type == 3 && standard_metadata.ingress_port != 510 && {more}")
    return {**DEEP, **kind, "action stream": f"repair_group == 0 && {stream}"}


KINDS: dict[str, Kind] = {
    "any": {},
    "ipv4": ethernet("0x0800"),
    "ttl": ethernet("0x0800", parse_ipv4="hdr.ipv4.version == 4 && hdr.ipv4.ihl == 5 && hdr.ipv4.ttl == 1"),
    "options": ethernet("0x0800", parse_ipv4="hdr.ipv4.version == 4 && hdr.ipv4.ihl == 7"),
    **{f"group{kind}": group(f"hdr.group.type == {kind}") for kind in (1, 2, 3, 4, 5, 6, 8, 9, 10, 13)},
    "ack-alone": {**ack("hdr.group.seq > 0", "active == 1 && ack_group != 0"),
                  "action from_branch": "branch == 0"},
    "behind": group("hdr.group.type == 3 && hdr.group.seq > 0x7fffffff"),
    "beyond": group("hdr.group.type == 3 && hdr.group.seq > 1 && hdr.group.seq < 0x7fffffff"),
    "request": group("hdr.group.type == 4 && standard_metadata.ingress_port == 3"),
    "group-fragment": ipv4("hdr.ipv4.protocol == 17 && hdr.ipv4.flags == 1 && hdr.ipv4.fragment_offset == 0",
                           parse_udp="hdr.udp.dst_port == 26470"),
    "reset": {**group("hdr.group.type == 10"), "parse_packet_out": "hdr.packet_out.inject == 1"},
    "word": group("(hdr.group.type == 2 || hdr.group.type == 5)", to="!= 239"),
    "tcp": ipv4("hdr.ipv4.protocol == 6 && hdr.ipv4.flags == 0 && hdr.ipv4.fragment_offset == 0"),
    "tcp-fragment": ipv4("hdr.ipv4.protocol == 6 && hdr.ipv4.flags == 1 && hdr.ipv4.fragment_offset == 0"),
    "from-agent": {**group("hdr.group.type == 2", to="!= 239"),
                   "parse_udp": "hdr.udp.src_port == 26470 && hdr.udp.dst_port != 26470"},
    "udp": ipv4("hdr.ipv4.protocol == 17 && hdr.ipv4.flags == 0 && hdr.ipv4.fragment_offset == 0",
                parse_udp="hdr.udp.dst_port != 26470 && hdr.udp.src_port != 26470"),
    "icmp": ipv4("hdr.ipv4.protocol == 1"),
    "fragment": ipv4("hdr.ipv4.protocol == 17 && (hdr.ipv4.flags ++ hdr.ipv4.fragment_offset) != 0"),
    "arp": ethernet("0x0806", parse_arp="hdr.arp.hardware_type == 1 && hdr.arp.protocol_type == 0x800"),
    "foreign": ipv4("hdr.ipv4.protocol == 17 && hdr.ipv4.flags == 0 && hdr.ipv4.fragment_offset == 0",
                    parse_udp="hdr.udp.dst_port != 26470 && hdr.udp.src_port != 26470 && hdr.udp.length > 31",
                    parse_foreign="hdr.foreign.session[31:24] == 0"),
    "feedback": ethernet("0x88b5"),
    "probe": ethernet("0x88b5", parse_probe="hdr.probe.number > 0"),
    "probe-switch": {**ethernet("0x88b5 && standard_metadata.ingress_port == 3"), "action host": "false",
                     "action agent": "false", "parse_probe": "hdr.probe.number > 0"},
    "tick": ethernet("0x88b6", parse_tick="hdr.tick.flow < 4096"),
    "tick-unknown": ethernet("0x88b6", parse_tick="hdr.tick.flow >= 4096"),
    "tick-host": ethernet("0x88b6 && standard_metadata.ingress_port == 3"),
    "packet-out": {"parse_packet_out": "hdr.packet_out.inject == 0"},
}  # fmt: skip

WHOLE = ("any", "ipv4", "ttl", "group1", "group8", "request", "group-fragment", "tcp", "from-agent", "udp",
         "fragment", "arp", "foreign", "probe", "packet-out", "ack-alone")  # fmt: skip
TOFINO: dict[str, Kind] = {
    **{name: KINDS[name] for name in WHOLE},
    "ack-top": ack("hdr.group.seq > 0", "active == 2 && ack_group == 0"),
    "ack-poll": ack("hdr.group.flags != 0 && hdr.group.poll != 0", "active != 0 && ack_group != 0"),
    "ack-reset": {**DEEP, **group("hdr.group.type == 10"), "parse_packet_out": "hdr.packet_out.inject == 1"},
    "data": {**DEEP, **group("hdr.group.type == 1"), "action stream": "data_group != 0"},
    "repair": {**DEEP, **group("hdr.group.type == 2"), "action stream": "data_group != 0"},
}  # fmt: skip
"""The search goes through both passes of a chip, and takes longer; so there are fewer."""
TOFINO2: dict[str, Kind] = {
    **{name: kind for name, kind in TOFINO.items() if name not in {"any", "ttl"}},
    **{name: KINDS[name] for name in ("feedback", "tick", "tick-host")},
    "tick-sent": {**KINDS["tick"], "action unknown_flow": "false", "action report": "send == 1"},
    "tick-slowest": {**KINDS["tick"], "action unknown_flow": "false", "action report": "combine == 1"},
    "tick-fastest": {**KINDS["tick"], "action unknown_flow": "false", "action report": "combine == 2"},
    "heard": {
        **KINDS["feedback"],
        "action wrong_neighbour": "false",
        "action host": "false",
        "parse_feedback": "standard_metadata.ingress_port != 510",
    },
}
OF = {"tofino": TOFINO, "tofino2": TOFINO2}
"""by a target, its kinds; else KINDS"""

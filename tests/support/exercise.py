"""A small exercise in the form of p4lang/tutorials: a topology, a P4 program as p4c makes it, its entries."""

import json
from pathlib import Path
from typing import Any

_WIRE = Path(__file__).parents[2] / "dataplane/switch/tests/programs/wire.json"
"""what p4c makes of the smallest program: all else of its form is kept"""

P4INFO = """
pkg_info { arch: "v1model" }
tables {
  preamble { id: 37375156 name: "MyIngress.ipv4_lpm" alias: "ipv4_lpm" }
  match_fields { id: 1 name: "hdr.ipv4.dstAddr" bitwidth: 32 match_type: LPM }
  action_refs { id: 28792405 }
  action_refs { id: 25652968 }
  size: 1024
}
actions {
  preamble { id: 25652968 name: "MyIngress.drop" alias: "drop" }
}
actions {
  preamble { id: 28792405 name: "MyIngress.ipv4_forward" alias: "ipv4_forward" }
  params { id: 1 name: "dstAddr" bitwidth: 48 }
  params { id: 2 name: "port" bitwidth: 9 }
}
"""
P4 = """
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dstAddr; bit<48> srcAddr; bit<16> etherType; }
header ipv4_t { bit<64> before; bit<8> ttl; bit<56> between; bit<32> dstAddr; }
struct metadata {}
struct headers { ethernet_t ethernet; ipv4_t ipv4; }
parser MyParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        transition accept;
    }
}
control Nothing(inout headers hdr, inout metadata meta) { apply {} }
control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }
    action ipv4_forward(bit<48> dstAddr, bit<9> port) {
        standard.egress_spec = port;
        hdr.ethernet.dstAddr = dstAddr;
    }
    table ipv4_lpm {
        key = { hdr.ipv4.dstAddr: lpm; }
        actions = { ipv4_forward; drop; }
        size = 1024;
        default_action = drop();
    }
    apply { if (hdr.ipv4.isValid()) { ipv4_lpm.apply(); } }
}
control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) { apply {} }
control MyDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}
V1Switch(MyParser(), Nothing(), MyIngress(), MyEgress(), Nothing(), MyDeparser()) main;
"""
"""a program of this P4Info"""
TOPOLOGY: dict[str, Any] = {
    "hosts": {
        f"h{n}": {
            "ip": f"10.0.{n}.{n}/24",
            "mac": f"08:00:00:00:0{n}:{n}{n}",
            "commands": [
                f"route add default gw 10.0.{n}.{n}0 dev eth0",
                f"arp -i eth0 -s 10.0.{n}.{n}0 08:00:00:00:0{n}:00",
            ],
        }
        for n in (1, 2, 3)
    },
    "switches": {f"s{n}": {"runtime_json": f"topo/s{n}-runtime.json"} for n in (1, 2)},
    "links": [["h1", "s1-p1"], ["h2", "s1-p2"], ["s1-p3", "s2-p2", "1ms", 50], ["h3", "s2-p1"]],
}
PORTS = {"s1": {1: 1, 2: 2, 3: 3}, "s2": {1: 2, 2: 2, 3: 1}}
"""of each switch, the port towards each host"""


def write(folder: Path) -> Path:
    """Writes the exercise. Returns the path of its topology."""
    (folder / "build").mkdir()
    (folder / "topo").mkdir()
    (folder / "build/basic.json").write_text(json.dumps(program()))
    (folder / "build/basic.p4.p4info.txtpb").write_text(P4INFO)
    topology = folder / "topo/topology.json"
    topology.write_text(json.dumps(TOPOLOGY))
    for switch, ports in PORTS.items():
        (folder / f"topo/{switch}-runtime.json").write_text(json.dumps(runtime(ports)))
    return topology


def runtime(ports: dict[int, int]) -> dict[str, Any]:
    table: dict[str, Any] = {"table": "MyIngress.ipv4_lpm"}
    drop: dict[str, Any] = {"default_action": True, "action_name": "MyIngress.drop", "action_params": {}}
    entries = [
        table
        | {
            "match": {"hdr.ipv4.dstAddr": [f"10.0.{host}.{host}", 32]},
            "action_name": "MyIngress.ipv4_forward",
            "action_params": {"dstAddr": f"08:00:00:00:0{host}:{host}{host}", "port": port},
        }
        for host, port in ports.items()
    ]
    return {
        "target": "bmv2",
        "p4info": "build/basic.p4.p4info.txtpb",
        "table_entries": [table | drop, *entries],
    }


def program() -> dict[str, Any]:
    """Forwards IPv4 by longest prefix."""
    form: dict[str, Any] = json.loads(_WIRE.read_text())
    fields = [["first", 64, False], ["second", 64, False], ["dstAddr", 32, False]]
    form["header_types"].append({"name": "ipv4_t", "id": 3, "fields": fields})
    header = {"name": "ipv4", "id": 3, "header_type": "ipv4_t", "metadata": False, "pi_omit": True}
    form["headers"].append(header)
    (start,) = form["parsers"][0]["parse_states"]
    extract = {"parameters": [{"type": "regular", "value": "ipv4"}], "op": "extract"}
    ipv4 = {"name": "ipv4", "id": 1, "parser_ops": [extract], "transition_key": []}
    form["parsers"][0]["parse_states"].append(ipv4 | {"transitions": start["transitions"]})
    start["transition_key"] = [{"type": "field", "value": ["ethernet", "ethertype"]}]
    start["transitions"] = [
        {"type": "hexstr", "value": "0x0800", "mask": None, "next_state": "ipv4"},
        *start["transitions"],
    ]
    form["deparsers"][0]["order"] = ["ethernet", "ipv4"]
    egress_spec = {"type": "field", "value": ["standard_metadata", "egress_spec"]}
    destination = {"type": "field", "value": ["ethernet", "dst"]}
    given = [{"type": "runtime_data", "value": place} for place in (0, 1)]
    metadata = {"type": "header", "value": "standard_metadata"}
    drop = {"op": "mark_to_drop", "parameters": [metadata]}
    form["actions"] = [
        {"name": "MyIngress.drop", "id": 0, "runtime_data": [], "primitives": [drop]},
        {
            "name": "MyIngress.ipv4_forward",
            "id": 1,
            "runtime_data": [{"name": "dstAddr", "bitwidth": 48}, {"name": "port", "bitwidth": 9}],
            "primitives": [
                {"op": "assign", "parameters": [destination, given[0]]},
                {"op": "assign", "parameters": [egress_spec, given[1]]},
            ],
        },
    ]
    (table,) = form["pipelines"][0]["tables"]
    name = form["pipelines"][0]["init_table"] = "MyIngress.ipv4_lpm"
    key = {"match_type": "lpm", "name": "hdr.ipv4.dstAddr", "target": ["ipv4", "dstAddr"], "mask": None}
    actions = ["MyIngress.ipv4_forward", "MyIngress.drop"]
    table |= {"name": name, "key": [key], "match_type": "lpm", "action_ids": [1, 0], "actions": actions}
    table["next_tables"] = dict.fromkeys(actions)
    table["default_entry"] |= {"action_const": False, "action_entry_const": False}
    return form

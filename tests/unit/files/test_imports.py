"""Topologies of p4lang/tutorials, p4-utils and the Topology Zoo are read as ours."""

import json
from pathlib import Path
from typing import Any

import pytest

from groupflow.files import variants
from groupflow.files.topology import load, parse
from groupflow.model.topology import Topology, TopologyError

POD: dict[str, Any] = {
    "hosts": {
        "h1": {
            "ip": "10.0.1.1/24",
            "mac": "08:00:00:00:01:01",
            "commands": [
                "route add default gw 10.0.1.10 dev eth0",
                "arp -i eth0 -s 10.0.1.10 08:00:00:00:01:00",
                "ip link set eth0 mtu 1400",
            ],
        },
        "h2": {"ip": "10.0.2.2/31", "mac": "08:00:00:00:02:02"},
    },
    "switches": {"s2": {}, "s1": {"runtime_json": "pod/s1-runtime.json"}},
    "links": [["h1", "s1-p2"], ["s1-p1", "s2-p3", "5ms", 10], ["s2-p1", "h2"]],
}
P4APP: dict[str, Any] = {
    "p4_src": "l2.p4",
    "pcap_dump": True,
    "topology": {
        "default": {"bw": 10},
        "links": [["h1", "s1", {"delay": "20ms", "queue_length": 70, "loss": 2}], ["h2", "s1", {"delay": 3}]],
        "hosts": {"h1": {}, "h2": {}},
        "switches": {"s1": {"cli_input": "s1-commands.txt"}},
    },
}
GRAPH: dict[str, Any] = {
    "nodes": [
        {"id": "h1", "isHost": True, "defaultRoute": "via 10.1.1.2"},
        {"id": "s1", "isSwitch": True, "isP4Switch": True, "p4_src": "r.p4"},
        {"id": "h2", "isHost": True},
    ],
    "links": [
        {"source": "h1", "target": "s1", "port1": 0, "port2": 2, "ip1": "10.1.1.1/30"},
        {"source": "s1", "target": "h2", "node1": "h2", "node2": "s1", "port2": 1, "ip1": "10.1.2.1/30"},
    ],
}  # fmt: skip
ZOO = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d35" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d32" />
  <key attr.name="label" attr.type="string" for="node" id="d33" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d27" />
  <graph edgedefault="undirected">
    <node id="0">
      <data key="d33">New York</data><data key="d27">40.71</data><data key="d32">-74.0</data></node>
    <node id="1">
      <data key="d33">San Jose</data><data key="d27">37.34</data><data key="d32">-121.9</data></node>
    <node id="2"><data key="d33">?</data></node>
    <node id="3"><data key="d33">New York</data></node>
    <edge source="0" target="1"><data key="d35">20000000.0</data></edge>
    <edge source="1" target="2" />
    <edge source="2" target="2" />
  </graph>
</graphml>
"""


def read(folder: Path, name: str, content: object) -> Topology:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return load(file)


def test_an_exercise_keeps_its_ports_addresses_and_entries(tmp_path: Path) -> None:
    (tmp_path / "pod").mkdir()
    (tmp_path / "pod/s1-runtime.json").touch()
    topology = read(tmp_path / "pod", "topology.json", POD)
    s1, s2 = topology.switches["s1"], topology.switches["s2"]
    assert (s1.device_id, s1.grpc, s2.device_id, s2.grpc) == (0, "127.0.0.1:50051", 1, "127.0.0.1:50052")
    assert {port: end.node for port, end in s1.ports.items()} == {1: "s2", 2: "h1"}
    assert s1.entries == tmp_path / "pod/s1-runtime.json", "beside the topology's folder, where exercises run"
    h1 = topology.hosts["h1"]
    assert (h1.mac, str(h1.gateway), h1.gateway_mac) == (
        "08:00:00:00:01:01",
        "10.0.1.10",
        "08:00:00:00:01:00",
    )
    assert h1.commands == ("ip link set h1-eth0 mtu 1400",)
    trunk = topology.link_between("s1", "s2").spec
    assert (trunk.rate, trunk.delay_ns) == (10_000_000, 5_000_000)
    assert all(topology.is_foreign(host) for host in topology.hosts.values())
    assert parse(variants.render(topology)) == topology


def test_a_p4app_and_what_p4_utils_writes(tmp_path: Path) -> None:
    topology = read(tmp_path, "p4app.json", P4APP)
    specs = [link.spec for link in topology.links]
    assert [(spec.rate, spec.delay_ns, spec.loss, spec.queue) for spec in specs] == [
        (10_000_000, 20_000_000, 20_000_000, 70),
        (10_000_000, 3_000_000, 0, 200),
    ]
    assert topology.pcap == {"s1"} and topology.switches["s1"].program == tmp_path / "l2.p4"
    written = read(tmp_path, "topology.json", GRAPH)
    assert {port: end.node for port, end in written.switches["s1"].ports.items()} == {2: "h1", 1: "h2"}
    assert [f"{host.ip}/{host.prefix} via {host.gateway}" for host in written.hosts.values()] == [
        "10.1.1.1/30 via 10.1.1.2",
        "10.1.2.1/30 via 10.1.2.2",
    ]


def test_a_graph_of_the_zoo_gets_rates_delays_and_hosts(tmp_path: Path) -> None:
    topology = read(tmp_path, "Small.graphml", ZOO)
    assert [*topology.switches] == ["newyork", "sanjose", "s3", "newyork2"]
    first, second = topology.links[:2]
    assert first.spec.rate == 20_000_000
    assert 20e6 < first.spec.delay_ns < 21e6, "4,100 km at 200 km/ms"
    assert (second.spec.rate, second.spec.delay_ns) == (100_000_000, 10_000_000), "the form's defaults"
    assert len(topology.links) == 2 + 4, "no loop; a host a node"
    assert topology.hosts["h4"].switch == "newyork2"


BAD: list[tuple[str, object, str]] = [
    ("a.json", "{", "a.json: text: not JSON"),
    ("a.json", "[]", "a.json: text: not an object"),
    ("a.json", {"nodes": []}, "a.json: text: missing 'links'"),
    ("a.json", {"hosts": {}}, "a.json: text: missing 'switches'; known are hosts, switches and links"),
    ("a.json", POD | {"links": [["h1", "s9-p1"]]}, "links[0].ends: no host or switch 's9'"),
    ("a.json", POD | {"links": [["h1"]]}, "a.json: text: not as expected: not enough values"),
    ("a.json", POD | {"switches": {"S_1": {}}}, "switches.S_1: bad name"),
    ("a.json", P4APP | {"topology": P4APP["topology"] | {"hosts": 3}}, "a.json: text: not as expected"),
    ("a.graphml", "<graphml>", "a.graphml: text: not XML"),
    ("a.graphml", "<graphml/>", "a.graphml: text: no graph with nodes in it"),
    ("a.graphml", ZOO.replace('target="1"', 'target="7"'), "a.graphml: edge: no node '7'"),
    ("a.graphml", ZOO.replace("20000000.0", "fast"), "a.graphml: edge: LinkSpeedRaw, Latitude"),
]


@pytest.mark.parametrize(("name", "content", "error"), BAD)
def test_a_bad_file_is_one_line(tmp_path: Path, name: str, content: object, error: str) -> None:
    with pytest.raises(TopologyError) as refused:
        read(tmp_path, name, content)
    assert error in str(refused.value)
    assert "\n" not in str(refused.value)

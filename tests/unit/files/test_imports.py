"""Topologies of p4lang/tutorials, p4-utils and the Topology Zoo are read as ours."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from groupflow.files import imports, variants
from groupflow.files.topology import load, parse
from groupflow.model.topology import Topology, TopologyError
from tests.support.waiting import wait_until

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


def warned(recwarn: pytest.WarningsRecorder) -> list[str]:
    """The warnings so far, without the file's name."""
    return [str(recwarn.pop().message).partition(": ")[2] for _ in range(len(recwarn))]


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


def test_strategies_give_addresses_macs_and_gateways_of_p4_utils(tmp_path: Path) -> None:
    inner: dict[str, Any] = {
        "links": [["h1", "s1"], ["s2", "web"], ["h3", "s2"], ["s1", "s2"]],
        "hosts": {"h1": {}, "h3": {}, "web": {}},
        "switches": {"s2": {}, "s1": {"cpu_port": True}},
    }
    found = {
        strategy: read(tmp_path, "p4app.json", {"topology": inner | {"assignment_strategy": strategy}})
        for strategy in ("l2", "mixed", "l3")
    }
    addresses = {key: [str(host.address) for host in of.hosts.values()] for key, of in found.items()}
    assert addresses == {
        "l2": ["10.0.0.1/16", "10.0.0.3/16", "10.0.0.2/16"],
        "mixed": ["10.0.1.1/24", "10.0.2.3/24", "10.0.2.1/24"],
        "l3": ["10.1.1.2/24", "10.2.3.2/24", "10.2.1.2/24"],
    }
    h3 = found["l3"].hosts["h3"]
    assert (h3.mac, str(h3.gateway), h3.gateway_mac, h3.commands) == (
        "00:00:0a:02:03:02",
        "10.2.3.1",
        "00:01:0a:02:03:02",
        (),
    )
    web = found["mixed"].hosts["web"]
    assert web.commands == ("ip neigh replace 10.0.2.3 lladdr 00:00:0a:00:02:03 dev web-eth0",)
    ports = found["l3"].switches["s1"].ports
    assert {port: end.node for port, end in ports.items()} == {1: "h1", 2: "s2"}, "the CPU port is the third"
    assert [switch.device_id for switch in found["l2"].switches.values()] == [1, 2]
    assert found["l2"].switches["s1"].grpc == "127.0.0.1:9559"


def test_addresses_of_links_are_taken_and_other_keys_named(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    inner = {
        "links": [["h1", "s1", {"sw_ip2": "10.0.9.1/24", "params1": {"ip": "10.0.9.7/24"}, "weight": 3}]],
        "hosts": {"h1": {"defaultRoute": "via 10.0.9.1"}},
        "switches": {"s1": {"cli_input": "s1.txt", "cpu_port": "510"}, "s2": {"cli_input": "s2.txt"}},
        "default": {"auto_arp_tables": False, "jitter": 3},
    }
    topology = read(tmp_path, "p4app.json", {"topology": inner, "cli": True, "enable_log": True})
    h1 = topology.hosts["h1"]
    assert (str(h1.address), str(h1.gateway)) == ("10.0.9.7/24", "10.0.9.1")
    assert (h1.mac, h1.gateway_mac) == ("00:00:0a:00:09:07", "00:01:0a:00:09:07")
    assert warned(recwarn) == [
        "cli: not taken; a prompt is `net up --cli`",
        "default.jitter: not taken",
        "links[0].weight: not taken",
    ]


SCRIPT = """
from p4utils.mininetlib.network_API import *
from mininet.link import TCLink
from p4utils.utils.compiler import *

class Mine(NetworkAPI):
    pass

print("some words")
net = Mine()
net.setLogLevel('info')
net.execScript('python controller.py', reboot=True)
net.addP4Switch('s1', cli_input='s1-commands.txt')
net.addP4RuntimeSwitch('s2')
net.setP4SourceAll('l3.p4')
for name in ('h1', 'h2', 'h3'):
    net.addHost(name=name)
net.addLink(node1='h1', node2='s1', port2=7)
net.addLink('s2', 'h2', bw=0.5)
net.addLink('s1', 's2')
net.addLink('h3', 's2')
net.setDelay('s2', 's1', delay=20, key=0)
net.setLoss('s1', 's2', 0.25)
net.setMaxQueueSize('h1', 's1', 50)
net.l3()
net.setIntfMac('h2', 's2', '000000000202')
net.setIntfIp('h1', 's1', '10.9.1.2/24')
net.setIntfIp('s1', 'h1', '10.9.1.1/24')
net.setDefaultRoute('h1', '10.9.1.1')
net.enablePcapDump('s2', pcap_dir='there')
net.enableCli()
net.startNetwork()
raise SystemExit('never here')
"""


def test_a_network_py_runs_up_to_its_start(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    topology = read(tmp_path, "network.py", SCRIPT)
    assert [str(host.address) for host in topology.hosts.values()] == [
        "10.9.1.2/24",
        "10.2.2.2/24",
        "10.2.3.2/24",
    ]
    h1, h2, _ = topology.hosts.values()
    assert (h1.mac, h1.gateway_mac) == ("00:00:0a:01:01:02", "00:01:0a:01:01:02"), "of the strategy"
    assert (h1.port, str(h1.gateway), h2.mac) == (7, "10.9.1.1", "00:00:00:00:02:02")
    trunk, slow = topology.link_between("s1", "s2").spec, topology.link_between("s2", "h2").spec
    assert (trunk.delay_ns, trunk.loss, slow.rate) == (20_000_000, 250_000_000, 500_000)
    assert topology.link_between("h1", "s1").spec.queue == 50
    assert topology.switches["s1"].entries == tmp_path / "s1-commands.txt"
    assert topology.pcap == {"s2"} and topology.switches["s2"].program == tmp_path / "l3.p4"
    assert [line.split(":")[0] for line in warned(recwarn)] == ["exec_scripts", "cli"]


def test_names_are_mapped_alike_in_all_formats(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    links = [["H_1", "leaf-1-p3"], ["leaf-1-p1", "SW.1-p1"], ["2", "SW.1-p2"]]
    names = {"H_1": {"ip": "10.0.1.1/24"}, "2": {"ip": "10.0.2.1/24"}}
    topology = read(
        tmp_path, "a.json", {"hosts": names, "switches": {"SW.1": {}, "leaf-1": {}}, "links": links}
    )
    assert [*topology.switches] == ["sw1", "leaf1"] and [*topology.hosts] == ["h2", "h1"]
    assert topology.host_at("leaf1", 3) == topology.hosts["h1"]
    assert warned(recwarn) == ["names: SW.1 is sw1, leaf-1 is leaf1, 2 is h2, H_1 is h1"]
    text = "switches: {SW_1: {agent: Cache}, sw1: , Aggregation-Switch-12: }\n"
    text += "hosts: [Cache, Zürich]\npcap: [SW_1]\n"
    text += "links: [[Cache, SW_1-p4], [SW_1, sw1], {ends: [Zürich, Aggregation-Switch-12]}]\n"
    written = parse(text)
    assert [*written.switches, *written.hosts] == ["sw1x2", "sw1", "aggregat12", "cache", "zurich"]
    assert written.agent_port("sw1x2") == 4 and written.pcap == {"sw1x2"}
    read(tmp_path, "Small.graphml", ZOO)
    assert warned(recwarn) == [
        "names: SW_1 is sw1x2, Aggregation-Switch-12 is aggregat12, Cache is cache, Zürich is zurich",
        "names: New York is newyork, San Jose is sanjose, ? is s3, New York 2 is newyork2",
    ]


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        (["0", 0.5], (500_000, 0)),
        (["0ms"], (None, 0)),
        ([0], (None, 0)),
        (["10ms", "10"], (10**7, 10**7)),
        ([2.5, 1000], (10**9, 2_500_000)),
        (["5msec", "10mbit"], (10**7, 5_000_000)),
        ([{"latency": "1s", "bandwidth": 2}], (2 * 10**6, 10**9)),
    ],
)
def test_effects_of_links_with_and_without_units(
    tmp_path: Path, effects: list[object], expected: tuple[int | None, int]
) -> None:
    links = [["h1", "s1-p2"], ["s1-p1", "s2-p3", *effects], {"source": "s2-p1", "target": "h2"}]
    spec = read(tmp_path, "topology.json", POD | {"links": links}).link_between("s1", "s2").spec
    assert (spec.rate, spec.delay_ns) == expected


def test_hosts_have_ipv6_beside_ipv4(tmp_path: Path) -> None:
    commands = ["ip -6 addr add fd00:2::2/64 dev eth0", "ip -6 route add default via fd00:2::fe dev eth0"]
    hosts = {"h1": {"ip": "fd00:1::1/64"}, "h2": {"ip": "10.0.2.2/24", "commands": commands}}
    topology = read(tmp_path, "topology.json", POD | {"hosts": hosts})
    h1, h2 = topology.hosts.values()
    assert (str(h1.address), str(h1.ip6), h1.gateway6) == ("10.0.0.1/8", "fd00:1::1/64", None)
    assert (str(h2.ip6), str(h2.gateway6), h2.commands) == ("fd00:2::2/64", "fd00:2::fe", ())
    assert parse(variants.render(topology)) == topology


BAD: list[tuple[str, object, str]] = [
    ("a.json", "{", "a.json: text: not JSON"),
    ("a.json", "[]", "a.json: text: not an object"),
    ("a.json", '{"hosts": {"h1": {}, "h1": {}}}', "a.json: text: not JSON (duplicate name 'h1')"),
    ("a.json", '{"hosts": {},}', "text: not JSON (Expecting property name"),
    ("a.json", {"nodes": []}, "a.json: nodes: 'links' is missing; write hosts, switches and links as"),
    ("a.json", {"nodes": 3, "links": []}, "a.json: nodes: not as expected"),
    ("a.json", {"hosts": {}}, "a.json: switches: missing; write hosts, switches and links as"),
    ("a.json", {"topology": 3}, "a.json: topology: not an object"),
    (
        "a.json",
        P4APP | {"topology": P4APP["topology"] | {"routers": {"r1": {}}}},
        "routers.r1: routers are not",
    ),
    (
        "a.json",
        {"topology": P4APP["topology"] | {"assignment_strategy": "l4"}},
        "a.json: assignment_strategy: not as expected (unknown 'l4'; known are l2, l3, mixed)",
    ),
    ("a.json", POD | {"links": [["h1", "s1-p2", 1, 2, 3]]}, "links[0]: not as expected (3 values behind"),
    ("a.json", POD | {"links": [["h1", "s1-p2", "10"]]}, "links[0].delay: '10' cannot be read"),
    (
        "a.json",
        POD | {"hosts": {"h1": {"ip": "10.0.300.1"}}},
        "hosts.h1.ip: not as expected (Octet 300 (> 255) not",
    ),
    ("a.json", POD | {"hosts": {"h1": {"commands": "ls"}}}, "hosts.h1.commands: not as expected ('ls' is no"),
    ("a.json", POD | {"switches": {"s1": {"program": 3}, "s2": {}}}, "a.json: text: not as expected ("),
    ("a.json", POD | {"links": ["h1-s1"]}, "links[0]: not as expected ('h1-s1' is no list); write hosts"),
    ("a.json", POD | {"links": [["h1", "s1-p0"]]}, "links[0].ends: 's1-p0' will not do: ports are 1 to 509"),
    ("network.py", "from p4utils import\n", "network.py: text: line 1: SyntaxError"),
    (
        "network.py",
        "import p4utils\n1/0\n",
        "text: line 2: ZeroDivisionError: division by zero; groupflow runs",
    ),
    (
        "network.py",
        "import p4utils, nosuch.part\n",
        f"No module named 'nosuch'; install what it imports: {sys.executable} -m pip install nosuch",
    ),
    ("network.py", "import p4utils\n", "text: it does not call startNetwork()"),
    (
        "network.py",
        SCRIPT.replace("net.l3()", "net.popLink('h1', 's1')"),
        "line 25: AttributeError: groupflow",
    ),
    (
        "network.py",
        SCRIPT.replace("'s2', 's1', delay", "'h1', 's2', delay"),
        "line 22: ValueError: no link between h1",
    ),
    (
        "network.py",
        SCRIPT.replace("addP4Switch", "addTofino"),
        "no addTofino() of p4-utils; groupflow runs it",
    ),
    ("network.py", "import os, p4utils\nos._exit(3)\n", "network.py: text: it ended by itself"),
    (
        "topo.py",
        "from mininet.topo import Topo\n",
        "topo.py: text: a Python program without p4-utils, which is",
    ),
    (
        "a.mn",
        '{"hosts": []}',
        "a.mn: text: MiniEdit's, which is not read: groupflow reads YAML, topology.json",
    ),
    ("a.json", POD | {"links": [["h1", "s9-p1"]]}, "links[0].ends: no host or switch 's9'"),
    ("a.json", POD | {"links": [["h1"]]}, "links[0]: not as expected (not enough values"),
    ("a.json", P4APP | {"topology": P4APP["topology"] | {"hosts": 3}}, "a.json: hosts: not an object"),
    ("a.graphml", "<graphml>", "a.graphml: text: not XML"),
    ("a.graphml", "<graphml/>", "a.graphml: text: no graph with nodes in it"),
    ("a.graphml", ZOO.replace('target="1"', 'target="7"'), "a.graphml: edge: no node '7'"),
    ("a.graphml", ZOO.replace("20000000.0", "fast"), "a.graphml: edge: LinkSpeedRaw, Latitude"),
]


@pytest.mark.slow
def test_a_script_that_does_not_end_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "_SCRIPT_SECONDS", 1.5)
    script = "import p4utils, subprocess, pathlib\nother = subprocess.Popen(['sleep', '60'])\n"
    script += "pathlib.Path('pid').write_text(str(other.pid))\nwhile True: pass\n"
    with pytest.raises(TopologyError, match=r"text: no startNetwork\(\) within 2 s; shorten"):
        read(tmp_path, "network.py", script)
    process = Path("/proc", (tmp_path / "pid").read_text(), "cmdline")
    wait_until(lambda: not process.exists() or not process.read_bytes())


@pytest.mark.parametrize(("name", "content", "error"), BAD)
def test_a_bad_file_is_one_line(tmp_path: Path, name: str, content: object, error: str) -> None:
    with pytest.raises(TopologyError) as refused:
        read(tmp_path, name, content)
    assert error in str(refused.value)
    assert "\n" not in str(refused.value)

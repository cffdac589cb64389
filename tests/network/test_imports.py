"""Networks that others bring run as there: addresses, MACs, ports and entries of p4-utils match; IPv6."""

import json
from pathlib import Path

import pytest

from tests.network.test_form import prompt
from tests.network.test_net import INVALID, net, up
from tests.support import exercise

SCRIPT = """
from p4utils.mininetlib.network_API import NetworkAPI

net = NetworkAPI()
net.setLogLevel('info')
for number in (1, 2):
    net.addP4Switch(f's{number}', cli_input=f's{number}-commands.txt')
net.setP4SourceAll('routes.p4')
net.addHost('h1')
net.addHost('h4')
net.addHost('Web_Server')
net.addLink('s2', 'h4')
net.addLink('h1', 's1')
net.addLink('s1', 's2', bw=20, delay='2ms')
net.addLink('Web_Server', 's2')
net.l3()
net.enableCpuPortAll()
net.startNetwork()
"""
HOSTS = {"10.1.1.2": "00:00:0a:01:01:02", "10.2.4.2": "00:00:0a:02:04:02", "10.2.1.2": "00:00:0a:02:01:02"}
PORTS = {"s1": (1, 2, 2), "s2": (2, 3, 1)}
"""where the hosts of HOSTS are for each switch; h4 is behind the third port of s2, as p4-utils sorts links"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a network of p4-utils and a program in it."""
    monkeypatch.chdir(tmp_path)
    exercise.write(tmp_path)
    (tmp_path / "network.py").write_text(SCRIPT)
    for switch, ports in PORTS.items():
        entries = "// of an exercise\ntable_set_default ipv4_lpm drop\n"
        for (address, mac), port in zip(HOSTS.items(), ports, strict=True):
            entries += f"table_add ipv4_lpm ipv4_forward {address}/32 => {mac} {port}\n"
        (tmp_path / f"{switch}-commands.txt").write_text(entries)
    return tmp_path


def test_a_network_of_p4_utils_has_the_addresses_of_its_entries(folder: Path) -> None:
    commands = ("pingall", "webserver ip neigh", "switch s1 stop", "switch s1 start", "pingall")
    told = prompt("network.py", "--p4", "build/basic.json", commands=commands)
    assert told.count("0% dropped (6/6 received)") == 2, "a switch that is started again has its entries"
    assert "10.2.1.1 dev webserver-eth0 lladdr 00:01:0a:02:01:02 PERMANENT" in told
    assert told.count("names: Web_Server is webserver") == 1
    assert told.count("cpu_port: not taken") == 1


def test_a_refused_command_is_one_line(folder: Path) -> None:
    (folder / "s2-commands.txt").write_text("table_add ipv4_lmp ipv4_forward 10.1.1.2/32 => 1 1\n")
    told = net("up", "network.py", "--p4", "build/basic.json", code=INVALID)
    assert "s2-commands.txt: Error: " in told.splitlines()[-1]
    assert "Traceback" not in told


def cross(folder: Path) -> str:
    """Writes a program that forwards frames of any kind by their port. Returns its name."""
    form = exercise.program()
    (table,) = form["pipelines"][0]["tables"]
    port = {"name": "standard_metadata.ingress_port", "target": ["standard_metadata", "ingress_port"]}
    table |= {"key": [{"match_type": "exact", "mask": None, **port}], "match_type": "exact"}
    (folder / "cross.json").write_text(json.dumps(form))
    field = 'name: "standard_metadata.ingress_port" bitwidth: 9 match_type: EXACT'
    of_ipv4 = 'name: "hdr.ipv4.dstAddr" bitwidth: 32 match_type: LPM'
    (folder / "cross.p4info.txtpb").write_text(exercise.P4INFO.replace(of_ipv4, field))
    macs = {n: f"08:00:00:00:0{n}:0{n}" for n in (1, 2)}
    entries = [f"table_add ipv4_lpm ipv4_forward {3 - n} => {mac} {n}\n" for n, mac in macs.items()]
    (folder / "cross-commands.txt").write_text("".join(entries))
    return "cross.json"


def test_hosts_have_ipv6_for_programs_that_forward_it(folder: Path) -> None:
    hosts: dict[str, dict[str, object]] = {
        f"h{n}": {"ip": f"10.0.0.{n}/24", "ip6": f"fd00::{n}/64", "mac": f"08000000{n * 0x101:04X}"}
        for n in (1, 2)
    }
    hosts["h2"]["commands"] = ["ip -6 route add default via fd00::fe dev eth0"]
    switches = {"s1": {"cli_input": "cross-commands.txt"}}
    form = {"hosts": hosts, "switches": switches, "links": [["h1", "s1-p1"], ["h2", "s1-p2", "0"]]}
    (folder / "topology.json").write_text(json.dumps(form))
    with up("topology.json", "--p4", cross(folder)):
        assert ", 0% packet loss" in net("exec", "h1", "ping", "-6", "-c1", "-W9", "fd00::2")
        told = net("exec", "h2", "ip", "-6", "-o", "address", "show", "dev", "h2-eth0")
        assert "fd00::2/64" in told and "tentative" not in told and "fe80" not in told
        assert "default via fd00::fe dev h2-eth0" in net("exec", "h2", "ip", "-6", "route")
        assert "fd00::fe dev h2-eth0 lladdr" in net("exec", "h2", "ip", "-6", "neigh")

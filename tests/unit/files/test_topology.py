"""Topology files: derived values, and refusals of bad files."""

from pathlib import Path

import pytest

from groupflow.data import TOPOLOGIES
from groupflow.files import topology
from groupflow.files.topology import parse
from groupflow.files.variants import render
from groupflow.model.topology import TopologyError
from groupflow.units import (
    UnitError,
    format_delay,
    format_loss,
    format_rate,
    parse_delay,
    parse_loss,
    parse_rate,
)
from tests.support.world import TOPOLOGY

SMALL = """
name: small
switches:
  s1: {device_id: 1, grpc: 9561, agent: c1}
hosts:
  h1: {ip: 10.0.1.1/24}
  c1: {ip: 10.0.9.1/24}
links:
  - {ends: [h1, s1]}
  - {ends: [s1, c1], rate: unlimited, delay: 0, loss: 1%, queue: 9}
"""

ERRORS = [
    (
        "h1: {ip: 10.0.1.1/24}",
        "s1: {ip: 10.0.1.1/24}",
        "hosts.s1: duplicate name: a switch has it too; rename one",
    ),
    (
        "  c1: {ip: 10.0.9.1/24}",
        "  c1: {ip: 10.0.9.1/24}\n  h1: {ip: 10.0.9.2/24}",
        "line 8: duplicate name 'h1'; rename one",
    ),
    (
        "name: small",
        "name: small\np4info: x.txtpb",
        "p4info: is of no program; write its `program` beside it",
    ),
    (
        "grpc: 9561,",
        "grpc: 9561, p4info: x.txtpb,",
        "switches.s1.p4info: is of no program; write its `program` beside it",
    ),
    ("[h1, s1]", "[h1, s9]", "links[0].ends: no host or switch 's9'; declare it under hosts or switches"),
    ("[h1, s1]", "[h1]", "links[0].ends: ['h1'] will not do; write two names, as in `ends: [h1, s1]`"),
    ("[h1, s1]", "[s1, s1]", "links[0].ends: 's1' is linked to itself; name two nodes"),
    ("[h1, s1]", "[h1, c1]", "links[0].ends: hosts 'h1' and 'c1' need a switch between them; add one"),
    ("  - {ends: [h1, s1]}\n", "", "hosts.h1: has no link; add one to links"),
    (
        "links:",
        "links:\n  - {ends: [h1, s1]}",
        "links[1].ends: host 'h1' already has links[0]; give it one link",
    ),
    (
        "rate: unlimited",
        "rate: fast",
        "links[1].rate: 'fast' cannot be read; write a number with bit, kbit, mbit or gbit, or 'unlimited'",
    ),
    ("delay: 0", "delay: 10", "links[1].delay: 10 cannot be read; write a number with ns, us, ms or s"),
    (
        "loss: 1%",
        "loss: 2",
        "links[1].loss: 2 is no loss; write a fraction from 0 to 1 or a percentage like 1%",
    ),
    ("queue: 9", "queue: 0", "links[1].queue: 0 will not do; write 1 to 1000000 packets"),
    ("10.0.1.1/24", "10.0.1.x/24", "hosts.h1.ip: '10.0.1.x/24' is no address; write one like 10.0.1.1/24"),
    (
        "10.0.1.1/24",
        "10.0.1.1/16",
        "hosts.h1.ip: '10.0.1.1/16' will not do; write a /24 address ending in .1 to .253",
    ),
    (
        "10.0.1.1/24",
        "10.0.1.254/24",
        "hosts.h1.ip: '10.0.1.254/24' will not do; write a /24 address ending in .1 to .253",
    ),
    (
        "10.0.1.1/24",
        "224.0.1.1/24",
        "hosts.h1.ip: '224.0.1.1/24' is no host's address; write one like 10.0.1.1/24",
    ),
    ("10.0.1.1/24", "10.0.9.1/24", "hosts.c1.ip: duplicate 10.0.9.1: h1 has it too; change one"),
    (
        "s1: {device_id: 1, grpc: 9561, agent: c1}",
        "s1: {device_id: 1, grpc: 9561}\n  s2: {device_id: 1, grpc: 9562}",
        "switches.s2.device_id: duplicate 1: s1 has it too; change one",
    ),
    (
        "s1: {device_id: 1, grpc: 9561, agent: c1}",
        "s1: {device_id: 1, grpc: 9561}\n  s2: {device_id: 2, grpc: 9561}",
        "switches.s2.grpc: duplicate 127.0.0.1:9561: s1 has it too; change one",
    ),
    (
        "device_id: 1",
        "device_id: 256",
        "switches.s1.device_id: 256 will not do; write a number from 0 to 255",
    ),
    (
        "device_id: 1",
        "device_id: ",
        "switches.s1.device_id: nothing is written; write a value, or leave the key out",
    ),
    ("grpc: 9561", "grpc: here", "switches.s1.grpc: 'here' is no address; write a port or HOST:PORT"),
    (
        "grpc: 9561",
        "grpc: 2001-12-14 21:59:43",
        "switches.s1.grpc: datetime.datetime(2001, 12, 14, 21, 59, 43) is no address; write a port or"
        " HOST:PORT",
    ),
    ("agent: c1", "agent: c9", "switches.s1.agent: unknown host 'c9'; declare it under hosts"),
    ("  h1:", "  1:", "hosts[1]: 1 is no name; write it as text"),
    (
        "name: small",
        "nam: small",
        "nam: unknown key; known are name, description, defaults, switches, hosts, links, agents, program,"
        " p4info, pcap, tcp",
    ),
    (
        "[h1, s1]",
        "[h1-p0, s1]",
        "links[0].ends: 'h1-p0' will not do: hosts have one; write h1, or another port",
    ),
    (
        "[h1, s1]",
        "[h1, s1-p510]",
        "links[0].ends: 's1-p510' will not do: ports are 1 to 509; write s1, or another port",
    ),
    (
        "[h1, s1]}",
        "[h1, s1], schedule: [{at: 1s}]}",
        "links[0].schedule[0]: changes nothing; write rate, delay, loss or state",
    ),
    (
        "[h1, s1]}",
        "[h1, s1], schedule: [{at: 2s, state: down}, {at: 1s, state: up}]}",
        "links[0].schedule[1].at: earlier than the change before it; write changes in order",
    ),
    (
        "[h1, s1]}",
        "[h1, s1], schedule: [{at: 1, rate: 1mbit}]}",
        "links[0].schedule[0].at: 1 cannot be read; write a number with ns, us, ms or s",
    ),
    (
        "[h1, s1]}",
        "[h1, s1], schedule: [{at: 1s, state: gone}]}",
        "links[0].schedule[0].state: unknown state 'gone'; known are up, down",
    ),
    ("name: small", "pcap: [s9]", "pcap: no switch 's9'; declare it under switches"),
    ("name: small", "pcap: all", "pcap: not a list; write true, or names of switches: [s1, s2]"),
    (
        "{ip: 10.0.1.1/24}",
        "{ip: 10.0.1.1/24, gateway: 10.0.2.1}",
        "hosts.h1.gateway: 10.0.2.1 is not in 10.0.1.0/24; write an address in it",
    ),
    (
        "{ip: 10.0.1.1/24}",
        "{ip: 10.0.1.1/24, mac: '01:00:00:00:00:01'}",
        "hosts.h1.mac: '01:00:00:00:00:01' is a group's MAC address; write a host's, like"
        " '08:00:00:00:01:11'",
    ),
    ("{ip: 10.0.1.1/24}", "10.0.1.1/24", "hosts.h1: not a mapping; write `key: value` pairs"),
    (
        "links:\n",
        "links: 3\nx:\n",
        "x: unknown key; known are name, description, defaults, switches, hosts, links, agents, program,"
        " p4info, pcap, tcp",
    ),
]


@pytest.mark.parametrize(
    ("good", "bad", "message"), ERRORS, ids=[message.split(";")[0] for *_, message in ERRORS]
)
def test_a_bad_topology_is_refused_in_one_line(good: str, bad: str, message: str) -> None:
    assert good in SMALL
    with pytest.raises(TopologyError) as refusal:
        parse(SMALL.replace(good, bad, 1), "net.yaml")
    assert str(refusal.value) == f"net.yaml: {message}"


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: [", "\x00", "- x", "links: 3"])
def test_what_is_no_topology_at_all_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(TopologyError) as refusal:
        parse(text, "net.yaml")
    assert str(refusal.value).startswith("net.yaml: ") and "\n" not in str(refusal.value)


def test_an_empty_file_says_what_it_may_have() -> None:
    with pytest.raises(TopologyError, match=r"^net.yaml: the file is empty; its keys are name, description,"):
        parse("# nothing\n", "net.yaml")


def test_an_address_without_its_prefix_is_named_and_no_chosen_one() -> None:
    with pytest.raises(
        TopologyError, match=r"^topology: hosts.h1.ip: '10.0.1.1/32' will not do; write a /24"
    ):
        parse("switches: [s1]\nhosts: {h1: {ip: 10.0.1.1}}\nlinks: [[h1, s1]]")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r"none\.yaml: no such file or directory"):
        topology.load(tmp_path / "none.yaml")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TopologyError, match="not UTF-8"):
        topology.load(tmp_path / "binary")


def test_an_agent_must_be_at_its_switch() -> None:
    moved = TOPOLOGY.replace("[c1, s1]", "[c1, s2]")
    with pytest.raises(TopologyError, match=r"switches\.s1\.agent: host 'c1' is not linked to it; link them"):
        parse(moved)


def test_ports_addresses_and_interfaces() -> None:
    small = parse(SMALL)
    host, switch = small.hosts["h1"], small.switches["s1"]
    assert (host.mac, str(host.gateway), host.gateway_mac) == ("02:00:0a:00:01:01", "10.0.1.254", switch.mac)
    assert switch.mac == "02:00:00:00:00:01" and switch.grpc_address == ("127.0.0.1", 9561)
    assert (host.switch, host.port, small.agent_port("s1")) == ("s1", 1, 2)
    assert (host.interface, switch.interface(2)) == ("h1-eth0", "s1-eth2")
    assert small.host_at("s1", 2) == small.hosts["c1"] and small.host_at("s1", 3) is None
    default, special = small.links
    assert (default.spec.rate, default.spec.delay_ns, default.spec.queue) == (100_000_000, 10_000_000, 200)
    assert (special.spec.rate, special.spec.delay_ns, special.spec.loss, special.spec.queue) == (
        None,
        0,
        10**7,
        9,
    )


def test_paths_are_shortest() -> None:
    ring = """
switches:
  a: {device_id: 1, grpc: 1}
  b: {device_id: 2, grpc: 2}
  c: {device_id: 3, grpc: 3}
  d: {device_id: 4, grpc: 4}
hosts: {h: {ip: 10.0.0.1/24}}
links:
  - {ends: [a, b], delay: 20ms}
  - {ends: [b, d]}
  - {ends: [a, c], delay: 5ms}
  - {ends: [c, d]}
  - {ends: [h, a]}
"""
    net = parse(ring)
    assert net.path("a", "d") == ("a", "c", "d")
    assert net.path("a", "b") == ("a", "b")
    assert net.path("a", "a") == ("a",)
    assert (
        parse(ring.replace("  - {ends: [b, d]}\n  - {ends: [a, c], delay: 5ms}\n", "")).path("a", "d") is None
    )


@pytest.mark.parametrize("name", sorted(path.stem for path in TOPOLOGIES.glob("*.yaml")))
def test_a_name_is_that_of_a_topology_we_ship(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(SMALL)
    net = topology.load(name, tmp_path)
    assert net.name == name and net.links
    assert topology.load(f"./{name}").name == "small", "with a slash it is a file"


def test_an_unknown_name_tells_those_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fig6").write_text(SMALL)
    known = "chain, fig5, line, satellite, star"
    with pytest.raises(TopologyError) as refusal:
        topology.load("fig6")
    assert str(refusal.value) == f"fig6: unknown topology; write {known}, or a file's path: fig6.yaml"


@pytest.mark.parametrize(
    ("text", "rate"), [("100mbit", 10**8), ("1.5kbit", 1500), ("7bit", 7), ("unlimited", None)]
)
def test_rates(text: str, rate: int | None) -> None:
    assert parse_rate(text) == rate
    assert parse_rate(format_rate(rate)) == rate


@pytest.mark.parametrize(
    ("text", "delay"), [("10ms", 10**7), ("0ms", 0), (0, 0), ("1.5us", 1500), ("2s", 2 * 10**9)]
)
def test_delays(text: object, delay: int) -> None:
    assert parse_delay(text) == delay
    assert parse_delay(format_delay(delay)) == delay


@pytest.mark.parametrize(
    ("text", "loss"), [(0.01, 10**7), ("1%", 10**7), (0, 0), ("100%", 10**9), ("1e-9", 1)]
)
def test_losses(text: object, loss: int) -> None:
    assert parse_loss(text) == loss
    assert parse_loss(format_loss(loss)) == loss


@pytest.mark.parametrize(
    "text", ["", "mbit", "-1mbit", "0mbit", "1 mbit", "1.5bit", None, True, "9999999gbit"]
)
def test_bad_rates(text: object) -> None:
    with pytest.raises(UnitError):
        parse_rate(text)


@pytest.mark.parametrize("text", ["nan", "inf", "-0.1", "1.1", "101%", "x", True, None])
def test_bad_losses(text: object) -> None:
    with pytest.raises(UnitError):
        parse_loss(text)


def test_a_network_has_one_tcp_and_a_host_its_own() -> None:
    read = parse(
        "{tcp: cubic, switches: {s1: }, hosts: {h1: {tcp: reno}, h2: }, links: [[h1, s1], [h2, s1]]}"
    )
    assert [host.tcp for host in read.hosts.values()] == ["reno", "cubic"]
    assert [host.tcp for host in parse(render(read)).hosts.values()] == ["reno", "cubic"]
    with pytest.raises(TopologyError, match=r"hosts\.h1\.tcp: 'a b' will not do; write a congestion control"):
        parse("{switches: {s1: }, hosts: {h1: {tcp: a b}}, links: [[h1, s1]]}")

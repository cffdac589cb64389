"""The shortest topology: names and links; the rest is chosen, shown, and the same in every spelling."""

import pytest

import groupflow
from groupflow import sim
from groupflow.files.topology import parse
from groupflow.files.variants import render
from groupflow.model.topology import TopologyError

SHORT = """
switches: [s1, s2]
hosts: [h1, h2]
links: [[h1, s1], [h2, s2], [s1, s2]]
"""
LONG = """
name: topology
switches:
  s1: {device_id: 1, grpc: 9561, agent: s1c}
  s2: {device_id: 2, grpc: 9562, agent: s2c}
hosts:
  h1: {ip: 10.0.1.1/24, mac: "02:00:0a:00:01:01"}
  h2: {ip: 10.0.2.1/24}
  s1c: {ip: 10.0.3.1/24}
  s2c: {ip: 10.0.4.1/24}
links:
  - {ends: [h1, s1-p1]}
  - {ends: [h2, s2-p1]}
  - {ends: [s1-p2, s2-p2]}
  - {ends: [s1c, s1-p3], rate: unlimited, delay: 0}
  - {ends: [s2c, s2-p3], rate: unlimited, delay: 0}
"""


def test_names_and_links_are_a_whole_topology() -> None:
    assert parse(SHORT) == parse(LONG)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("switches: [s1, s2]", "agents: auto\nswitches: {s1: , s2: {}}"),
        ("hosts: [h1, h2]", "hosts: {h1: {}, h2: }"),
        ("hosts: [h1, h2]", 'hosts: ["h{1..2}"]'),
        ("[h1, s1], [h2, s2]", '["h{1..2}", "s{1..2}"]'),
        ("[s1, s2]]", "{ends: [s1, s2]}]"),
        ("hosts: [h1, h2]", "hosts: {h1: {ip: 10.0.1.1/24}, h2: }"),
        ("switches: [s1, s2]", "agents: auto\nswitches: {s1: , s2: {grpc: 9562}}"),
    ],
)
def test_each_spelling_is_the_same(old: str, new: str) -> None:
    assert old in SHORT
    assert parse(SHORT.replace(old, new)) == parse(LONG)


def test_the_names_that_programs_use_are_listed() -> None:
    assert {"Session", "Switch", "Topology", "TreeSession", "errors"} <= {*dir(groupflow)}


def test_python_makes_the_same() -> None:
    made = groupflow.Topology(["s1", "s2"], ["h1", "h2"], [("h1", "s1"), ("h2", "s2"), ("s1", "s2")])
    assert made == parse(LONG)
    named = groupflow.Topology(
        switches={"s1": {}},
        hosts=["h1", "h2"],
        links=[("h1", "s1"), {"ends": ["h2", "s1"], "rate": "1mbit"}],
        defaults={"rate": "50mbit"},
        name="lab",
        agents="none",
    )
    assert (named.name, [link.spec.rate for link in named.links]) == ("lab", [50_000_000, 1_000_000])
    assert named.switches["s1"].agent is None
    with pytest.raises(TopologyError, match="topology: colour: unknown key"):
        groupflow.Topology(["s1"], ["h1"], [("h1", "s1")], colour="red")


def test_no_agent_is_chosen_where_there_is_one_or_none_is_wanted() -> None:
    none = parse(SHORT + "agents: none\n")
    assert list(none.hosts) == ["h1", "h2"] and not any(switch.agent for switch in none.switches.values())
    transit = parse(
        SHORT.replace("[s1, s2]\n", "[s1, s2, s3]\n", 1).replace("[s1, s2]]", "[s1, s3], [s3, s2]]")
    )
    assert {name: switch.agent for name, switch in transit.switches.items()} == {
        "s1": "s1c", "s2": "s2c", "s3": None,
    }  # fmt: skip
    own = parse(SHORT.replace("switches: [s1, s2]", "agents: auto\nswitches: {s1: {agent: h1}, s2: }"))
    assert own.switches["s1"].agent == "h1"


def test_what_is_chosen_does_not_collide_with_what_is_written() -> None:
    mixed = parse(
        SHORT.replace("switches: [s1, s2]", "switches: {s1: , s2: {device_id: 1, grpc: 9561}}").replace(
            "hosts: [h1, h2]", "hosts: {h1: , h2: {ip: 10.0.1.1/24}}"
        )
    )
    assert [switch.device_id for switch in mixed.switches.values()] == [2, 1]
    assert [switch.grpc for switch in mixed.switches.values()] == ["127.0.0.1:9562", "127.0.0.1:9561"]
    assert [str(host.ip) for host in mixed.hosts.values()] == ["10.0.2.1", "10.0.1.1"]


def test_all_that_is_chosen_is_shown_and_reads_back() -> None:
    shown = render(parse(SHORT), whole=True)
    assert parse(shown) == parse(SHORT)
    for chosen in ("device_id: 2", "grpc: 127.0.0.1:9562", "agent: s2c", "ip: 10.0.4.1/24", "s2-p3"):
        assert chosen in shown
    assert "mac: 02:00:0a:00:04:01" in shown


def test_a_scenario_is_as_short() -> None:
    traffic = "traffic: {a: {kind: udp, from: h1, to: h2, rate: 1mbit}}\nduration: 1s\n"
    scenario = sim.parse(SHORT + traffic)
    assert scenario.topology.hosts == parse(SHORT).hosts
    assert scenario.topology.links == parse(SHORT).links


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[s1, s2]\n", "[s1, s1]\n", "switches: duplicate name 's1'; rename one"),
        ("[h1, h2]", "[h1, h1]", "hosts: duplicate name 'h1'; rename one"),
        ("[h1, h2]", "[h1, s1]", "hosts.s1: duplicate name: a switch has it too; rename one"),
        ("[h1, h2]", "[h1, h2, h3]", "hosts.h3: has no link; add one to links"),
        ("[h1, h2]", "[h1, 2]", "hosts: 2 is no name; write it as text"),
        ("[h1, h2]", "[]", "hosts: none given; write at least one, as in `hosts: [h1, h2]`"),
        ("[h1, s1]", "[h9, s1]", "links[0].ends: no host or switch 'h9'; declare it under hosts or switches"),
        ("[h1, s1]", "[h1]", "links[0].ends: ['h1'] will not do; write two names, as in `ends: [h1, s1]`"),
        ("[h1, s1]", "h1", "links[0]: not a mapping; write `key: value` pairs"),
        ("[h1, s1]", "[h1, h2]", "links[0].ends: hosts 'h1' and 'h2' need a switch between them; add one"),
        (
            "[s1, s2]]",
            "[s1, s2], [h1, s2]]",
            "links[3].ends: host 'h1' already has links[0]; give it one link",
        ),
        (
            "[h1, h2]",
            "[h1, s1c]",
            "agents: 's1c' cannot be the agent of s1; rename a node, or write agents: none",
        ),
        ("links:", "agents: all\nlinks:", "agents: unknown agents 'all'; known are auto, none"),
    ],
)
def test_a_mistake_is_named(old: str, new: str, message: str) -> None:
    assert old in SHORT
    text = SHORT.replace(old, new)
    if new == "[h1, s1c]":
        text = text.replace("[h2, s2]", "[s1c, s2]")
    with pytest.raises(TopologyError) as refused:
        parse(text, "net.yaml")
    assert str(refused.value).startswith(f"net.yaml: {message}")

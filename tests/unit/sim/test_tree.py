"""Clustered trees in virtual time, from a scenario to the hosts' places."""

from __future__ import annotations

from dataclasses import replace
from json import loads

import pytest

from groupflow import sim
from groupflow.files.topology import parse
from groupflow.sim.runner import build
from groupflow.sim.tree import places

HOSTS = ("h0", "h1", "h2", "h3")
STAR = "\n".join(
    [
        "name: star",
        "switches: {core: {device_id: 1, grpc: 9600}}",
        "hosts: {"
        + ", ".join(f"{name}: {{ip: 10.0.{n}.1/24}}" for n, name in enumerate((*HOSTS, "d")))
        + "}",
        "links:",
        *(f"  - {{ends: [{name}, core], rate: 20mbit, delay: 1ms, queue: 100}}" for name in (*HOSTS, "d")),
    ]
)
SIZE = 300_001
TREE = sim.Tree(
    "tree",
    "d",
    tuple(sim.TreeMember(name, 1, number * 50_000_000) for number, name in enumerate(HOSTS)),
    rate=4_000_000,
    stream_ns=2 * 10**9,
    size=SIZE,
)
SCENARIO = sim.Scenario(
    name="star",
    topology=parse(STAR, "star"),
    flows=(),
    trees=(TREE,),
    duration_ns=6 * 10**9,
    sample_ns=10**8,
    kinds={"core": "fifo"},
)


def test_every_host_has_the_stream_and_a_parent_with_room() -> None:
    results = sim.run(SCENARIO)
    found = places(TREE, dict(results.summary))
    for name in HOSTS[1:]:
        assert results.flows[name].delivered_bytes == SIZE and found[name].complete, name
    # Each host serves one child at most: the tree is a chain.
    parents = [place.parent for place in found.values()]
    assert sorted(parent for parent in parents if parent) == ["h0", "h1", "h2"], parents
    assert results.flows["h0"].offered_bytes == SIZE and found["h0"].parent is None
    assert results.dropped() == 0


def test_a_link_gets_another_rate_meanwhile() -> None:
    network = build(replace(SCENARIO, trees=(replace(TREE, size=None, slow="skip", cache_bytes=1 << 19),)))
    network.step(10_000, 3 * 10**9)
    network.set_link_rate("h3", "core", 500_000)
    network.step(10_000)
    flows = {flow["flow"]: flow for flow in loads(network.summary())["flows"]}
    assert flows["h1"]["delivered_bytes"] > 1_900_000 > 2 * flows["h3"]["delivered_bytes"]
    with pytest.raises(ValueError, match='link: there is none between "h3" and "d"'):
        network.set_link_rate("h3", "d", 1)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (replace(TREE, dispatchers="x"), 'trees.tree.dispatchers: unknown host "x"'),
        (replace(TREE, window=0), "trees.tree.window_packets: must be between 1 and 100000"),
        (replace(TREE, members=TREE.members[:1] * 2), 'trees.tree.members: "h0" has a port already'),
    ],
)
def test_what_cannot_be_is_named(tree: sim.Tree, message: str) -> None:
    with pytest.raises(sim.ScenarioError, match=message):
        build(replace(SCENARIO, trees=(tree,)))

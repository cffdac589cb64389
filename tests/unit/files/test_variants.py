"""Topologies of the folder, and their variants: pure functions that leave a valid topology."""

from dataclasses import replace

import pytest

from groupflow.files import variants
from groupflow.files.topology import parse
from groupflow.model.topology import LinkSpec, Topology, TopologyError

FIG5 = variants.named("fig5")


def receivers(topology: Topology) -> list[str]:
    return [name for name in topology.hosts if name.startswith("m") and name != "ma1"]


@pytest.mark.parametrize("name", ["fig5", "line", "star"])
def test_every_file_is_a_topology_with_an_agent_at_each_switch(name: str) -> None:
    topology = variants.named(name)
    assert topology.name == name
    assert topology.description
    assert all(switch.agent for switch in topology.switches.values())


def test_fig5_is_the_papers() -> None:
    networks = {letter: [n for n in FIG5.hosts if n.startswith(f"m{letter}")] for letter in "abcd"}
    assert {letter: len(names) for letter, names in networks.items()} == {"a": 1, "b": 5, "c": 5, "d": 5}
    assert {FIG5.hosts[name].switch for name in networks["a"] + networks["b"]} == {"s1"}
    assert {FIG5.hosts[name].switch for name in networks["c"] + networks["d"]} == {"s2"}
    table_1 = LinkSpec(rate=100_000_000, delay_ns=10_000_000, loss=0, queue=200)
    agents = variants.agents(FIG5)
    assert {link.spec for link in FIG5.links if agents.isdisjoint((link.a.node, link.b.node))} == {table_1}


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_members_are_per_network_and_ports_stay_gapless(count: int) -> None:
    topology = variants.with_members(FIG5, count)
    assert len(receivers(topology)) == 3 * count
    assert {"ma1", "sa1", "sa2"} <= set(topology.hosts)
    for switch in topology.switches.values():
        assert sorted(switch.ports) == list(range(1, len(switch.ports) + 1))
    assert topology.host_at("s1", topology.hosts["mb1"].port) == topology.hosts["mb1"]


def test_no_members_is_refused() -> None:
    with pytest.raises(TopologyError, match="0 members"):
        variants.with_members(FIG5, 0)


def test_rate_and_loss_reach_every_link_but_the_agents() -> None:
    topology = variants.with_loss(variants.with_rate(FIG5, 5_000_000), 10_000_000)
    agents = variants.agents(FIG5)
    for before, after in zip(FIG5.links, topology.links, strict=True):
        if agents.isdisjoint((after.a.node, after.b.node)):
            assert (after.spec.rate, after.spec.loss) == (5_000_000, 10_000_000)
        else:
            assert after == before


def test_delay_and_link_change_one_link() -> None:
    topology = variants.with_link(FIG5, "s2", "s1", lambda spec: replace(spec, delay_ns=50_000_000))
    topology = variants.with_link(topology, "mb1", "s1", lambda spec: replace(spec, rate=10_000_000))
    changed = [after for before, after in zip(FIG5.links, topology.links, strict=True) if before != after]
    assert {(link.name, link.spec.rate, link.spec.delay_ns) for link in changed} == {
        ("s1-s2", 100_000_000, 50_000_000),
        ("mb1-s1", 10_000_000, 10_000_000),
    }


def test_a_link_that_is_not_there_is_refused() -> None:
    with pytest.raises(TopologyError, match="no link between mb1 and s2"):
        variants.with_link(FIG5, "mb1", "s2", lambda spec: spec)


@pytest.mark.parametrize("name", ["fig5", "line", "star"])
def test_what_is_rendered_reads_back_as_the_same(name: str) -> None:
    topology = variants.named(name)
    assert parse(variants.render(topology)) == topology


def test_variants_do_not_touch_the_original() -> None:
    variants.with_rate(FIG5, 1)
    assert variants.named("fig5") == FIG5

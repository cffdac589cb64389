"""A clustered tree of hosts around a P4 switch: hosts that serve others die while the stream runs."""

import shutil
from dataclasses import replace

import pytest

from experiments.nats import run as nats
from experiments.tree import repair
from groupflow.network import variants
from groupflow.network.topology import Topology, parse
from groupflow.tree.members import Edges
from tests.network.harness import MakeLab, undisturbed

WITH_LOSSES_S = 2.0
"""s; messages of a repair get lost, too, each at the cost of TCP's least timeout, 0.2 s: four are rare"""


@pytest.mark.alone
@pytest.mark.parametrize(
    ("death", "plain", "edges", "loss", "limit"),
    [
        ("killed", False, "stream", 0, repair.LIMIT_S),
        ("killed", True, "stream", 0, repair.LIMIT_S),
        ("killed", False, "quic", 0, repair.LIMIT_S),
        ("killed", False, "quic", 10_000_000, WITH_LOSSES_S),
        ("silent", False, "stream", 0, repair.LIMIT_S),
        ("head", False, "stream", 0, repair.LIMIT_S),
    ],
    ids=["tls", "plain", "quic", "quic with losses", "silent", "head of a cluster"],
)
async def test_hosts_whose_parent_dies_go_on_within_a_second_and_miss_no_byte(
    make_lab: MakeLab, death: repair.Death, plain: bool, edges: Edges, loss: int, limit: float
) -> None:
    async def measure() -> list[repair.Repair]:
        # Every byte is checked as it comes, and all of them are counted in the end.
        return await repair.measure(lab.network, 2, plain=plain, edges=edges, death=death)

    with make_lab(variants.with_loss(variants.named("star"), loss)) as lab:
        repairs = await undisturbed(lab, measure)
    assert [found.orphans > 0 for found in repairs] == [True, True]
    assert max(found.seconds for found in repairs) < limit


def few(count: int) -> Topology:
    """The slow subscriber and some of the others."""
    topology = variants.named("fan")
    stay = {"p", "s1", nats.SLOW, *nats.SUBSCRIBERS[: count - 1]}
    hosts = {name: host for name, host in topology.hosts.items() if name in stay}
    links = tuple(link for link in topology.links if {link.a.node, link.b.node} <= stay)
    return parse(variants.render(replace(topology, hosts=hosts, links=links)), "few")


@pytest.mark.parametrize("system", sorted(nats.SYSTEMS))
async def test_a_slow_and_a_killed_subscriber_cost_the_others_nothing(make_lab: MakeLab, system: str) -> None:
    if system == "nats-server" and shutil.which("nats-server", path="/usr/bin:/usr/sbin") is None:
        pytest.skip("nats-server is not installed")
    with make_lab(few(6)) as lab:
        names = [name for name in nats.SUBSCRIBERS if name in lab.network.hosts]
        outcome = await nats.one(lab.network, system, 2_000_000, 6.0, names)
    assert (outcome.lost, outcome.fast) == (0, 4)
    assert outcome.worst_bps > 0.9 * outcome.rate_bps > 1.5 * outcome.slow_bps

"""A thousand switches and twenty agents are answered: polynomial, not merely on small networks."""

from __future__ import annotations

import pytest

from groupflow.model.topology import Topology
from groupflow.placement import choose
from tests.unit.placement import networks


@pytest.mark.slow
@pytest.mark.parametrize(
    "topology",
    [networks.tree(1000, 50, seed=1), networks.graph(1000, 1000, 50, seed=1)],
    ids=("tree", "graph"),
)
def test_a_thousand_switches(topology: Topology) -> None:
    members = [host for host in topology.hosts if host != "h0"]
    twenty, one = (choose(topology, "h0", members, k) for k in (20, 1))
    assert len(twenty.agents) <= 20
    assert twenty.link_bytes < one.link_bytes

"""A thousand switches and twenty agents are answered: polynomial, not merely on small networks."""

from __future__ import annotations

import pytest

from groupflow.placement import Objective, choose
from tests.unit.placement import networks
from tests.unit.placement.questions import cost


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["bytes", "time"])
def test_a_thousand_switches(objective: Objective) -> None:
    topology = networks.tree(1000, 50, seed=1)
    members = [host for host in topology.hosts if host != "h0"]
    twenty, one = (choose(topology, "h0", members, k, objective=objective) for k in (20, 1))
    assert len(twenty.agents) <= 20
    assert cost(twenty) < cost(one)


@pytest.mark.slow
def test_a_thousand_switches_that_are_no_tree() -> None:
    topology = networks.graph(1000, 1000, 50, seed=1)
    members = [host for host in topology.hosts if host != "h0"]
    twenty, one = (choose(topology, "h0", members, k) for k in (20, 1))
    assert len(twenty.agents) <= 20
    assert cost(twenty) < cost(one)

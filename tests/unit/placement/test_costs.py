"""Costs worked out by hand; routes are the controller's."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings

from groupflow.files.variants import named, with_link
from groupflow.model.topology import Topology
from groupflow.placement import Problem, choose
from groupflow.placement.choose import nearest
from groupflow.placement.costs import completion_time, connections, link_bytes
from groupflow.placement.problem import Overlay
from groupflow.placement.routes import Routes
from tests.unit.placement import networks
from tests.unit.placement.questions import graphs

FIG5_MEMBERS = ("mb1", "mb2", "mc1", "mc2", "md1")


def fig5(agents: int = 2, sender: str = "ma1") -> Problem:
    return Problem.read(named("fig5"), sender, FIG5_MEMBERS, agents)


def joined(problem: Problem, *switches: str) -> Overlay:
    return nearest(problem, [problem.routes.number[switch] for switch in switches])


def measured(problem: Problem, overlay: Overlay | None) -> tuple[float, float]:
    """Link crossings, and seconds."""
    carried = connections(problem, overlay)
    return link_bytes(problem, carried) / problem.size_bytes, completion_time(problem, carried)


# 5 MB at 100 Mb/s take 0.4 s; each link delays by 10 ms, each connection counts its delays three times.
@pytest.mark.parametrize(
    ("switches", "crossings", "seconds"),
    [
        ((), 2 * 2 + 3 * 3, 5 * 0.4 + 3 * 0.03),
        (("s1",), 1 + 2 + 3 * 2, 3 * 0.4 + 3 * 0.03),
        (("s2",), 2 + 3 + 2 * 2, 2 * 0.4 + 3 * 0.04),
        (("s1", "s2"), 1 + 1 + 5, 0.4 + 3 * 0.03),
    ],
)
def test_figure_5(switches: tuple[str, ...], crossings: int, seconds: float) -> None:
    problem = fig5()
    overlay = joined(problem, *switches) if switches else None
    assert measured(problem, overlay) == (crossings, pytest.approx(seconds))


def test_four_senders_of_figure_5() -> None:
    """Each of four members sends to the other three: 2 links up and down, and s1-s2 once a stream."""
    hosts = ("ma1", "mb1", "mc1", "md1")
    problem = Problem.read(named("fig5"), hosts, hosts, 2)
    crossings, seconds = measured(problem, joined(problem, "s1", "s2"))
    assert crossings == 4 * (1 + 1 + 3)
    # Three streams go down each member's link, and two each way between the agents.
    assert seconds == pytest.approx(3 * 0.4 + 3 * 0.03)


def test_a_stream_does_not_go_where_nobody_receives() -> None:
    topology = networks.plain([(0, 1), (1, 2)], (0, 1, 2))
    problem = Problem.read(topology, ["h0", "h2"], ["h1"], 3)
    carried = connections(problem, joined(problem, "s0", "s1", "s2"))
    ways = {(problem.name(c.sender), problem.name(c.start), problem.name(c.end)) for c in carried}
    assert ("h0", "s0", "s1") in ways and ("h2", "s2", "s1") in ways
    assert not any(start == "s1" and end.startswith("s") for _, start, end in ways)


def test_directions_do_not_share_and_hosts_links_count() -> None:
    topology = networks.plain([(0, 1)], (0, 0, 1, 1))
    problem = Problem.read(topology, "h0", ["h1", "h2", "h3"], 1)
    # The agent at s1 gets one connection and gives one back: a link's directions are apart.
    assert measured(problem, joined(problem, "s1")) == (2 + 2 + 1 + 1, pytest.approx(0.4 + 3 * 0.04))
    # Two programs on one host share its link, as do the sender's three connections.
    twice = Problem.read(topology, "h0", ["h2", "h2"], 1)
    assert measured(twice, joined(twice, "s1")) == (4, pytest.approx(0.8 + 3 * 0.03))


def test_the_delay_between_agents_counts_in_full() -> None:
    slow = with_link(named("fig5"), "s1", "s2", lambda spec: replace(spec, delay_ns=100_000_000))
    found = choose(slow, "ma1", FIG5_MEMBERS, 2)
    assert found.seconds == pytest.approx(0.4 + 3 * 0.12)


@pytest.mark.slow
@settings(max_examples=60)
@given(graphs(switches=8, hosts=2))
def test_routes_are_those_of_the_controller(topology: Topology) -> None:
    routes = Routes(topology)
    for start, goal in [(s, g) for s in topology.switches for g in topology.switches]:
        path = topology.path(start, goal)
        assert path is not None
        here, forwarded = start, [start]
        while here != goal:  # each switch's table is made from its own tree
            following = topology.path(here, goal)
            assert following is not None
            here = following[1]
            forwarded.append(here)
        found = routes.path(routes.number[start], routes.number[goal])
        assert [routes.names[switch] for switch in found] == forwarded
        assert routes.tree(routes.number[start]).hops[routes.number[goal]] == len(path) - 1


def test_savings_are_not_submodular() -> None:
    """Three switches in a row, the sender and two members at one end, two at the other (docs/explanation)."""
    topology = networks.plain([(0, 1), (1, 2)], (0, 0, 0, 2, 2))
    problem = Problem.read(topology, "h0", ["h1", "h2", "h3", "h4"], 2)

    def saved(*switches: str) -> float:
        overlay = joined(problem, *switches) if switches else None
        return measured(problem, None)[0] - measured(problem, overlay)[0]

    assert (saved(), saved("s0"), saved("s2"), saved("s0", "s2")) == (0, 3, 1, 5)
    # The far agent saves more beside the near one than alone: greedy's (1 - 1/e) has no ground.
    assert saved("s0", "s2") - saved("s0") > saved("s2") - saved()


def test_an_agent_can_cost_more_than_none() -> None:
    topology = networks.plain([(0, 1), (1, 2)], (1, 1, 1))
    problem = Problem.read(topology, "h0", ["h1", "h2"], 1, candidates=["s0"])
    assert measured(problem, joined(problem, "s0"))[0] > measured(problem, None)[0]
    assert choose(topology, "h0", ["h1", "h2"], 1, candidates=["s0"]).agents == ()


def test_drawn_trees_are_trees() -> None:
    for seed in range(50):
        rng = random.Random(seed)
        links = networks.tree_links(rng.randint(2, 12), rng)
        count = len(links) + 1
        topology = networks.plain(links, range(count))
        assert all(topology.path("s0", f"s{number}") for number in range(count))

"""Networks and questions that hypothesis draws."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from groupflow.model.topology import Topology
from groupflow.placement import Problem, curve
from tests.unit.placement import networks


@st.composite
def trees(draw: st.DrawFn, switches: int, hosts: int) -> Topology:
    count = draw(st.integers(1, switches))
    # A switch's parent is any before it: every shape of tree comes up, and shrinks towards a star.
    links = [(draw(st.integers(0, number - 1)), number) for number in range(1, count)]
    return _attach(draw, links, count, hosts)


@st.composite
def graphs(draw: st.DrawFn, switches: int, hosts: int) -> Topology:
    count = draw(st.integers(2, switches))
    links = {(draw(st.integers(0, number - 1)), number) for number in range(1, count)}
    pairs = [(one, other) for other in range(count) for one in range(other)]
    links.update(draw(st.lists(st.sampled_from(pairs), max_size=count)))
    return _attach(draw, sorted(links), count, hosts)


def _attach(draw: st.DrawFn, links: list[tuple[int, int]], switches: int, hosts: int) -> Topology:
    homes = draw(st.lists(st.integers(0, switches - 1), min_size=2, max_size=hosts))
    mixed = draw(st.booleans())
    rates = networks.MIXED_RATES if mixed else networks.RATES
    delays = networks.MIXED_DELAYS if mixed else networks.DELAYS
    return networks.network(links, homes, random.Random(draw(st.integers(0, 999))), rates, delays)


@st.composite
def problems(
    draw: st.DrawFn, topologies: st.SearchStrategy[Topology], *, agents: int, senders: int = 1
) -> Problem:
    """One to `senders` senders, all hosts as members, any switches as candidates, up to `agents` agents."""
    topology = draw(topologies)
    sending = draw(st.integers(1, min(senders, len(topology.hosts))))
    switches = sorted(topology.switches)
    allowed = draw(st.none() | st.lists(st.sampled_from(switches), min_size=1, unique=True))
    most = min(agents, len(switches if allowed is None else allowed))
    return Problem.read(
        topology,
        [f"h{number}" for number in range(sending)],
        sorted(topology.hosts),
        draw(st.integers(0, most)),
        candidates=allowed,
        size_bytes=draw(st.sampled_from((1_000, 100_000, 5_000_000))),
    )


def question(topology: Topology, senders: int, agents: int) -> Problem:
    """A problem in which the first hosts send, and every host receives."""
    return Problem.read(topology, [f"h{number}" for number in range(senders)], sorted(topology.hosts), agents)


def best(problem: Problem) -> int:
    """The link bytes of the placement that is found."""
    return curve(problem)[-1].link_bytes

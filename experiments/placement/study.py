"""The study's figures: cost against the number of agents, and the method against the best placement."""

import random
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TypeAlias

from experiments.placement import networks
from experiments.placement.exhaustive import best_by_agents, best_by_overlays
from groupflow.model.topology import Topology
from groupflow.placement import Objective, Placement, Problem, curve

Best: TypeAlias = Callable[[Problem, Objective], float]
"""least cost of a problem"""

OBJECTIVES: tuple[Objective, Objective] = ("bytes", "time")


@dataclass(frozen=True)
class Curve:
    """Cost over that of unicast, for at most 0, 1, 2, ... agents: mean, least and largest of all draws."""

    network: str
    objective: Objective
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    draws: int


@dataclass(frozen=True)
class Ratios:
    """Cost found over least cost, one ratio for each draw, ascending."""

    kind: str
    objective: Objective
    ratios: tuple[float, ...]

    @property
    def best(self) -> int:
        """Number of draws in which the least cost was found."""
        return sum(ratio < 1 + 1e-9 for ratio in self.ratios)


def cost(placement: Placement) -> float:
    return placement.link_bytes if placement.objective == "bytes" else placement.seconds


def line(switches: int, networks_each: int = 2, members: int = 5) -> Topology:
    """Fig. 5 of Emina et al. with more places for agents: switches in a row, each with networks of members.

    The sender h0 is at the first; links are those of Table I, 100 Mb/s and 10 ms.
    """
    pairs = [(number, number + 1) for number in range(switches - 1)]
    homes = [0, *(switch for switch in range(switches) for _ in range(networks_each * members))]
    return networks.plain(pairs, homes)


def curves(draws: int, agents: int) -> Generator[Curve]:
    """Curves of all kinds of networks; `draws`: networks of each random kind."""
    kinds: dict[str, Sequence[Topology]] = {
        "Fig. 5, 8 switches in a row, 80 members": [line(8)],
        "random trees, 40 switches, 30 members": [networks.tree(40, 31, seed) for seed in range(draws)],
        "random graphs, 40 switches, 60 links, 30 members": [
            networks.graph(40, 21, 31, seed) for seed in range(draws)
        ],
    }
    for name, drawn in kinds.items():
        yield from (_curve(name, drawn, objective, agents) for objective in OBJECTIVES)


def _curve(name: str, drawn: Sequence[Topology], objective: Objective, agents: int) -> Curve:
    rows: list[list[float]] = []
    for topology in drawn:
        members = [host for host in topology.hosts if host != "h0"]
        budget = min(agents, len(topology.switches))
        costs = [cost(found) for found in curve(Problem.read(topology, "h0", members, budget), objective)]
        rows.append([value / costs[0] for value in costs])
    columns = list(zip(*rows, strict=True))
    return Curve(
        network=name,
        objective=objective,
        mean=tuple(map(mean, columns)),
        low=tuple(map(min, columns)),
        high=tuple(map(max, columns)),
        draws=len(drawn),
    )


def against_the_best(draws: int) -> Generator[Ratios]:
    """Ratios on small random networks, with one sender or two; links alike, and unlike."""
    for kind in ("trees", "graphs"):
        for links, objective, best, most, mixed in _JUDGED:
            problems = _small(draws, *most, trees=kind == "trees", mixed=mixed)
            yield _ratios(f"{kind}, {links}", objective, best, problems)


_JUDGED: tuple[tuple[str, Objective, Best, tuple[int, int, int], bool], ...] = (
    ("links alike", "bytes", best_by_agents, (9, 7, 4), False),
    ("links alike", "time", best_by_overlays, (6, 5, 3), False),
    ("links of several rates", "time", best_by_overlays, (6, 5, 3), True),
)
"""links, objective, the best by trying all; most switches, hosts and agents; whether links differ"""


def _small(
    draws: int, switches: int, hosts: int, agents: int, *, trees: bool, mixed: bool
) -> Iterable[Problem]:
    """Random problems with up to so many switches, hosts and agents."""
    for seed in range(draws):
        rng = random.Random(seed)
        count = rng.randint(3, switches)
        extra = 0 if trees else rng.randint(1, 2 * count)
        topology = networks.graph(count, extra, rng.randint(3, hosts), seed, mixed=mixed)
        yield question(topology, rng.choice((1, 1, 2)), rng.randint(1, min(agents, count)))


def question(topology: Topology, senders: int, agents: int) -> Problem:
    """A problem in which the first hosts send, and every host receives."""
    return Problem.read(topology, [f"h{number}" for number in range(senders)], sorted(topology.hosts), agents)


def ratio(problem: Problem, objective: Objective, best: Best) -> float:
    """Cost found over least cost. With several senders, of the sets joined by the nearest rule for bytes."""
    return cost(curve(problem, objective)[-1]) / best(problem, objective)


def _ratios(kind: str, objective: Objective, best: Best, problems: Iterable[Problem]) -> Ratios:
    return Ratios(kind, objective, tuple(sorted(ratio(problem, objective, best) for problem in problems)))

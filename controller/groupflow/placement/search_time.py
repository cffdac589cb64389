"""Short completion time on any network: inserts agents on the critical connections, then moves agents.

Few connections are critical for the completion time: those that cross the link that sets the stream's pace,
and those on the way to the last member. Only moves that touch one of these can help, so only these are
tried:
- insert an agent between one of their ends and others: at a switch on their way, or off it;
- serve a host by another agent; join two parts of the agents' tree at another place;
- move an agent to an adjacent switch.

The first move that helps is made. For each number of agents, start from the best of: the former overlay with
the best insertion, and overlays that the caller offers. This is done twice, and the better one taken: once a
move helps by a shorter completion time, or else a smaller sum of 1 / rate over all connections; once a faster
stream comes before both, because agents round a slow link only pay when all of them are there.

There are at most `_TRIALS` insertions and as many moves for each number of agents, so time is polynomial:
evaluating one takes O((N + k) D) for each sender.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations
from typing import TypeAlias

from groupflow.placement import costs
from groupflow.placement.problem import Overlay, Problem, edge

_TRIALS = 200

_Cost: TypeAlias = tuple[float, ...]
_Rule: TypeAlias = Callable[[float, costs.Timing], _Cost]


def _time_first(seconds: float, timing: costs.Timing) -> _Cost:
    return seconds, sum(timing.share.values())


def _pace_first(seconds: float, timing: costs.Timing) -> _Cost:
    return max(timing.share.values()), sum(timing.share.values()), seconds


@dataclass(frozen=True)
class _Trial:
    overlay: Overlay
    seconds: float
    cost: _Cost


def short_time(problem: Problem, starts: Sequence[Overlay]) -> list[Overlay]:
    """An overlay with up to 1, 2, ... `problem.budget` agents; `starts`: overlays to begin from."""
    chains = [_chain(problem, starts, rule) for rule in (_time_first, _pace_first)]
    return [min(trials, key=lambda trial: trial.seconds).overlay for trials in zip(*chains, strict=True)]


def _chain(problem: Problem, starts: Sequence[Overlay], rule: _Rule) -> list[_Trial]:
    found: list[_Trial] = []
    for count in range(1, problem.budget + 1):
        offered = [overlay for overlay in starts if len(overlay.agents) == count]
        if found:
            offered += islice(_insertions(problem, found[-1].overlay), _TRIALS)
        else:
            offered += _single(problem)
        trials = [*found[-1:], *(_try(problem, overlay, rule) for overlay in offered)]
        found.append(_improve(problem, min(trials, key=lambda trial: trial.cost), rule))
    return found


def _try(problem: Problem, overlay: Overlay, rule: _Rule) -> _Trial:
    carried = costs.connections(problem, overlay)
    timing = costs.Timing.of(problem, carried)
    seconds = costs.completion_time(problem, carried, timing=timing)
    return _Trial(overlay, seconds, rule(seconds, timing))


def _improve(problem: Problem, best: _Trial, rule: _Rule) -> _Trial:
    left = _TRIALS
    improved = True
    while improved and left:
        improved = False
        for overlay in _moves(problem, best.overlay):
            left -= 1
            trial = _try(problem, overlay, rule)
            if trial.cost < best.cost:
                best, improved = trial, True
            if improved or not left:
                break
    return best


def _single(problem: Problem) -> list[Overlay]:
    hosts = {*problem.senders, *problem.members}
    return [Overlay((), dict.fromkeys(hosts, switch), (switch,)) for switch in problem.candidates]


def _critical(problem: Problem, overlay: Overlay) -> list[costs.Connection]:
    """The connections that determine the completion time: of the stream that is last."""
    carried = costs.connections(problem, overlay)
    timing = costs.Timing.of(problem, carried)
    feeds = {(connection.sender, connection.end): connection for connection in carried}
    latest: tuple[float, list[costs.Connection]] = (-1.0, [])
    for sender in problem.senders:
        slowest = max(timing.share[connection] for connection in carried if connection.sender == sender)
        ways = [_way(feeds, sender, member) for member in problem.receivers(sender)]
        delays = [sum(costs.path_delay(problem, connection) for connection in way) for way in ways]
        seconds = 8 * problem.size_bytes * slowest + costs.SET_UP_DELAYS * max(delays) / 1e9
        if seconds > latest[0]:
            farthest = ways[delays.index(max(delays))]
            latest = seconds, _crossing(problem, carried, timing, slowest) + farthest
    return list(dict.fromkeys(latest[1]))


def _way(feeds: dict[tuple[int, int], costs.Connection], sender: int, member: int) -> list[costs.Connection]:
    """The connections from a sender to a member."""
    way: list[costs.Connection] = []
    node = member
    while node != sender:
        way.append(feeds[sender, node])
        node = way[-1].start
    return way


def _crossing(
    problem: Problem, carried: Sequence[costs.Connection], timing: costs.Timing, slowest: float
) -> list[costs.Connection]:
    """The connections on a link that leaves no more than the slowest rate."""
    return [
        connection
        for connection in carried
        if any(
            spec.rate and timing.load[ends] / spec.rate >= slowest
            for ends, spec in problem.path(connection.start, connection.end)
        )
    ]


def _insertions(problem: Problem, overlay: Overlay) -> Iterator[Overlay]:
    """Overlays with one more agent for critical connections: first on their way, then with little detour."""
    free = set(problem.candidates).difference(overlay.agents)
    ways = {
        (agent, other): _hops(problem, agent, other)
        for connection in _critical(problem, overlay)
        for agent, other in permutations((connection.start, connection.end))
        if agent in overlay.agents
    }
    offers: dict[tuple[int, int, tuple[int, ...]], int] = {}
    for switch in sorted(free):
        detours = {
            way: _hops(problem, way[0], switch) + _hops(problem, switch, way[1]) - ways[way] for way in ways
        }
        for agent in sorted({agent for agent, _ in ways}):
            mine = {other: detour for (near, other), detour in detours.items() if near == agent}
            for most in sorted(set(mine.values())):
                others = tuple(sorted(other for other, detour in mine.items() if detour <= most))
                offers.setdefault((switch, agent, others), most)
            for other, detour in mine.items():
                offers.setdefault((switch, agent, (other,)), detour)
    for _, (switch, agent, others) in sorted((detour, offer) for offer, detour in offers.items()):
        yield _inserted(overlay, switch, agent, others)


def _inserted(overlay: Overlay, switch: int, agent: int, others: tuple[int, ...]) -> Overlay:
    """The overlay with an agent at `switch` between `agent` and some nodes that are joined to it."""
    moved = tuple(
        edge(switch, _other(pair, agent)) if agent in pair and _other(pair, agent) in others else pair
        for pair in overlay.edges
    )
    serving = {
        host: switch if host in others and server == agent else server
        for host, server in overlay.serving.items()
    }
    return Overlay((*moved, edge(agent, switch)), serving, tuple(sorted((*overlay.agents, switch))))


def _moves(problem: Problem, overlay: Overlay) -> Iterator[Overlay]:
    """Overlays of as many agents, each one move away."""
    critical = _critical(problem, overlay)
    touched = {node for connection in critical for node in (connection.start, connection.end)}
    free = set(problem.candidates).difference(overlay.agents)
    for agent in sorted(touched.intersection(overlay.agents)):
        for switch in problem.routes.neighbours[agent]:
            if switch in free:
                yield _relocated(overlay, agent, switch)
    for host in sorted(touched.difference(overlay.agents)):
        for agent in overlay.agents:
            if agent != overlay.serving[host]:
                yield replace(overlay, serving={**overlay.serving, host: agent})
    pairs = {edge(connection.start, connection.end) for connection in critical}
    for pair in sorted(pairs.intersection(overlay.edges)):
        yield from _reconnected(overlay, pair)


def _relocated(overlay: Overlay, agent: int, switch: int) -> Overlay:
    def renamed(node: int) -> int:
        return switch if node == agent else node

    return Overlay(
        edges=tuple(edge(renamed(one), renamed(other)) for one, other in overlay.edges),
        serving={host: renamed(server) for host, server in overlay.serving.items()},
        agents=tuple(sorted(map(renamed, overlay.agents))),
    )


def _reconnected(overlay: Overlay, pair: tuple[int, int]) -> Iterator[Overlay]:
    """Overlays with an edge between agents replaced by another that keeps one of its ends."""
    rest = tuple(other for other in overlay.edges if other != pair)
    part = {pair[0]}
    for _ in rest:
        part.update(node for other in rest if part.intersection(other) for node in other)
    for agent in overlay.agents:
        near, far = (pair[1], pair[0]) if agent in part else pair
        if agent != far:
            yield replace(overlay, edges=(*rest, edge(agent, near)))


def _hops(problem: Problem, one: int, other: int) -> int:
    return problem.routes.tree(problem.switch_of(one)).hops[problem.switch_of(other)]


def _other(pair: tuple[int, int], agent: int) -> int:
    return pair[1] if pair[0] == agent else pair[0]

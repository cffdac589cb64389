"""Least completion time of one sender's stream on a tree of switches, exactly, by dynamic programming.

As for link bytes, the tree is cut into at most k connected cells with one agent each, which serves the
hosts of its cell and feeds the agents of the cells below. Completion time (E2E) is 8 size / R + 3 delay,
where R is the stream's pace and delay the longest way over connections to a member. R is always a link's
rate divided by a whole number of connections. So for each such R, from the fastest on, find the least delay
among the overlays that put no more than floor(rate / R) connections on each link and direction; stop when R
alone takes too long.

For one R, from the leaves up, for each switch v and number j of agents in v's subtree:
- `outside[x, j]`: v's agent is not in the subtree, and x connections come down from it. The least delay
  from v to the last member below.
- `inside[y, j]`: it is, and y connections go up from it. Delay from v (where the cell's feed comes down) to
  the agent, and to the last member below: all pairs of which no other is better in both. An agent farther
  from v delays those above it, and may be nearer to those below.

There are at most as many pairs as switches, so time is polynomial: with n switches, N members and p paces
O(p n^2 (kN)^2), and far less where few connections fit a link.
"""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from groupflow.placement.costs import SET_UP_DELAYS, completion_time, connections
from groupflow.placement.problem import Overlay, Problem
from groupflow.placement.rooted import RootedTree, overlay

Trail: TypeAlias = "tuple[Trail, Trail] | tuple[str, int] | None"
"""derivation of a delay: `("agent" | "cut", switch)` and pairs of such, nested"""

_NOBODY = -1
"""the delay to the last member where there are no members: less than any"""


class _Below(NamedTuple):
    """The agent is outside: delay from the switch to the last member below."""

    last: int
    trail: Trail


class _Here(NamedTuple):
    """The agent is inside: delays from the switch to it, and (over it) to the last member below."""

    agent: int
    last: int
    trail: Trail


_Outside: TypeAlias = dict[tuple[int, int], _Below]
_Inside: TypeAlias = dict[tuple[int, int], list[_Here]]


@dataclass(frozen=True)
class _Network:
    """The part of the problem that the dynamic programming needs."""

    tree: RootedTree
    most: int
    """number of agents"""
    candidates: frozenset[int]
    own: Counter[int]
    """members at each switch"""
    access_ns: dict[int, int]
    """longest delay from each switch to a member at it"""
    beyond: dict[int, int]
    """members outside each switch's subtree"""
    delay_ns: dict[int, int]
    """delay of each switch's link upwards"""
    rate: dict[int, int | None]
    fastest: Fraction | None
    """highest bit/s that hosts' own links allow; None: any"""

    @property
    def members(self) -> int:
        return self.own.total()

    def room(self, pace: Fraction | None) -> dict[int, int]:
        """Connections that fit each switch's link upwards, in each direction, at most the number of all."""
        return {
            switch: self.members if rate is None or pace is None else min(self.members, int(rate / pace))
            for switch, rate in self.rate.items()
        }


def least_time(problem: Problem, tree: RootedTree, most: int) -> Overlay | None:
    """The best with at most `most` agents, at least 1, for the first sender; None: they cannot serve all.

    Exact where the tree is the network; elsewhere the best among connections that follow the tree.
    """
    network = _read(problem, tree, most)
    paces = _paces(network)
    start = _first_possible(network, paces)
    best: tuple[float, Overlay] | None = None
    direct = _shortest(problem)
    for pace in paces[start:]:
        sending = 8 * problem.size_bytes / pace if pace else 0.0
        if best and sending + SET_UP_DELAYS * direct / 1e9 >= best[0]:
            break
        found = _solve(network, pace)
        if found is not None:
            candidate = _overlay(problem, tree, found.trail)
            seconds = completion_time(problem, connections(problem, candidate))
            if best is None or seconds < best[0]:
                best = seconds, candidate
    return best[1] if best else None


def _read(problem: Problem, tree: RootedTree, most: int) -> _Network:
    sender = problem.senders[0]
    receivers = problem.receivers(sender)
    own = Counter(problem.switch_of(member) for member in receivers)
    below = dict.fromkeys(tree.children, 0) | own
    access_ns: dict[int, int] = {}
    host_rates: list[Fraction] = []
    programs = Counter((sender, *receivers))
    for host, connections_of_it in programs.items():
        spec, switch = problem.access[host - len(problem.routes)], problem.switch_of(host)
        if host != sender:
            access_ns[switch] = max(access_ns.get(switch, 0), spec.delay_ns)
        if spec.rate:
            host_rates.append(Fraction(spec.rate, connections_of_it))
    for switch in tree.order[:-1]:
        below[tree.parent[switch]] += below[switch]
    links = {switch: problem.routes.links[switch, above] for switch, above in tree.parent.items()}
    return _Network(
        tree=tree,
        most=most,
        candidates=frozenset(problem.candidates),
        own=own,
        access_ns=access_ns,
        beyond={switch: len(receivers) - count for switch, count in below.items()},
        delay_ns={switch: spec.delay_ns for switch, spec in links.items()},
        rate={switch: spec.rate for switch, spec in links.items()},
        fastest=min(host_rates, default=None),
    )


def _paces(network: _Network) -> list[Fraction | None]:
    """Every possible pace of a stream, fastest first."""
    rates = {rate for rate in network.rate.values() if rate}
    shares = {Fraction(rate, number) for rate in rates for number in range(1, network.members + 1)}
    if network.fastest is not None:
        shares = {share for share in shares if share < network.fastest} | {network.fastest}
    elif None in network.rate.values() or not rates:
        return [None, *sorted(shares, reverse=True)]
    return [*sorted(shares, reverse=True)]


def _first_possible(network: _Network, paces: list[Fraction | None]) -> int:
    """Index of the first pace that some overlay reaches: overlays reach all later paces, which are slower."""
    step = 1
    while step < len(paces) and _solve(network, paces[step - 1]) is None:
        step *= 2
    low, high = step // 2, min(step, len(paces))
    return low + bisect_left(paces[low:high], True, key=lambda pace: _solve(network, pace) is not None)


def _solve(network: _Network, pace: Fraction | None) -> _Below | None:
    """The least delay from the root to the last member at this pace; None: no overlay has this pace."""
    room = network.room(pace)
    tables: dict[int, tuple[_Outside, _Inside]] = {}
    for switch in network.tree.order:
        outside: _Outside = {(network.own[switch], 0): _Below(network.access_ns.get(switch, _NOBODY), None)}
        inside: _Inside = {}
        for child in network.tree.children[switch]:
            delay = network.delay_ns[child]
            child_outside, child_inside = tables.pop(child)
            options = _seen_from_above(network, child, child_outside, child_inside, room[child])
            later = _with_more(inside, options, network.most)
            if room[child]:
                _with_agent_below(later, outside, child_inside, delay, room[child], network.most)
            inside = later
            outside = _joined(outside, options, network.most)
        if switch in network.candidates:
            upwards = min(network.beyond[switch], room.get(switch, 0))
            _with_agent_here(inside, switch, outside, upwards, network.most)
        tables[switch] = outside, inside
    _, inside = tables[network.tree.root]
    served = [_Below(here.last, here.trail) for (up, _), heres in inside.items() if up == 0 for here in heres]
    return min(served, key=lambda below: below.last, default=None)


def _seen_from_above(
    network: _Network, child: int, outside: _Outside, inside: _Inside, room: int
) -> _Outside:
    """A child when its parent's agent is not in the child's subtree: served by that agent too, or cut off."""
    delay = network.delay_ns[child]
    options = {
        key: _Below(below.last + delay if below.last != _NOBODY else _NOBODY, below.trail)
        for key, below in outside.items()
        if key[0] <= room
    }
    if room and network.beyond[child] < network.members:
        for (up, agents), heres in inside.items():
            if up == 0:
                here = min(heres, key=lambda here: here.last)
                _keep(options, (1, agents), _Below(here.last + delay, (here.trail, ("cut", child))))
    return _undominated(options, network.most)


def _joined(left: _Outside, right: _Outside, most: int) -> _Outside:
    """Two parts of a subtree that get their connections from the same agent above."""
    found: _Outside = {}
    for (x, agents), below in left.items():
        for (more, others), option in right.items():
            if agents + others <= most:
                last = max(below.last, option.last)
                _keep(found, (x + more, agents + others), _Below(last, (below.trail, option.trail)))
    return _undominated(found, most)


def _with_more(inside: _Inside, options: _Outside, most: int) -> _Inside:
    """The agent is in an earlier child, and serves this one, too."""
    found: _Inside = {}
    for (up, agents), heres in inside.items():
        for (x, others), option in options.items():
            if x <= up and agents + others <= most:
                for here in heres:
                    last = max(here.last, _behind(here.agent, option.last))
                    better = _Here(here.agent, last, (here.trail, option.trail))
                    _add(found, (up - x, agents + others), better)
    return found


def _with_agent_below(
    found: _Inside, outside: _Outside, inside: _Inside, delay: int, room: int, most: int
) -> None:
    """The agent is in this child, and serves the switch's own members and the earlier children, too."""
    for (up, agents), heres in inside.items():
        for (x, others), below in outside.items():
            if x <= up <= room and agents + others <= most:
                for here in heres:
                    agent = here.agent + delay
                    last = max(
                        here.last + delay if here.last != _NOBODY else _NOBODY, _behind(agent, below.last)
                    )
                    _add(found, (up - x, agents + others), _Here(agent, last, (here.trail, below.trail)))


def _with_agent_here(inside: _Inside, switch: int, outside: _Outside, upwards: int, most: int) -> None:
    """The agent is at the switch itself: all that asked an agent above for connections asks it."""
    for (_, agents), below in outside.items():
        if agents < most:
            here = _Here(0, below.last, (below.trail, ("agent", switch)))
            for up in range(upwards + 1):
                _add(inside, (up, agents + 1), here)


def _behind(agent: int, last: int) -> int:
    """Delay from the feed at a switch to an agent below, and back to the switch and on to the last member."""
    return 2 * agent + last if last != _NOBODY else _NOBODY


def _keep(table: _Outside, key: tuple[int, int], below: _Below) -> None:
    known = table.get(key)
    if known is None or below.last < known.last:
        table[key] = below


def _add(table: _Inside, key: tuple[int, int], here: _Here) -> None:
    heres = table.setdefault(key, [])
    if all(known.agent > here.agent or known.last > here.last for known in heres):
        heres[:] = [known for known in heres if known.agent < here.agent or known.last < here.last]
        heres.append(here)


def _undominated(table: _Outside, most: int) -> _Outside:
    """The table without entries that another beats or equals in connections, agents and delay."""
    found: _Outside = {}
    lowest: list[int | None] = [None] * (most + 1)
    for key in sorted(table):
        last, agents = table[key].last, key[1]
        known = lowest[agents]
        if known is None or last < known:
            found[key] = table[key]
            for more in range(agents, most + 1):
                other = lowest[more]
                lowest[more] = last if other is None else min(other, last)
    return found


def _overlay(problem: Problem, tree: RootedTree, trail: Trail) -> Overlay:
    chosen: dict[str, set[int]] = {"agent": set(), "cut": set()}
    todo: list[Trail] = [trail]
    while todo:
        match todo.pop():
            case None:
                pass
            case (str() as what, int() as switch):
                chosen[what].add(switch)
            case (one, other):
                todo += [one, other]  # pyright: ignore[reportArgumentType]
    return overlay(problem, tree, chosen["agent"], chosen["cut"])


def _shortest(problem: Problem) -> int:
    """Delay in ns from the sender to the farthest member on the straight path: no overlay is faster."""
    sender = problem.senders[0]
    return max(
        sum(spec.delay_ns for _, spec in problem.path(sender, member)) for member in problem.receivers(sender)
    )

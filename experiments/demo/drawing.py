"""The topology as a picture: every link with the bytes and copies that each direction carried.

Made for Fig. 5: switches in a row, hosts of the first to the left, of the last to the right, agents above.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from experiments.demo import svg
from groupflow.lab.measure import LinkUse
from groupflow.network import variants
from groupflow.network.topology import Topology

_WIDTH = 1120.0
_BOX = (58.0, 26.0)
_ROW, _GAP = 44.0, 16.0
"""distance of hosts, and the additional gap between two networks"""
_LABEL = 150.0
"""straight part of a host's link, with its figures"""
_AGENT = 130.0
"""distance of an agent above its switch"""
_MIN_ROWS = 260.0
"""height of the host columns, at least: room for the agents"""
_SWITCH = (74.0, 56.0)


@dataclass(frozen=True)
class Point:
    x: float
    y: float


def draw(topology: Topology, links: Sequence[LinkUse], title: str) -> str:
    """The picture, as SVG."""
    uses = {(use.source, use.target): use for use in links}
    switches, columns = list(topology.switches), _columns(topology)
    rows = max(_MIN_ROWS, *(_height(column) for column in columns.values()))
    places = _places(switches, columns, variants.agents(topology), topology, rows)
    lines = [_link(topology, places, uses, link.a.node, link.b.node) for link in topology.links]
    boxes = [_switch(places[name], name) for name in switches]
    boxes += [_host(places[name], name, name in variants.agents(topology)) for name in topology.hosts]
    bottom = max(place.y for place in places.values()) + _BOX[1] / 2 + 20
    return svg.picture(_WIDTH, bottom, "".join(lines + boxes), title)


def _columns(topology: Topology) -> dict[str, list[str]]:
    """Hosts of each switch, without its agent, in the topology's order."""
    agents = variants.agents(topology)
    columns: dict[str, list[str]] = {name: [] for name in topology.switches}
    for host in topology.hosts.values():
        if host.name not in agents:
            columns[host.switch].append(host.name)
    return columns


def _offsets(hosts: Iterable[str]) -> list[float]:
    """Vertical places in a column; a new network (the letter after the m) begins after a gap."""
    offsets: list[float] = []
    y, network = 0.0, ""
    for name in hosts:
        if network and name[:2] != network:
            y += _GAP
        network = name[:2]
        offsets.append(y)
        y += _ROW
    return offsets


def _height(hosts: Sequence[str]) -> float:
    return (_offsets(hosts)[-1] if hosts else 0.0) + _BOX[1]


def _places(
    switches: Sequence[str],
    columns: Mapping[str, Sequence[str]],
    agents: frozenset[str],
    topology: Topology,
    rows: float,
) -> dict[str, Point]:
    """Centres of all boxes."""
    middle = rows / 2 + 18
    inner = (400.0, _WIDTH - 400.0)
    step = (inner[1] - inner[0]) / max(len(switches) - 1, 1)
    places = {name: Point(inner[0] + i * step, middle) for i, name in enumerate(switches)}
    if len(switches) == 1:
        places = {switches[0]: Point(_WIDTH / 2, middle)}
    for i, switch in enumerate(switches):
        hosts = columns[switch]
        x = _BOX[0] / 2 + 8 if i < len(switches) / 2 else _WIDTH - _BOX[0] / 2 - 8
        top = 18 + (rows - _height(hosts)) / 2
        for host, y in zip(hosts, _offsets(hosts), strict=True):
            places[host] = Point(x, top + y + _BOX[1] / 2)
    for agent in agents:
        switch = places[topology.hosts[agent].switch]
        places[agent] = Point(switch.x, switch.y - _AGENT)
    return places


def _link(
    topology: Topology, places: Mapping[str, Point], uses: Mapping[tuple[str, str], LinkUse], a: str, b: str
) -> str:
    if a in topology.hosts:
        host, switch = a, b
    elif b in topology.hosts:
        host, switch = b, a
    else:
        return _trunk(places[a], places[b], *_by_size(uses[a, b], uses[b, a]), left=a)
    more, less = _by_size(uses[host, switch], uses[switch, host])
    if host in variants.agents(topology):
        return _agent_link(places[host], places[switch], host, more, less)
    return _host_link(places[host], places[switch], host, more, less)


def _by_size(one: LinkUse, other: LinkUse) -> tuple[LinkUse, LinkUse]:
    return (one, other) if one.bytes >= other.bytes else (other, one)


def _host_link(host: Point, switch: Point, name: str, more: LinkUse, less: LinkUse) -> str:
    side = 1.0 if host.x < switch.x else -1.0
    start, end = host.x + side * _BOX[0] / 2, host.x + side * (_BOX[0] / 2 + _LABEL)
    target = switch.x - side * _SWITCH[0] / 2
    bend = (end + target) / 2
    curve = f"{bend:.1f} {host.y:.1f} {bend:.1f} {switch.y:.1f} {target:.1f} {switch.y:.1f}"
    path = f"M{start:.1f} {host.y:.1f}H{end:.1f}C{curve}"
    outward = "→" if side > 0 else "←"
    inward = "←" if side > 0 else "→"
    x = (start + end) / 2

    def arrow(use: LinkUse) -> str:
        return outward if use.source == name else inward

    return _line(path, more, less) + _figures(x, host.y, more, arrow(more), less, arrow(less))


def _trunk(a: Point, b: Point, more: LinkUse, less: LinkUse, left: str) -> str:
    path = f"M{a.x + _SWITCH[0] / 2:.1f} {a.y:.1f}H{b.x - _SWITCH[0] / 2:.1f}"

    def arrow(use: LinkUse) -> str:
        return "→" if use.source == left else "←"

    x = (a.x + b.x) / 2
    return _line(path, more, less) + _figures(x, a.y, more, arrow(more), less, arrow(less))


def _agent_link(agent: Point, switch: Point, name: str, more: LinkUse, less: LinkUse) -> str:
    path = f"M{agent.x:.1f} {agent.y + _BOX[1] / 2:.1f}V{switch.y - _SWITCH[1] / 2:.1f}"
    # On the side that faces the middle, away from the hosts' links.
    outside = agent.x > _WIDTH / 2
    x, y, anchor = (
        agent.x + (-12 if outside else 12),
        agent.y + _BOX[1] / 2 + 26,
        "end" if outside else "start",
    )

    def arrow(use: LinkUse) -> str:
        return "↓" if use.source == name else "↑"

    return (
        _line(path, more, less)
        + svg.text(x, y, _figure(more, arrow(more)), "more", anchor)
        + svg.text(x, y + 17, _figure(less, arrow(less)), "less", anchor)
    )


def _line(path: str, more: LinkUse, less: LinkUse) -> str:
    """A line whose width grows with the copies of the file that the link carried."""
    width = 1.5 + min(14.0, 1.5 * more.copies)
    tip = f"{_sentence(more)}; {_sentence(less)}"
    return svg.element("path", svg.element("title", tip), d=path, class_="link", stroke_width=width)


def _figures(x: float, y: float, more: LinkUse, arrow: str, less: LinkUse, back: str) -> str:
    clear = 7 + min(14.0, 1.5 * more.copies) / 2
    return svg.text(x, y - clear + 1, _figure(more, arrow), "more", "middle") + svg.text(
        x, y + clear + 8, _figure(less, back), "less", "middle"
    )


def _figure(use: LinkUse, arrow: str) -> str:
    return f"{arrow} {svg.size(use.bytes)} · {svg.times(use.copies)}"


def _sentence(use: LinkUse) -> str:
    return f"{use.source} to {use.target}: {use.bytes:,} bytes, {use.copies:.4f} copies"


def _host(at: Point, name: str, agent: bool) -> str:
    box = svg.element(
        "rect",
        x=at.x - _BOX[0] / 2,
        y=at.y - _BOX[1] / 2,
        width=_BOX[0],
        height=_BOX[1],
        rx=5,
        class_="agent" if agent else f"host net-{name[1]}",
    )
    return box + svg.text(at.x, at.y + 5, name, "node", "middle")


def _switch(at: Point, name: str) -> str:
    box = svg.element(
        "rect",
        x=at.x - _SWITCH[0] / 2,
        y=at.y - _SWITCH[1] / 2,
        width=_SWITCH[0],
        height=_SWITCH[1],
        rx=9,
        class_="switch",
    )
    return box + svg.text(at.x, at.y + 5, name, "switch-name", "middle")

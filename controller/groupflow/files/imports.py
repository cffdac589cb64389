"""Topologies of others in our YAML form: JSON of p4lang/tutorials and p4-utils, GraphML of Topology Zoo."""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from ipaddress import IPv4Interface
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias, cast
from xml.etree import ElementTree

from groupflow import units
from groupflow.files.forms import naming, refuse
from groupflow.model.topology import TopologyError

Json: TypeAlias = Mapping[str, Any]

FIRST_GRPC = 50051
"""the P4Runtime port of the first switch, and 0 its device id, as exercises' controllers expect them"""
GLASS_KM_PER_MS = 200.0
"""speed of light in fibre"""
_EARTH_KM = 6371.0
_PLAIN = {"rate": "unlimited", "delay": "0ms"}
"""a link of which nothing is said, in the exercises"""
_GATEWAY = re.compile(r"(?:ip )?route add default (?:gw|via) (\S+)(?: dev eth0)?")
_NEIGHBOUR = re.compile(r"arp (?:-i eth0 )?-s (\S+) (\S+)")


def read_foreign(text: str, file: Path) -> dict[str, Any]:
    """The YAML form of a topology, as YAML would be read. Raises TopologyError."""
    with naming(str(file), TopologyError):
        return _graphml(text, file) if file.suffix == ".graphml" else _json(text, file)


def _json(text: str, file: Path) -> dict[str, Any]:
    try:
        whole = cast(object, json.loads(text))
    except (ValueError, RecursionError) as error:
        refuse("text", f"not JSON ({error}); name a topology.json")
    if not isinstance(whole, dict):
        refuse("text", "not an object; name a topology.json of p4lang/tutorials or p4-utils")
    form = cast(Json, whole)
    inner = cast(Json, form.get("topology", form))
    try:
        return _exercise(_from_graph(inner) if "nodes" in inner else inner, form, file)
    except (AttributeError, KeyError, TypeError, IndexError, ValueError) as error:
        kind = "missing" if isinstance(error, KeyError) else "not as expected:"
        refuse(
            "text", f"{kind} {error}; known are hosts, switches and links of p4lang/tutorials and p4-utils"
        )


def _exercise(inner: Json, whole: Json, file: Path) -> dict[str, Any]:
    """A topology.json of p4lang/tutorials, or a p4app.json of p4-utils, whose topology is inside."""
    find = _finder(file)
    names = sorted(inner["switches"], key=_natural)
    switches: dict[str, Any] = {}
    for number, name in enumerate(names):
        given = cast(Json, inner["switches"][name] or {})
        files = {"program": given.get("program") or given.get("p4_src"), "entries": given.get("runtime_json")}
        switches[name] = {"device_id": number, "grpc": FIRST_GRPC + number}
        switches[name] |= {key: find(path) for key, path in files.items() if path}
    hosts = cast(Json, inner["hosts"])
    free = (f"10.0.{number >> 8}.{number & 0xFF}/16" for number in count(1))
    form: dict[str, Any] = {
        "name": file.stem,
        "switches": switches,
        "hosts": {
            name: _exercise_host(name, hosts[name] or {}, free) for name in sorted(hosts, key=_natural)
        },
        "links": [_exercise_link(link, inner.get("default") or {}) for link in inner["links"]],
    }
    if program := whole.get("p4_src") or whole.get("program"):
        form["program"] = find(program)
    if whole.get("pcap_dump"):
        form["pcap"] = True
    return form


def _exercise_host(name: str, given: Json, free: Any) -> dict[str, Any]:
    """A host; the usual commands for its route and its gateway's address become keys."""
    host: dict[str, Any] = {"ip": given.get("ip") or next(free)}
    if mac := given.get("mac"):
        host["mac"] = mac
    commands: list[str] = []
    gateway, neighbours = given.get("defaultRoute") or given.get("gateway"), dict[str, str]()
    for command in given.get("commands", ()):
        if match := _GATEWAY.fullmatch(command.strip()):
            gateway = match[1]
        elif match := _NEIGHBOUR.fullmatch(command.strip()):
            neighbours[match[1]] = match[2]
        else:
            commands.append(re.sub(r"(?<![-\w])eth0\b", f"{name}-eth0", command))
    gateway = (gateway or "").removeprefix("via ").split("/")[0] or _last(host["ip"])
    host |= {"gateway": gateway}
    if gateway in neighbours:
        host["gateway_mac"] = neighbours.pop(gateway)
    commands += [f"ip neigh replace {ip} lladdr {mac} dev {name}-eth0" for ip, mac in neighbours.items()]
    return host | ({"commands": commands} if commands else {})


def _last(address: str) -> str:
    """The last address of a host's network that is not its own: a gateway where the file names none."""
    own, network = IPv4Interface(address).ip, IPv4Interface(address).network
    return str(next(each for each in (network[-2], network[-1], network[0]) if each != own))


def _exercise_link(given: list[Any], defaults: Json) -> dict[str, Any]:
    one, other, *rest = given
    of = {**defaults, **dict(zip(("delay", "bw"), rest, strict=False))}
    if rest and isinstance(rest[0], dict):
        of = {**defaults, **cast(Json, rest[0])}
    ends = [f"{end}-p{of[port]}" if of.get(port) else end for end, port in ((one, "port1"), (other, "port2"))]
    delay, queue = of.get("delay"), of.get("max_queue_size") or of.get("queue_length")
    values: dict[str, Any] = {
        "rate": f"{of['bw']}mbit" if of.get("bw") is not None else None,
        "delay": f"{delay}ms" if isinstance(delay, int | float) else delay,
        "loss": f"{of['loss']}%" if of.get("loss") is not None else None,
        "queue": queue,
    }
    return {"ends": ends, **_PLAIN, **{key: value for key, value in values.items() if value is not None}}


def _from_graph(graph: Json) -> Json:
    """The form of p4app.json, of what p4-utils writes of a network that it built: nodes and links."""
    nodes = {node["id"]: cast(Json, node) for node in graph["nodes"]}
    hosts: dict[str, Any] = {name: dict(node) for name, node in nodes.items() if node.get("isHost")}
    links: list[Any] = []
    for link in graph["links"]:
        ends = (link.get("node1", link["source"]), link.get("node2", link["target"]))
        ports = dict[str, Any]()
        for end, number in zip(ends, (1, 2), strict=True):
            ports[f"port{number}"] = None if end in hosts else link.get(f"port{number}")
            if end in hosts:
                hosts[end]["ip"] = link.get(f"ip{number}")
        links.append([*ends, dict(link) | ports])
    switches = {
        name: {"program": node.get("json_path") or node.get("p4_src")}
        for name, node in nodes.items()
        if node.get("isSwitch")
    }
    return {"hosts": hosts, "switches": switches, "links": links}


def _finder(file: Path) -> Callable[[str], str]:
    """Finds files as the exercises do, which run in a folder above the topology's or beside it."""

    def find(path: str) -> str:
        places = (file.parent, Path(), file.parent.parent)
        found = next((place / path for place in places if (place / path).exists()), file.parent / path)
        return str(found.absolute())

    return find


def _natural(name: str) -> tuple[str, int, str]:
    """s2 before s10."""
    digits = re.search(r"[0-9]+$", name)
    return (name[: digits.start()] if digits else name, int(digits[0]) if digits else 0, name)


def _graphml(text: str, file: Path) -> dict[str, Any]:
    """A switch for each node, with a host h1, h2, ...; rates of LinkSpeedRaw, delays of the coordinates."""
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        refuse("text", f"not XML ({error}); name a GraphML file")
    keys = {key.get("id"): key.get("attr.name") for key in root.iterfind("{*}key")}
    graph = root.find("{*}graph")
    nodes = (
        {node.get("id"): _data(node, keys) for node in graph.iterfind("{*}node")} if graph is not None else {}
    )
    if graph is None or not nodes:
        refuse("text", "no graph with nodes in it; name a GraphML file")
    hosts = {node: f"h{number}" for number, node in enumerate(nodes, 1)}
    used = {*hosts.values()}
    names: dict[str | None, str] = {}
    for number, (node, data) in enumerate(nodes.items(), 1):
        names[node] = _name(data.get("label", ""), f"s{number}", used)
        used.add(names[node])
    links: list[dict[str, Any]] = []
    for edge in graph.iterfind("{*}edge"):
        ends = (edge.get("source"), edge.get("target"))
        if unknown := [end for end in ends if end not in nodes]:
            refuse("edge", f"no node {unknown[0]!r}; write the id of a node")
        if ends[0] != ends[1]:  # the Zoo has some
            one, other = (nodes[end] for end in ends)
            links.append({"ends": [names[end] for end in ends], **_graph_link(_data(edge, keys), one, other)})
    links += [{"ends": [host, names[node]], **_PLAIN} for node, host in hosts.items()]
    first = enumerate(nodes, 1)
    return {
        "name": re.sub("[^A-Za-z0-9_.-]", "", file.stem) or "graph",
        "switches": {names[node]: {"device_id": n, "grpc": FIRST_GRPC + n - 1} for n, node in first},
        "hosts": {host: {"ip": f"10.0.{n}.1/24"} for n, host in enumerate(hosts.values(), 1)},
        "links": links,
    }


def _data(element: ElementTree.Element, keys: Mapping[str | None, str | None]) -> dict[str, str]:
    found = ((keys.get(each.get("key")), each.text) for each in element.iterfind("{*}data"))
    return {name: text.strip() for name, text in found if name and text}


def _name(label: str, otherwise: str, used: set[str]) -> str:
    """A node's label as a name: letters and digits, short, unlike all others."""
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
    base = re.sub("[^a-z0-9]|^[^a-z]+", "", plain)[:10] or otherwise
    return next(name for n in count(1) if (name := base if n == 1 else f"{base[:8]}{n}") not in used)


def _graph_link(data: Json, one: Json, other: Json) -> dict[str, Any]:
    """Rate and delay of a link, where the graph says them; the form has defaults for the others."""
    link: dict[str, Any] = {}
    try:
        if (rate := round(float(data.get("LinkSpeedRaw", 0)))) > 0:
            link["rate"] = units.format_rate(rate)
        places = [
            math.radians(float(node[key])) for node in (one, other) for key in ("Latitude", "Longitude")
        ]
        if all(map(math.isfinite, places)):
            link["delay"] = f"{round(_distance_km(*places) / GLASS_KM_PER_MS * 1000)}us"
    except KeyError:
        pass  # the Zoo does not know where all nodes are
    except (ValueError, OverflowError) as error:
        refuse("edge", f"LinkSpeedRaw, Latitude and Longitude are numbers ({error}); write numbers")
    return link


def _distance_km(north: float, east: float, other_north: float, other_east: float) -> float:
    """Along a great circle; angles in radians."""
    chord = math.sin((other_north - north) / 2) ** 2
    chord += math.cos(north) * math.cos(other_north) * math.sin((other_east - east) / 2) ** 2
    return 2 * _EARTH_KM * math.asin(math.sqrt(min(1.0, chord)))

"""Topologies of others in our YAML form: JSON and Python of p4lang/tutorials and p4-utils, GraphML."""

import json
import math
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias, cast
from xml.etree import ElementTree

from groupflow import units
from groupflow.files import exercises
from groupflow.files.exercises import FIRST_GRPC, PLAIN
from groupflow.files.forms import naming, refuse
from groupflow.model.topology import TopologyError

Json: TypeAlias = Mapping[str, Any]

GLASS_KM_PER_MS = 200.0
"""speed of light in fibre"""
_EARTH_KM = 6371.0
_SCRIPT_SECONDS = 20.0
_KNOWN = "groupflow reads YAML, topology.json, p4app.json and network.py of the P4 exercises, and GraphML"


def read_foreign(text: str, file: Path) -> dict[str, Any]:
    """The YAML form of a topology, as YAML would be read. Warns of what is not taken. Raises
    TopologyError."""
    with naming(str(file), TopologyError):
        if file.suffix == ".graphml":
            return _graphml(text, file)
        if file.suffix == ".json":
            return _json(text, file)
        if file.suffix != ".py" or "p4utils" not in text:
            what = "MiniEdit's" if file.suffix == ".mn" else "a Python program without p4-utils"
            refuse("text", f"{what}, which is not read: {_KNOWN}")
        return exercises.read(_run(file.absolute()), file)


def _run(script: Path) -> Json:
    """The network that a network.py of p4-utils describes."""
    command = [sys.executable, "-P", "-m", "groupflow.files.stand_in", str(script)]
    # A session of its own, so that all that the script started can be ended.
    with subprocess.Popen(
        command, cwd=script.parent, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            text, _ = process.communicate(timeout=_SCRIPT_SECONDS)
        except subprocess.TimeoutExpired:
            refuse("text", f"no startNetwork() within {_SCRIPT_SECONDS:.0f} s; shorten what is before it")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    found = cast(Json, json.loads(text or '{"error": "it ended by itself"}'))
    if "error" in found:
        problem = found["error"]
        if module := re.search("No module named '([^'.]+)", problem):
            refuse("text", f"{problem}; install what it imports: {sys.executable} -m pip install {module[1]}")
        refuse("text", f"{problem}; groupflow runs it without arguments, up to startNetwork()")
    return found


def _json(text: str, file: Path) -> dict[str, Any]:
    try:
        whole = cast(object, json.loads(text, object_pairs_hook=_unique))
    except (ValueError, RecursionError) as error:
        refuse("text", f"not JSON ({error}), which has no comments and no comma at the end; {_KNOWN}")
    if not isinstance(whole, dict):
        refuse("text", f"not an object; {_KNOWN}")
    return exercises.read(cast(dict[str, Any], whole), file)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """JSON allows a repeated key and keeps the last: here it would silently lose a node."""
    ((key, times),) = Counter(key for key, _ in pairs).most_common(1) or [("", 1)]
    if times > 1:
        raise ValueError(f"duplicate name {key!r}")
    return dict(pairs)


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
        label = data.get("label") or f"s{number}"
        others = (f"{label} {n}" for n in count(2))
        names[node] = label if label not in used else next(each for each in others if each not in used)
        used.add(names[node])
    links: list[dict[str, Any]] = []
    for edge in graph.iterfind("{*}edge"):
        ends = (edge.get("source"), edge.get("target"))
        if unknown := [end for end in ends if end not in nodes]:
            refuse("edge", f"no node {unknown[0]!r}; write the id of a node")
        if ends[0] != ends[1]:  # the Zoo has some
            one, other = (nodes[end] for end in ends)
            links.append({"ends": [names[end] for end in ends], **_graph_link(_data(edge, keys), one, other)})
    links += [{"ends": [host, names[node]], **PLAIN} for node, host in hosts.items()]
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

"""Networks of p4lang/tutorials and p4-utils in our YAML form: a topology.json, a p4app.json.

Keys are popped as they are read: a key that is left at the end is not taken, and is named to the user. Before
that, addresses, MACs, device ids and ports that the file leaves out are chosen as p4-utils does. Hosts and
switches are mappings of their options; a link has `node1`, `node2` and the options of p4-utils' addLink.
"""

import re
import warnings
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias, cast

from groupflow.files.forms import below, refuse
from groupflow.files.topology_forms import END
from groupflow.model.topology import CPU_PORT

Json: TypeAlias = Mapping[str, Any]
Node: TypeAlias = dict[str, Any]
Nodes: TypeAlias = dict[str, Node]

FIRST_GRPC = 50051
"""the P4Runtime port of the first switch of p4lang/tutorials, whose device id is 0"""
FIRST_GRPC_OF_P4UTILS = 9559
"""and of p4-utils, whose first device id is 1"""
PLAIN = {"rate": "unlimited", "delay": "0ms"}
"""a link of which nothing is said, in the exercises"""
STRATEGIES = ("l2", "l3", "mixed")
IP_BASE = "10.0.0.0/8"
"""of hosts without an address"""
_CPU = "sw-cpu"
"""the bridge to which p4-utils links the CPU ports of switches, so that each takes a port number"""
_NUMBERED = re.compile(r"h([0-9]+)")
_CURE = "write hosts, switches and links as p4lang/tutorials or p4-utils do"
_EFFECTS = ("delay", "bw", "loss", "max_queue_size")
"""of links; those that are lists have the first two"""
_INSTEAD = {
    "cli": "a prompt is `net up --cli`",
    "cpu_port": f"its port leads nowhere; a program reaches P4Runtime's clients by port {CPU_PORT}",
    **dict.fromkeys(("intfName1", "intfName2"), "interfaces are s1-eth1 and h1-eth0"),
    "exec_scripts": "start them by `net exec s1`",
    "switch_node": "all are gfswitch, with P4Runtime",
    "tasks_file": "start them by `net exec`",
}
"""what to do about keys that are not taken"""
_ALWAYS = ("enable_log", "log_enabled", "log_level", "compiler_module")
"""keys that change nothing here: logs are always written, and p4c always writes P4Info"""
_SAME = {"source": "node1", "target": "node2", "latency": "delay", "bandwidth": "bw"}
_SAME["queue_length"] = "max_queue_size"
"""other names of the keys of links"""
_COMMANDS = {
    "gateway": re.compile(r"(?:ip )?route add default (?:gw|via) (\S+)(?: dev eth0)?"),
    "ip6": re.compile(r"ip -6 addr(?:ess)? add (\S+) dev eth0"),
    "gateway6": re.compile(r"ip -6 r(?:oute)? add default via (\S+)(?: dev eth0)?"),
}
"""usual commands of hosts, by the keys that they become"""
_NEIGHBOUR = re.compile(r"arp (?:-i eth0 )?-s (\S+) (\S+)")
_TIME = re.compile(r"([0-9.]+) ?([mu]?s)(?:ecs?)?")


@contextmanager
def _at(key: str, cure: str = _CURE) -> Generator[None]:
    """Refuses what is not as expected in the block."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, IndexError, ValueError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else f"not as expected ({error})"
        refuse(key, f"{problem}; {cure}")


@_at("text")
def read(given: Json, file: Path) -> Node:
    """The YAML form. Warns of the keys that are not taken. Raises Refused."""
    whole = {**given}
    inner = _object("topology", whole.pop("topology")) if "topology" in whole else whole
    is_p4utils, is_written = inner is not whole or "nodes" in inner, "nodes" in inner
    with _at("nodes"):
        inner = _from_graph(inner) if is_written else inner
    for key in ("hosts", "switches", "links"):
        if key not in inner:
            refuse(key, f"missing; {_CURE}")
    for router in inner.pop("routers", None) or ():
        refuse(f"routers.{router}", "routers are not run; write a switch with a program that routes")
    defaults = _usual_keys(_object("default", inner.pop("default", None) or {}))
    hosts, switches = _nodes("hosts", inner.pop("hosts")), _nodes("switches", inner.pop("switches"))
    links = _links(inner.pop("links"), defaults, {*hosts, *switches})
    _give_addresses(hosts, links)
    strategy = inner.pop("assignment_strategy", None)
    with _at("assignment_strategy", "write l2, l3 or mixed, and numbers below 254 in the names of hosts"):
        if strategy is not None:
            assign(strategy, hosts, switches, links)
    with _at("links"):
        ends = complete(hosts, switches, links, whole.pop("ip_base", IP_BASE))
    macs = _known_macs(ends, defaults) if is_p4utils else {}
    form: Node = {"name": file.stem, "hosts": {name: {} for name in hosts}}  # one without a link is refused
    for link, near, _ in ends:
        form["hosts"][link[f"node{near}"]] = _host(hosts[link[f"node{near}"]], link, near, macs)
    dump = whole.pop("pcap_dump", False)
    form["pcap"] = [name for name, of in switches.items() if of.pop("pcap_dump", dump)]
    form["switches"] = _switches(switches, file, is_p4utils=is_p4utils)
    form |= _file(file, "program", [whole.pop(key, None) for key in ("p4_src", "program")])
    form["links"] = [_link_form(link, hosts) for link in links]
    left = [("", whole), ("topology.", {} if inner is whole else inner), ("default.", defaults)]
    for kind, nodes in (("hosts", hosts), ("switches", switches)):
        left += [(f"{kind}.{name}.", of) for name, of in nodes.items()]
    left += [(f"links[{place}].", link) for place, link in enumerate(links)]
    if not is_written:
        _name_untaken(file, left)
    return form


def _name_untaken(file: Path, left: Iterable[tuple[str, Json]]) -> None:
    """Warns of the keys that are left, once each."""
    found: dict[str, str] = {}
    for place, of in left:
        for key, value in of.items():
            if key not in _ALWAYS and value not in (None, False, "", {}, []) and str(value) != str(CPU_PORT):
                found.setdefault(key, f"{place}{key}")
    for key, place in found.items():
        instead = f"; {_INSTEAD[key]}" if key in _INSTEAD else ""
        warnings.warn(f"{file}: {place}: not taken{instead}", stacklevel=2)


def _object(key: str, value: object) -> Node:
    if not isinstance(value, dict):
        refuse(key, f"not an object; {_CURE}")
    return {**cast(Node, value)}


def _nodes(key: str, given: object) -> Nodes:
    nodes = _object(key, given)
    return {name: _object(f"{key}.{name}", nodes[name] or {}) for name in sorted(nodes, key=natural)}


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return cast(list[Any], value)


def _usual_keys(given: Json) -> Node:
    """A link's options by p4-utils' names of them."""
    other = {_SAME[key]: value for key, value in given.items() if key in _SAME}
    return other | {key: value for key, value in given.items() if key not in _SAME}


def _links(given: Any, defaults: Node, known: set[str]) -> list[Node]:
    effects = {key: defaults.pop(key) for key in _EFFECTS if key in defaults}
    links: list[Node] = []
    with _at("links"):
        for place, each in enumerate(_list(given)):
            with _at(f"links[{place}]"):
                links.append(effects | _link(each, known))
    return links


def _link(given: Any, known: set[str]) -> Node:
    if isinstance(given, dict):
        link = _usual_keys(cast(Json, given))
    else:
        one, other, *rest = _list(given)
        if len(rest) > 2:
            raise ValueError(f"{len(rest)} values behind the ends")
        effects: Json = dict(zip(_EFFECTS, rest, strict=False))
        if rest and isinstance(rest[0], dict):
            effects = cast(Json, rest[0])
        link = {"node1": one, "node2": other} | _usual_keys(effects)
    for end in "12":
        if link[f"node{end}"] not in known and (match := END.fullmatch(link[f"node{end}"])):
            link |= {f"node{end}": match[1], f"port{end}": int(match[2])}
    return link


def _from_graph(graph: Json) -> Node:
    """The form of a p4app.json, of what p4-utils writes of a network that it built: nodes and links."""
    nodes = {node["id"]: node for node in graph["nodes"]}
    hosts = {name: node for name, node in nodes.items() if node.get("isHost")}
    switches = {name: {**node, "cpu_port": None} for name, node in nodes.items() if node.get("isSwitch")}
    links = [_usual_keys(given) for given in graph["links"]]
    for link, end in [(link, end) for link in links for end in "12"]:
        address = link.get(f"ip{end}")
        link |= {f"params{end}": {"ip": address}} if link[f"node{end}"] in hosts else {f"sw_ip{end}": address}
    return {"hosts": hosts, "switches": switches, "links": links}


def _give_addresses(hosts: Nodes, links: list[Node]) -> None:
    """Moves the addresses of hosts to their links, where p4-utils keeps them."""
    for link, near, _ in host_ends(links, hosts):
        name = link[f"node{near}"]
        params: Node = link.get(f"params{near}") or {}
        ip, mac = hosts[name].pop("ip", None), hosts[name].pop("mac", None)
        ip = params.get("ip") or ip
        if ":" in str(ip):
            hosts[name]["ip6"], ip = ip, None
        if ip and "/" not in str(ip):
            ip = f"{ip}/8"  # as Mininet has it
        with _at(f"hosts.{name}.ip", "write one like 10.0.1.1/24"):
            link[f"params{near}"] = {"ip": str(IPv4Interface(ip)) if ip else None}
        link[f"addr{near}"] = link.get(f"addr{near}") or mac


def _known_macs(ends: list[tuple[Node, str, str]], defaults: Node) -> dict[str, str]:
    """By address, the MACs of hosts and of gateways that p4-utils makes known to hosts."""
    macs: dict[str, str] = {}
    arp, gateways = defaults.pop("auto_arp_tables", True), defaults.pop("auto_gw_arp", True)
    for link, near, far in ends:
        if arp:
            macs[link[f"params{near}"]["ip"].split("/")[0]] = link[f"addr{near}"]
        if gateways and link.get(f"sw_ip{far}"):
            macs[link[f"sw_ip{far}"].split("/")[0]] = link[f"addr{far}"]
    return macs


def _host(of: Node, link: Node, near: str, macs: Json) -> Node:
    """A host; the usual commands for its routes and for the MACs of others become keys."""
    name, own = link[f"node{near}"], IPv4Interface(link[f"params{near}"]["ip"])
    host: Node = {"ip": str(own), "mac": link[f"addr{near}"], "ip6": of.pop("ip6", None)}
    known = {ip: mac for ip, mac in macs.items() if IPv4Address(ip) in own.network and ip != str(own.ip)}
    gateways = [of.pop("gateway", None), of.pop("defaultRoute", None)]
    host["gateway"] = " ".join(filter(None, gateways)).split(" ")[-1].split("/")[0]
    commands: list[str] = []
    with below(f"hosts.{name}"), _at("commands"):
        for command in _list(of.pop("commands", None) or []):
            matches = {key: usual.fullmatch(command.strip()) for key, usual in _COMMANDS.items()}
            if found := {key: match[1] for key, match in matches.items() if match}:
                host |= found
            elif match := _NEIGHBOUR.fullmatch(command.strip()):
                known[match[1]] = match[2]
            else:
                commands.append(re.sub(r"(?<![-\w])eth0\b", f"{name}-eth0", command))
    host["gateway"] = host["gateway"] or _last(own)
    host["gateway_mac"] = known.pop(host["gateway"], None)
    if known:
        lines = (f"ip neigh replace {ip} lladdr {mac} dev {name}-eth0" for ip, mac in known.items())
        commands.append(" && ".join(lines))
    return {key: value for key, value in {**host, "commands": commands}.items() if value}


def _last(address: IPv4Interface) -> str:
    """The last address of a host's network that is not its own: a gateway where the file names none."""
    network = address.network
    return str(next(each for each in (network[-2], network[-1], network[0]) if each != address.ip))


def _switches(switches: Nodes, file: Path, *, is_p4utils: bool) -> Nodes:
    ids = device_ids(switches, int(is_p4utils))
    given = {of.get("grpc_port") for of in switches.values()}
    first = FIRST_GRPC_OF_P4UTILS if is_p4utils else FIRST_GRPC
    ports = (port for port in range(first, 1 << 16) if port not in given)
    form: Nodes = {}
    for name, of in switches.items():
        of.pop("device_id", None)
        form[name] = {"device_id": ids[name], "grpc": of.pop("grpc_port", None) or next(ports)}
        form[name] |= _file(
            file, "program", [of.pop(key, None) for key in ("program", "json_path", "p4_src")]
        )
        form[name] |= _file(file, "entries", [of.pop(key, None) for key in ("runtime_json", "cli_input")])
    return form


def _file(file: Path, key: str, paths: list[str | None]) -> Node:
    """The first of some files, as the exercises find it, which run in the topology's folder or above it."""
    path = next((path for path in paths if path), None)
    if path is None:
        return {}
    places = (file.parent, Path(), file.parent.parent)
    found = next((place / path for place in places if (place / path).exists()), file.parent / path)
    return {key: str(found.absolute())}


def _link_form(link: Node, hosts: Nodes) -> Node:
    """Mbit/s, ms and per cent, where no unit is written."""
    ends = [(link.pop(f"node{end}"), link.pop(f"port{end}", None)) for end in "12"]
    for key in ("addr1", "addr2", "params1", "params2", "sw_ip1", "sw_ip2"):
        link.pop(key, None)
    form: Node = {"ends": [name if name in hosts else f"{name}-p{port}" for name, port in ends]}
    delay, bw, loss, queue = (link.pop(key, None) for key in _EFFECTS)
    if bw is not None:
        form["rate"] = f"{bw}mbit" if str(bw)[-1:].isdigit() else bw
    if delay is not None:
        in_ms = not isinstance(delay, str) or delay == "0"
        form["delay"] = f"{delay}ms" if in_ms else _TIME.sub(r"\1\2", delay)
    if loss is not None:
        form["loss"] = f"{str(loss).removesuffix('%')}%"
    return PLAIN | form | ({} if queue is None else {"queue": queue})


def natural(name: str) -> list[Any]:
    """A key that sorts s2 before s10."""
    return [int(part) if part.isdigit() else part for part in re.split("([0-9]+)", name)]


def host_ends(links: list[Node], hosts: Nodes) -> Iterator[tuple[Node, str, str]]:
    """Links of hosts, and which end (1 or 2) is the host's and which the other."""
    for link in links:
        for near, far in (("1", "2"), ("2", "1")):
            if link[f"node{near}"] in hosts:
                yield link, near, far


def assign(strategy: str, hosts: Nodes, switches: Nodes, links: list[Node]) -> None:
    """Gives addresses, MACs and gateways to hosts and to the ports that lead to them.

    l2: one network for all; mixed: one for each switch; l3: one for each host. The number in the name of a
    host is in its address. Raises ValueError.
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"unknown {strategy!r}; known are {', '.join(STRATEGIES)}")
    first: dict[str, int] = {}
    for name in (link[f"node{end}"] for link in links for end in "12"):
        first.setdefault(name, len(first))
    # As Mininet's graph has them: by the end whose name sorts first.
    in_order = sorted(links, key=lambda link: first[min(link["node1"], link["node2"])])
    ids, used = device_ids(switches), defaultdict[str, set[int]](set)
    ends = [
        (link, near, far, "" if strategy == "l2" else link[f"node{far}"])
        for link, near, far in host_ends(in_order, hosts)
    ]
    for link, near, _, group in ends:
        if match := _NUMBERED.fullmatch(link[f"node{near}"]):
            used[group].add(int(match[1]))
    for link, near, far, group in ends:
        match = _NUMBERED.fullmatch(link[f"node{near}"])
        number = int(match[1]) if match else next(n for n in count(1) if n not in used[group])
        used[group].add(number)
        address, gateway = _address(strategy, ids.get(link[f"node{far}"], 0), number)
        link |= {f"addr{near}": mac(address), f"addr{far}": mac(address, 1), f"params{near}": {"ip": address}}
        if gateway:
            link[f"sw_ip{far}"] = gateway
            hosts[link[f"node{near}"]]["defaultRoute"] = gateway


def _address(strategy: str, switch: int, number: int) -> tuple[str, str]:
    """Address and gateway of a host."""
    if strategy == "l2":
        return f"10.0.{number >> 8}.{number & 0xFF}/16", ""
    if strategy == "l3":
        return f"10.{switch}.{number}.2/24", f"10.{switch}.{number}.1"
    network = f"10.{switch >> 8}.{switch & 0xFF}"
    return f"{network}.{number}/24", f"{network}.254"


def mac(address: str, end: int = 0) -> str:
    """The MAC of the host (0) or of the switch's port (1) at a link with the host's address."""
    return f"00:{end:02x}:{IPv4Interface(address).ip.packed.hex(':')}"


def device_ids(switches: Nodes, first: int = 1) -> dict[str, int]:
    """The given device ids, and for the others the lowest that are free."""
    given = {of["device_id"] for of in switches.values() if of.get("device_id") is not None}
    free = (number for number in count(first) if number not in given)
    ids = {name: switches[name].get("device_id") for name in sorted(switches, key=natural)}
    return {name: next(free) if device_id is None else device_id for name, device_id in ids.items()}


def complete(hosts: Nodes, switches: Nodes, links: list[Node], base: str) -> list[tuple[Node, str, str]]:
    """Numbers the ports of switches, and gives addresses and MACs to the hosts that have none. Returns the
    ends of hosts (`host_ends`), in the order of ports."""
    cpu: list[Node] = [
        {"node1": name, "node2": _CPU} for name, of in switches.items() if of.get("cpu_port") is True
    ]
    in_order = sorted([*links, *cpu], key=lambda link: (natural(link["node1"]), natural(link["node2"])))
    taken = defaultdict[str, set[int]](set)
    ends = [(link, f"port{end}", link[f"node{end}"]) for link in in_order for end in "12"]
    for link, key, name in ends:
        taken[name].add(link.get(key) or 0)
    for link, key, name in ends:
        if name not in hosts and link.get(key) is None:
            link[key] = next(number for number in count(1) if number not in taken[name])
            taken[name].add(link[key])
    attached, network = [*host_ends(in_order, hosts)], IPv4Network(base)
    addresses = {str(link[f"params{near}"]["ip"]).partition("/")[0] for link, near, _ in attached}
    free = (f"{ip}/{network.prefixlen}" for ip in network.hosts() if str(ip) not in addresses)
    for link, near, far in attached:
        params = link[f"params{near}"]
        params["ip"] = params["ip"] or next(free)
        for end, number in ((near, 0), (far, 1)):
            link[f"addr{end}"] = link.get(f"addr{end}") or mac(params["ip"], number)
    return attached
